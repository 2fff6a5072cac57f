package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"metasim/analysis/trace"
	"metasim/metasim"
)

// A plain says what a trace has to tell, without any thought of how: it is the oracle of Perfetto.
type plain struct {
	t      *trace.Timeline
	tracks map[string][]ranked
}

// A ranked event comes before those of its time and a greater rank.
type ranked struct {
	told
	rank int
}

// plainly returns the events of each track, in order.
func plainly(t *trace.Timeline) map[string][]told {
	p := &plain{t, map[string][]ranked{}}
	p.running()
	for i, s := range t.Starts {
		client := metasim.ClientID(i)
		p.computes(client, t.Begin, s.End, s.Work, []string{"initializes: " + t.Names[i]})
	}
	for i := range t.Grants {
		p.grant(&t.Grants[i])
	}
	for client := range t.Names {
		p.advances(metasim.ClientID(client))
	}
	for i := range t.Messages {
		p.message(uint64(i), &t.Messages[i])
	}
	all := map[string][]told{}
	for name, events := range p.tracks {
		slices.SortStableFunc(events, func(x, y ranked) int { return cmp.Or(cmp.Compare(x.at, y.at), x.rank-y.rank) })
		for _, e := range events {
			all[name] = append(all[name], e.told)
		}
	}
	return all
}

func (p *plain) add(track string, rank int, e told) {
	p.tracks[track] = append(p.tracks[track], ranked{e, rank})
}

// slice adds both ends of a slice, unless it takes no time. Of two, the inner one ends first and begins last.
func (p *plain) slice(track string, begin, end int64, inner bool, e told) {
	if end <= begin {
		return
	}
	e.at, e.kind = begin, sliceBegin
	last := told{at: end, kind: sliceEnd}
	if inner {
		p.add(track, 4, e)
		p.add(track, 0, last)
		return
	}
	p.add(track, 3, e)
	p.add(track, 1, last)
}

func (p *plain) wall(c metasim.ClientID) string { return "/Wall clock/" + p.t.Names[c] }
func (p *plain) sim(c metasim.ClientID) string  { return "/Simulated time/" + p.t.Names[c] }

// clock is a time by the wall clock as one of the trace.
func (p *plain) clock(wall int64) int64 { return max(wall-p.t.Begin, 0) }

func (p *plain) running() {
	const track = "/Wall clock/computing at once"
	at := p.t.Begin
	for _, s := range p.t.Profile {
		p.add(track, 0, told{at: p.clock(at), kind: counter, value: s.Computing})
		at = s.End
	}
	p.add(track, 0, told{at: p.t.End - p.t.Begin, kind: counter})
}

func (p *plain) grant(g *trace.Grant) {
	track := p.wall(g.Client)
	stands := fmt.Sprintf("at (simulated ns): %d", g.From.Time)
	p.slice(track, p.clock(g.Polled), p.clock(g.Granted), false, told{category: "wait", name: "waits", notes: []string{stands}})
	for _, h := range p.t.Holds[g.Holds[0]:g.Holds[1]] {
		p.slice(track, p.clock(h.Begin), p.clock(h.End), true, p.hold(h))
	}
	notes := []string{stands, fmt.Sprintf("until (simulated ns): %d", g.Until.Time)}
	if g.Cause != g.Client {
		notes = append(notes, "released by: "+p.t.Names[g.Cause])
	}
	p.computes(g.Client, g.Granted, g.Reported, g.Work, notes)
}

// computes goes through the nanoseconds of a grant one by one: a critical one is critical, and another one is work as long as there is some.
func (p *plain) computes(c metasim.ClientID, begin, end, work int64, notes []string) {
	mine := slices.DeleteFunc(slices.Clone(p.t.Critical), func(x trace.Part) bool { return x.Client != c || x.End <= begin || end <= x.Begin })
	part := func(at int64) int {
		return slices.IndexFunc(mine, func(x trace.Part) bool { return x.Begin <= at && at < x.End })
	}
	for at := begin; at < end; at++ {
		if part(at) >= 0 {
			work--
		}
	}
	const rest, none = -1, -2
	kind, from := none, begin
	for at := begin; at <= end; at++ {
		now := none
		if at < end {
			if now = part(at); now == rest {
				if work--; work < 0 {
					now = none
				}
			}
		}
		if now == kind {
			continue
		}
		name := "computes"
		if kind >= 0 {
			name = "computes (critical)"
		}
		if kind != none {
			p.slice(p.wall(c), p.clock(from), p.clock(at), false, told{category: "work", name: name, notes: notes})
		}
		kind, from = now, at
	}
}

func (p *plain) hold(h trace.Hold) (e told) {
	e.category, e.name = "hold", "for the pace of the run"
	if h.Root != trace.NoClient {
		e.name = "for " + p.t.Names[h.Root]
	}
	if h.Path < 0 || len(p.t.Paths[h.Path]) == 0 {
		return e
	}
	var over []string
	for _, hop := range p.t.Paths[h.Path] {
		over = append(over, fmt.Sprintf("%s -> %s on %s (%s)", p.t.Names[hop.From], p.t.Names[hop.To], hop.Channel, hop.Min))
	}
	e.notes = []string{"over: " + strings.Join(over, ", ")}
	return e
}

// advances draws each grant of a client in simulated time: from where it stood to where it stood at the next one.
func (p *plain) advances(c metasim.ClientID) {
	var of []trace.Grant
	for _, g := range p.t.Grants {
		if g.Client == c {
			of = append(of, g)
		}
	}
	for i, g := range of {
		end := metasim.Time(0)
		if i+1 < len(of) {
			end = of[i+1].From.Time
		} else if n := len(p.t.Profile); n > 0 {
			end = p.t.Profile[n-1].Now
		}
		p.slice(p.sim(c), int64(g.From.Time), int64(end), false, told{category: "advance", name: "advances", notes: []string{
			fmt.Sprintf("computed (wall ns): %d", g.Work), fmt.Sprintf("waited (wall ns): %d", g.Granted-g.Polled),
		}})
	}
}

// message has an arrow by each clock, unless it never arrived.
func (p *plain) message(number uint64, m *trace.Message) {
	to, from, channel := "to: "+p.t.Names[m.To], "from: "+p.t.Names[m.From], p.t.Channels[m.Channel]
	wall, sim := 2*number+1, 2*number+2
	sends := func(at int64, arrow uint64, notes ...string) told {
		return told{at: at, kind: instant, category: "message", name: "sends " + channel, notes: append([]string{to}, notes...), arrow: arrow}
	}
	gets := func(at int64, arrow uint64) told {
		return told{at: at, kind: instant, category: "message", name: "gets " + channel, notes: []string{from}, arrow: arrow, ends: true}
	}
	if m.Delivered == 0 {
		wall = 0
	} else {
		p.add(p.wall(m.To), 5, gets(p.clock(m.Delivered), wall))
	}
	p.add(p.wall(m.From), 2, sends(p.clock(m.Queued), wall, fmt.Sprintf("size (bytes): %d", m.Size),
		fmt.Sprintf("sent (simulated ns): %d", m.Sent.Time), fmt.Sprintf("due (simulated ns): %d", m.Due.Time)))
	p.add(p.sim(m.From), 2, sends(int64(m.Sent.Time), sim))
	p.add(p.sim(m.To), 5, gets(int64(m.Due.Time), sim))
}
