package scenarios

import (
	"strconv"

	"metasim/federates/catalog"
	"metasim/lcm/names"
)

// Live names the clients that take part in real time: with one of them a run is not deterministic.
func (s *Scenario) Live() []string {
	var names []string
	for i := range s.Clients {
		if spec, err := catalog.Lookup(s.Clients[i].Model); err == nil && spec.RealTime { // a command is no model
			names = append(names, s.Clients[i].Name)
		}
	}
	return names
}

// paced refuses a model that takes part in real time in a run that does not.
func (c *checker) paced(p path, spec catalog.Spec) {
	if rate := (path{"rate"}); spec.RealTime && !c.bad[rate.String()] && c.number(rate, 0) == 0 {
		c.fail(p.to("model"), "a %s takes part in real time, and this run goes as fast as it can; "+
			"add rate: 1 to the scenario, or another speed", spec.Name)
	}
}

// bridged refuses what bridges would have to put out and cannot, and networks on which they would hear each other. It
// knows of models what they publish; of what others publish that LCM has no form for, a bridge says how much it was.
func (f *flow) bridged() {
	refused := map[string]bool{} // once for a channel of an entry is enough
	for _, e := range f.edges {
		from, to := &f.groups[e.from], &f.groups[e.to]
		key := strconv.Itoa(to.entry) + " " + e.channel
		if to.ports.Network == "" || refused[key] {
			continue
		}
		p := path{"clients", strconv.Itoa(to.entry), "with", "out"}
		if err := names.CheckChannel(e.channel); err != nil {
			refused[key] = true
			f.fail(p, "%q cannot put out what %q publishes: %s",
				to.first.Name, from.first.Name, err)
		}
		if from.ports.Network == to.ports.Network && (e.from != e.to || len(to.clients) > 1) {
			refused[key] = true
			f.fail(p, "%q puts out on channel %q what %q takes in from the same network, %s, "+
				"and so it goes round for ever; let one bridge do both, or take the channel out of one of them",
				to.first.Name, e.channel, from.clients[len(from.clients)-1].Name, to.ports.Network)
		}
	}
}
