package report

import (
	"fmt"

	"metasim/analysis/trace"
)

// A Machine splits the time between the conservative critical path and the wall-clock time: on each of its hops the path went through a
// client's report, the dispatcher and an authorization. CoreWaitS and RoundsS are estimates from what was measured; TransportS is the rest.
type Machine struct {
	PacedS float64 `json:"paced_s"` // the pace of the run, pauses, or the run around it
	// CoreWaitS is how long clients on the path waited for a core: their waits, by the part of their work that is on the path.
	CoreWaitS float64 `json:"core_wait_s"`
	// RoundsS is how long the dispatcher took: the average round of the server for each hop. 0: rounds were not measured, and TransportS
	// contains them.
	RoundsS float64 `json:"dispatcher_s"`
	// TransportS is the rest: encoding, the kernel, wake-ups, decoding; also waits for a core that nobody measured.
	TransportS float64 `json:"transport_s"`
	// Hops is how often the path goes through the dispatcher.
	Hops uint64 `json:"hops"`
}

// splitMachine fills in what is known without the manifest.
func (r *Report) splitMachine(t *trace.Timeline) {
	m := &r.Machine
	rest := max(0, r.WallS-r.CriticalConservativeS)
	part := func(s float64) float64 {
		s = min(s, rest)
		rest -= s
		return s
	}
	waits := 0.0
	for i := range r.Clients {
		c := &r.Clients[i]
		waits += c.CoreWaitS * trace.Ratio(c.CriticalS, c.WorkS)
	}
	m.Hops = t.Totals.Hops
	m.PacedS = part(r.PacedS)
	m.CoreWaitS = part(waits)
	m.TransportS = rest
}

// measured takes the dispatcher's part out of the rest. round is how long a round of the server took on average.
func (m *Machine) measured(round float64) {
	m.TransportS += m.RoundsS
	m.RoundsS = min(m.TransportS, float64(m.Hops)*round)
	m.TransportS -= m.RoundsS
}

const waitingForACore = "waiting for a core"

// A machinePart is one part of a Machine.
type machinePart struct {
	name string
	took float64
	help string // what makes it less
}

func (r *Report) machineParts() []machinePart {
	m := &r.Machine
	pack := "put clients that answer one another into one process, or take transport shm on one host"
	if r.Transport == "mem" {
		pack = "longer delays and promises, so that a client does more in each grant"
	}
	faster := "a higher rate"
	if r.Nested {
		faster = "see the report of that run, which says whom it waited for"
	}
	rest := "transport"
	if m.RoundsS == 0 {
		rest = "transport and dispatcher"
	}
	return []machinePart{
		{r.pace(), m.PacedS, faster},
		{waitingForACore, m.CoreWaitS, "more cores, or fewer clients that compute at once"},
		{"dispatcher", m.RoundsS, "fewer frames: longer delays, promises, several values in one message"},
		{rest, m.TransportS, pack},
	}
}

// machineTable prints the parts, if they are more than a twentieth of the run.
func (r *Report) machineTable(p *printer) {
	if r.WallS-r.CriticalConservativeS < 0.05*r.WallS {
		return
	}
	t := table{title: "The machine: beside the critical path", columns: []column{
		{word: true}, {head: "time"}, {head: "of the run"}, {head: "each hop", note: "of the critical path from grant to grant", rank: 1},
	}}
	var helps []string
	for _, part := range r.machineParts() {
		if part.took < 0.0005*r.WallS {
			continue
		}
		if part.took >= 0.05*r.WallS {
			helps = append(helps, part.name+": "+part.help)
		}
		t.add(part.name, Span(part.took), percent(trace.Ratio(part.took, r.WallS)), Span(trace.Ratio(part.took, float64(r.Machine.Hops))))
	}
	t.write(p)
	for _, help := range helps {
		p.wrap(strong, "- ", "  ", help)
	}
	if p.Explain {
		p.wrap(faint, "  ", "  ", fmt.Sprintf("the path has %s from grant to grant, each with an average round of the server; waits for a core are those of clients "+
			"on the path; the last line is the rest", plural(r.Machine.Hops, "hop")))
	}
}
