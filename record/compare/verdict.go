package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"metasim/lcm/types"
	"metasim/metasim"
)

// A Verdict says whether two runs were the same: what `metasim diff --json` prints.
type Verdict struct {
	Equal bool        `json:"equal"` // as far as both go: see Notes
	First *Divergence `json:"first"` // nil: equal
	// Culprit is the client whose doing it is; empty where it is no client's, but the links'. CulpritAt is when.
	Culprit   string   `json:"culprit"`
	CulpritAt *Instant `json:"culprit_instant"`
	// Notes say what else is to be known: in what the scenarios differ, what is missing of a run.
	Notes []string `json:"notes"`
}

// A Divergence is the first message that is not the same in two runs: the earliest delivery, to whomever; or, if none
// differs, the earliest send that nobody got, or the earliest leave.
type Divergence struct {
	At      Instant  `json:"instant"` // the earlier one, where they differ
	To      string   `json:"to"`      // empty for what nobody got
	From    string   `json:"from"`
	Channel string   `json:"channel"`
	A       *Message `json:"a"` // nil: there is none in A
	B       *Message `json:"b"`
}

// An Instant is an instant, in JSON as [nanoseconds, step].
type Instant metasim.Instant

// MarshalJSON writes [nanoseconds, step].
func (i Instant) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]int64{int64(i.Time), int64(i.Step)})
}

func (i Instant) String() string { return metasim.Instant(i).String() }

// Runs compares two recorded runs. Types, which may be nil, are those in which payloads are shown.
func Runs(pathA, pathB string, known *types.Set) (*Verdict, error) {
	a, err := open("A", pathA)
	if err != nil {
		return nil, err
	}
	b, err := open("B", pathB)
	if err != nil {
		return nil, err
	}
	c := &comparison{sides: [2]*side{a, b}, types: known, first: map[string][2]*parted{}}
	v := &Verdict{Notes: append(append(append([]string{}, scenarios(a, b)...), a.notes()...), b.notes()...)}
	names := c.names(v)
	searched := searches(names, c.sides)
	for run, s := range c.sides {
		if err := lookThrough(run, s, searched); err != nil {
			return nil, err
		}
	}
	for _, s := range searched {
		p := c.first[s.name]
		if p[kind(s.inputs)] = s.first(c.sides); p != [2]*parted{} {
			c.first[s.name] = p
		}
	}
	return v, c.judge(v)
}

// A comparison is on its way to a verdict.
type comparison struct {
	sides [2]*side
	types *types.Set
	first map[string][2]*parted // of a client: its outputs, its inputs
}

func kind(inputs bool) int {
	if inputs {
		return 1
	}
	return 0
}

// names returns the clients that take part in both runs, in order.
func (c *comparison) names(v *Verdict) []string {
	var both []string
	for run, s := range c.sides {
		other := c.sides[1-run]
		for _, name := range s.manifest.Clients {
			if _, ok := other.ids[name]; !ok {
				v.Notes = append(v.Notes, fmt.Sprintf("%s has a client %q, and %s has not: it is not compared", s.label, name, other.label))
			} else if run == 0 {
				both = append(both, name)
			}
		}
	}
	return both
}

// judge makes the verdict. All that is equal in time is decided in order of name.
func (c *comparison) judge(v *Verdict) error {
	earliest := func(p, q *parted) *parted {
		if p == nil || q != nil && q.at.Before(p.at) {
			return q
		}
		return p
	}
	var in, out, culprit *parted
	for _, name := range slices.Sorted(maps.Keys(c.first)) {
		p := c.first[name]
		out, in = earliest(out, p[0]), earliest(in, p[1])
		if p[0] != nil && (p[1] == nil || p[0].at.Before(p[1].at) || p[0].leaves(p[1])) {
			culprit = earliest(culprit, p[0])
		}
	}
	if in == nil && out == nil {
		v.Equal = true
		return nil
	}
	first := in
	if first == nil {
		first = out
	}
	// What is delivered at an instant was sent before it.
	if culprit != nil && (in == nil || culprit.at.Before(in.at) || culprit.at == in.at && culprit.leaves(in)) {
		at := Instant(culprit.when)
		v.Culprit, v.CulpritAt = culprit.search.name, &at
	}
	var err error
	v.First, err = c.divergence(first)
	return err
}

// divergence shows the first difference.
func (c *comparison) divergence(p *parted) (*Divergence, error) {
	d := &Divergence{At: Instant(p.when)}
	if p.search.inputs {
		d.To = p.search.name
	}
	for run, i := range p.items {
		if i == nil {
			continue
		}
		m, err := c.message(c.sides[run], i, p.search.inputs)
		if err != nil {
			return nil, err
		}
		if run == 0 {
			d.A = m
		} else {
			d.B = m
		}
	}
	named := d.A // the one that is there at the instant names the message
	if named == nil || d.B != nil && d.B.at.Before(d.A.at) {
		named = d.B
	}
	d.From, d.Channel = named.From, named.Channel
	return d, nil
}
