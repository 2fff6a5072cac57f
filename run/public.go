package run

import (
	"slices"

	"metasim/lcm/bus"
	"metasim/lcm/mirror"
	"metasim/lcm/names"
	"metasim/server"
)

// An LCMOutcome says how much of a run its public LCM network was given. It depends on real time.
type LCMOutcome struct {
	URL     string `json:"url"`
	Shown   uint64 `json:"shown"`   // messages received or delivered, each with a companion
	Dropped uint64 `json:"dropped"` // messages for which there was no time
	Refused uint64 `json:"refused"` // messages whose names LCM has no form for
	// What became of what was shown; these count messages and companions.
	Sent    uint64 `json:"sent"`
	Failed  uint64 `json:"failed"`  // the network did not take them
	Unread  uint64 `json:"unread"`  // a program that listens over tcpq did not keep up; for each such program
	Skipped uint64 `json:"skipped"` // a log has no empty payloads
}

// openPublic begins to show the run, if the scenario wants that; else it returns nil. A network that cannot be had is no
// reason not to run: it says why, and counts.
func (c *conductor) openPublic() *mirror.Mirror {
	url := c.scenario.PublicLCM
	if url == "" || c.options.Private {
		return nil
	}
	o := bus.Options{Log: c.options.Log}
	network, err := bus.Serve(url, o)
	if err != nil {
		network = bus.Missing(url, err, o)
	}
	var clients []string
	for _, cl := range c.scenario.Clients {
		clients = append(clients, cl.Name)
	}
	slices.Sort(clients) // a ClientID is a rank
	return mirror.New(mirror.Config{
		Bus: network, Clients: clients, Naming: names.Naming{Suffix: c.scenario.LCMSuffix}, Log: c.options.Log,
	})
}

// observers are those of the run.
func (c *conductor) observers(record *record) []server.Observer {
	all := record.observers()
	if c.public != nil {
		all = append(all, c.public)
	}
	return all
}

// closePublic shows what waits, and says how much was shown.
func (c *conductor) closePublic() *LCMOutcome {
	if c.public == nil {
		return nil
	}
	st, err := c.public.Close()
	if err != nil {
		c.options.Log.Warn("the public LCM bus did not close well", "bus", c.scenario.PublicLCM, "why", err)
	}
	return &LCMOutcome{
		URL: c.scenario.PublicLCM, Shown: st.Shown, Dropped: st.Dropped, Refused: st.Refused,
		Sent: st.Bus.Sent, Failed: st.Bus.Failed, Unread: st.Bus.Dropped, Skipped: st.Bus.Skipped,
	}
}
