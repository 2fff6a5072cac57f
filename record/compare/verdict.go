package compare

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"metasim/internal/plain"
	"metasim/lcm/types"
	"metasim/metasim"
	"metasim/record"
	"metasim/record/journal"
)

// Runs compares the runs in two directories. If they do not have the same clients it fails with an *[record.OtherClientsError], unless
// Options.Anyway is set.
func Runs(pathA, pathB string, o Options) (*Verdict, error) {
	a, err := open("A", pathA)
	if err != nil {
		return nil, err
	}
	b, err := open("B", pathB)
	if err != nil {
		return nil, err
	}
	v, unexplained, err := verdictOf(a, b, o)
	if err == nil && !v.Equal || errors.As(err, new(*record.OtherClientsError)) {
		return v, err // what differs was read in the journals
	}
	changed := false
	for _, s := range []*side{a, b} {
		made, err := s.checkIndex(unexplained || err != nil)
		if err != nil {
			return nil, err
		}
		changed = changed || made
	}
	if changed {
		v, _, err = verdictOf(a, b, o)
	}
	if err == nil && v.Equal && len(v.Differ) > 0 {
		return nil, contradiction(a, b, v.Differ[0])
	}
	return v, err
}

// contradiction tells which of two runs has the journal of another one: the journals are equal, and the digests in the manifests are not.
func contradiction(a, b *side, of string) error {
	for _, s := range []*side{a, b} {
		if err := s.checkDigests(); err != nil {
			return err
		}
	}
	return fmt.Errorf("the journals of %s and %s are equal, and the digests of their %s are not: one of the manifests was changed",
		a.run.Dir.Path(), b.run.Dir.Path(), of)
}

// verdictOf compares two runs by their indexes. The verdict is unexplained if the indexes differ, but the journals are equal at the
// place to which the indexes point.
func verdictOf(a, b *side, o Options) (v *Verdict, unexplained bool, err error) {
	c := &comparison{sides: [2]*side{a, b}, types: o.Types, first: map[string]firsts{}}
	c.end = newEnd(c.sides)
	clients, others := record.SharedClients(a.run, b.run)
	if others != nil && !o.Anyway {
		return nil, false, others
	}
	v = &Verdict{Notes: append([]string{}, slices.Concat(a.notes(), b.notes())...)}
	known := false
	if v.Changes, known = record.Changes(a.run, b.run); !known {
		v.Notes = append(v.Notes, "the manifests do not both hold their scenario, so it may not be the same")
	}
	if others != nil {
		v.Notes = append(v.Notes, "only the clients that both runs have are compared")
	}
	searches, differ := newSearches(clients, c.sides, c.end)
	for run, s := range c.sides {
		if err := read(run, s, searches, differ); err != nil {
			return nil, false, err
		}
	}
	lacks := metasim.Infinity
	for _, s := range searches {
		d, ends := s.first(c.sides, c.end)
		lacks = metasim.Earlier(lacks, ends)
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
	c.limit(v, clients, lacks)
	v.Differ = []string{}
	if v.Until == nil && others == nil {
		v.Differ = append(v.Differ, a.run.Manifest.Differ(b.run.Manifest.Digests)...)
	}
	err = c.judge(v)
	return v, err == nil && v.Equal && v.Until == nil && len(searches) > 0, err
}

// A comparison holds what a verdict is made of.
type comparison struct {
	sides [2]*side
	end   *end // nil: both runs have the same
	types *types.Set
	first map[string]firsts // by client
}

// firsts are the first differences of one client. Nil: there is none.
type firsts struct{ output, input *difference }

// limit sets in the verdict how far both runs go, if one of them may lack something. lacks is the instant of the first item that one
// is known to lack.
func (c *comparison) limit(v *Verdict, clients []string, lacks metasim.Instant) {
	until := lacks
	for _, s := range c.sides {
		if s.torn != nil || s.run.Killed() || slices.ContainsFunc(clients, s.cutOff) {
			v.cutOff = true
			if lacks == metasim.Infinity {
				until = metasim.Earlier(until, s.recorded())
			}
		}
	}
	if c.end != nil {
		until = metasim.Earlier(until, c.end.at)
	}
	if v.cutOff || c.end != nil {
		v.Until = (*record.Instant)(&until)
	}
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
	found := cause != nil && (input == nil || cause.at.Before(input.at) || cause.at == input.at && cause.explains(input))
	switch {
	case found && len(c.sides[0].run.SeenBy(cause.search.client, v.Changes)) == 0:
		at := record.Instant(cause.when)
		v.Cause, v.Culprit, v.CulpritAt = causeClient, cause.search.client, &at
	case len(v.Changes) > 0:
		v.Cause = causeScenario
	default:
		v.Cause = causeUnknown
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
		m.Payload = append(m.Payload, journal.CanonicalResult(ev.Result)...)
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

// shownChanges is how many changes of a scenario are shown; --json has them all.
const shownChanges = 10

// WriteText writes the verdict for a person, without the notes.
func (v *Verdict) WriteText(w io.Writer) error {
	var text strings.Builder
	if len(v.Changes) > 0 {
		text.WriteString("the scenarios differ:\n")
	}
	for _, c := range v.Changes[:min(len(v.Changes), shownChanges)] {
		fmt.Fprintf(&text, "  %s\n", plain.Text(fmt.Sprint(c)))
	}
	if more := len(v.Changes) - shownChanges; more > 0 {
		fmt.Fprintf(&text, "  ... and %d more: see --json\n", more)
	}
	switch d := v.First; {
	case d != nil:
		fmt.Fprintf(&text, "different %s\n  A: %s\n  B: %s\n%s\n", plain.Text(d.Where()), plain.Text(d.A.Describe(d.B)),
			plain.Text(d.B.Describe(d.A)), plain.Text(v.cause()))
		if len(v.Differ) > 0 {
			fmt.Fprintf(&text, "digests that differ: %s\n", strings.Join(v.Differ, ", "))
		}
	case v.cutOff:
		fmt.Fprintf(&text, "equal as far as recorded, until %v\n", v.Until)
	case v.Until != nil:
		fmt.Fprintf(&text, "equal as far as both go, until %v\n", v.Until)
	default:
		text.WriteString("equal\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// cause says what caused the divergence.
func (v *Verdict) cause() string {
	switch v.Cause {
	case causeClient:
		return fmt.Sprintf("caused by %s, at %v: what it received until then is the same, what it sent is not", v.Culprit, v.CulpritAt)
	case causeScenario:
		if len(v.Changes) == 1 {
			return fmt.Sprintf("caused by the change of the scenario, and by no client: %v", v.Changes[0])
		}
		return "caused by the changes of the scenario, and by no client"
	}
	return "caused by no client: everything that was sent before is the same, so the links differ"
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
