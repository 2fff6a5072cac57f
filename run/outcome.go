package run

import (
	"encoding/json"
	"errors"

	"metasim/metasim"
	"metasim/server"
)

// An Outcome is what came of a run: what `metasim run --json` prints.
type Outcome struct {
	Scenario      string   `json:"scenario"`
	Seed          uint64   `json:"seed"`
	OK            bool     `json:"ok"`
	Error         string   `json:"error"`
	Deterministic bool     `json:"deterministic"`
	Digest        string   `json:"digest"` // of what happened, even where the run failed
	EndNS         int64    `json:"end_ns"` // the latest activity of any client
	WallS         float64  `json:"wall_s"`
	RunDir        string   `json:"run_dir"`
	Messages      Messages `json:"messages"`
	Traffic
	Wakeups uint64          `json:"wakeups"`        // rounds of the server in which something had come; see server.Result
	Live    []string        `json:"live,omitempty"` // who took part in real time: another time it comes out differently
	LCM     *LCMOutcome     `json:"lcm,omitempty"`
	Clients []ClientOutcome `json:"clients"` // in order of name

	Err error `json:"-"` // what Error says
}

// Traffic is what went over connections, as the server sees it; it depends on real time. Inside this process a frame is
// what one side hands to the other in one go, and its bytes are those of the payloads and results in it.
type Traffic struct {
	FramesIn  uint64 `json:"frames_in"`  // read by the server
	FramesOut uint64 `json:"frames_out"` // written by it
	BytesIn   uint64 `json:"bytes_in"`   // of those frames, with their lengths
	BytesOut  uint64 `json:"bytes_out"`
}

// Messages counts (message, recipient) pairs, except Sent, which counts publishes.
type Messages struct {
	Sent        uint64 `json:"sent"`
	Delivered   uint64 `json:"delivered"`
	Dropped     uint64 `json:"dropped"`
	Undelivered uint64 `json:"undelivered"`
}

// A ClientOutcome is what came of a client.
type ClientOutcome struct {
	Name      string          `json:"name"`
	Digest    string          `json:"digest"`
	Sent      uint64          `json:"sent"`
	Delivered uint64          `json:"delivered"`
	EndNS     int64           `json:"end_ns"` // its last activity
	EndStep   uint32          `json:"end_step"`
	Grants    uint64          `json:"grants"` // depends on real time
	BusyS     float64         `json:"busy_s"`
	BlockedS  float64         `json:"blocked_s"`
	Exit      string          `json:"exit"` // left, detached, lost, aborted (the run failed) or absent (never joined)
	Result    json.RawMessage `json:"result"`
	*Traffic                  // of its connection; left out where it shares that, or never joined
}

// outcome turns a server's result into what is shown.
func outcome(scenario string, seed uint64, dir string, r server.Result) *Outcome {
	o := &Outcome{
		Scenario: scenario, Seed: seed, OK: r.Err == nil, Deterministic: r.Deterministic, Digest: r.Digest.String(),
		EndNS: int64(r.Totals.End.Time), WallS: r.Wall.Seconds(), RunDir: dir, Err: r.Err,
		Messages: Messages{r.Totals.Sent, r.Totals.Delivered, r.Totals.Dropped, r.Totals.Undelivered},
		Traffic:  Traffic(r.Traffic), Wakeups: r.Wakeups,
	}
	if r.Err != nil {
		o.Error = Sentence(r.Err)
	}
	for _, c := range r.Clients {
		o.Clients = append(o.Clients, ClientOutcome{
			Name: c.Name, Digest: c.Digest.String(), Sent: c.Sent, Delivered: c.Delivered,
			EndNS: int64(c.End.Time), EndStep: c.End.Step, Grants: c.Grants,
			BusyS: c.Busy.Seconds(), BlockedS: c.Blocked.Seconds(), Exit: exit(c, r.Err), Result: result(c.Account),
			Traffic: (*Traffic)(c.Traffic),
		})
	}
	return o
}

func result(a metasim.Account) json.RawMessage {
	if !json.Valid(a.Result) {
		return json.RawMessage("{}")
	}
	return a.Result
}

// lost is the exit of the client for which a run failed.
const lost = "lost"

// exit says in a word how a client's part ended.
func exit(c server.ClientResult, err error) string {
	var e *server.LostError
	switch {
	case c.Left:
		return "left"
	case c.Cut:
		return "detached"
	case errors.As(err, &e) && e.Client == c.Name:
		return lost
	case !c.Joined:
		return "absent"
	}
	return "aborted"
}
