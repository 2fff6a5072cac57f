package compare

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"metasim/lcm/types"
	"metasim/metasim"
	"metasim/record"
)

// Runs compares the runs in two directories. Payloads are decoded by the types that are known; known may be nil.
func Runs(pathA, pathB string, known *types.Set) (*Verdict, error) {
	a, err := open("A", pathA)
	if err != nil {
		return nil, err
	}
	b, err := open("B", pathB)
	if err != nil {
		return nil, err
	}
	c := &comparison{sides: [2]*side{a, b}, types: known, first: map[string]firsts{}}
	v := &Verdict{Notes: append([]string{}, slices.Concat(scenarioNotes(a, b), a.notes(), b.notes())...)}
	searches := newSearches(c.names(v), c.sides)
	for run, s := range c.sides {
		if err := read(run, s, searches); err != nil {
			return nil, err
		}
	}
	for _, s := range searches {
		d := s.first(c.sides)
		if d == nil {
			continue
		}
		f := c.first[s.client]
		if s.inputs {
			f.input = d
		} else {
			f.output = d
		}
		c.first[s.client] = f
	}
	return v, c.judge(v)
}

// A comparison holds what a verdict is made of.
type comparison struct {
	sides [2]*side
	types *types.Set
	first map[string]firsts // by client
}

// firsts are the first differences of one client. Nil: there is none.
type firsts struct{ output, input *difference }

// names returns the clients that both runs have, in order of name.
func (c *comparison) names(v *Verdict) []string {
	var both []string
	for run, s := range c.sides {
		other := c.sides[1-run]
		for _, name := range s.run.Manifest.Clients {
			if _, ok := other.ids[name]; !ok {
				v.Notes = append(v.Notes, fmt.Sprintf("%s has a client %q, and %s has not: it is not compared", s.label, name, other.label))
			} else if run == 0 {
				both = append(both, name)
			}
		}
	}
	return both
}

// judge completes the verdict. Among differences at one instant the order of client names decides.
func (c *comparison) judge(v *Verdict) error {
	earliest := func(d, e *difference) *difference {
		if d == nil || e != nil && e.at.Before(d.at) {
			return e
		}
		return d
	}
	var input, output, cause *difference
	for _, name := range slices.Sorted(maps.Keys(c.first)) {
		f := c.first[name]
		output, input = earliest(output, f.output), earliest(input, f.input)
		if f.output != nil && (f.input == nil || f.output.at.Before(f.input.at) || f.output.explains(f.input)) {
			cause = earliest(cause, f.output)
		}
	}
	first := input
	if first == nil {
		first = output
	}
	if first == nil {
		v.Equal = true
		return nil
	}
	// What is delivered at an instant was sent before it.
	if cause != nil && (input == nil || cause.at.Before(input.at) || cause.at == input.at && cause.explains(input)) {
		at := record.Instant(cause.when)
		v.Culprit, v.CulpritAt = cause.search.client, &at
	}
	var err error
	v.First, err = c.divergence(first)
	return err
}

// divergence shows the first difference.
func (c *comparison) divergence(of *difference) (*Divergence, error) {
	d := &Divergence{At: record.Instant(of.when)}
	if of.search.inputs {
		d.To = of.search.client
	}
	for run, shown := range []**Message{&d.A, &d.B} {
		i := of.items[run]
		if i == nil {
			continue
		}
		var err error
		if *shown, err = c.message(c.sides[run], i, of.search.inputs); err != nil {
			return nil, err
		}
	}
	named := d.A // the earlier message gives its names
	if named == nil || d.B != nil && d.B.at.Before(d.A.at) {
		named = d.B
	}
	d.From, d.Channel = named.From, named.Channel
	return d, nil
}

// message finds an item in the journal and shows it.
func (c *comparison) message(of *side, i *item, delivered bool) (*Message, error) {
	m := &Message{From: of.run.Manifest.Clients[i.from], Seq: i.seq, at: i.when, Payload: []byte{}}
	if delivered {
		due := record.Instant(i.when)
		m.Due = &due
	}
	ev, err := of.find(i.from, i.seq)
	if err != nil {
		return nil, err
	}
	switch ev := ev.(type) {
	case *metasim.Send:
		m.Channel, m.Sent = ev.Channel, record.Instant(ev.Sent)
		m.Payload = append(m.Payload, ev.Payload...)
	case *metasim.Leave:
		m.Sent = record.Instant(ev.Now)
		m.Payload = append(m.Payload, ev.Result...)
	}
	m.Size = len(m.Payload)
	if c.types == nil || m.Channel == "" {
		return m, nil
	}
	for _, t := range c.types.Of(m.Payload) {
		if text, err := t.AppendJSON(nil, m.Payload); err == nil {
			m.Type, m.Decoded = t.Name, text
			break
		}
	}
	return m, nil
}

// WriteText writes the verdict for a person, without the notes.
func (v *Verdict) WriteText(w io.Writer) error {
	text := "equal\n"
	if d := v.First; d != nil {
		text = fmt.Sprintf("different %s\n  A: %s\n  B: %s\n", d.Where(), d.A.Describe(d.B), d.B.Describe(d.A))
		if v.Culprit == "" {
			text += "caused by no client: everything that was sent before is the same, so the links differ\n"
		} else {
			text += fmt.Sprintf("caused by %s, at %v: what it received until then is the same, what it sent is not\n", v.Culprit, v.CulpritAt)
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// Where says when the runs begin to differ, and in which kind of message.
func (d *Divergence) Where() string {
	switch {
	case d.To != "":
		return fmt.Sprintf("at %v: %s to %s on %s", d.At, d.From, d.To, d.Channel)
	case d.Channel != "":
		return fmt.Sprintf("at %v: %s on %s, without a recipient", d.At, d.From, d.Channel)
	}
	return fmt.Sprintf("at %v: how %s leaves", d.At, d.From)
}

// shown is how many bytes of a payload a description has.
const shown = 32

// Describe says in a line what a message is. Of a long payload it shows the bytes from the first one on that differs from other.
// Both may be nil.
func (m *Message) Describe(other *Message) string {
	if m == nil {
		return "nothing"
	}
	text := fmt.Sprintf("message %d of %s, sent %v", m.Seq, m.From, m.Sent)
	switch {
	case m.Channel == "":
		text = fmt.Sprintf("%s leaves at %v", m.From, m.Sent)
	case m.Due != nil:
		text += fmt.Sprintf(", due %v", m.Due)
	}
	if m.Decoded != nil {
		return fmt.Sprintf("%s: %s %s", text, m.Type, m.Decoded)
	}
	from := 0
	if other != nil && max(m.Size, other.Size) > shown {
		for from < min(m.Size, other.Size) && m.Payload[from] == other.Payload[from] {
			from++
		}
	}
	if from == m.Size && m.Size > shown { // other begins with this payload
		from = 0
	}
	end := min(m.Size, from+shown)
	switch {
	case from > 0:
		return fmt.Sprintf("%s: %d bytes, from byte %d on %q", text, m.Size, from, m.Payload[from:end])
	case end < m.Size:
		return fmt.Sprintf("%s: %d bytes, first %q", text, m.Size, m.Payload[:end])
	}
	return fmt.Sprintf("%s: %q", text, m.Payload)
}
