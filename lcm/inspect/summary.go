package inspect

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"metasim/lcm"
	"metasim/lcm/types"
)

const (
	// maxFingerprints is how many types are counted on a channel. If there are more, the messages are not of LCM: they begin
	// with anything.
	maxFingerprints = 8
	// maxNetworkChannel is how many bytes the name of a channel may have on the networks of LCM; in a log it may have more.
	maxNetworkChannel = 63
)

// A Summary says what is in a log. Times are in microseconds, as in the log.
type Summary struct {
	File     string            `json:"file"`
	Events   int64             `json:"events"`
	Bytes    int64             `json:"bytes"` // of payloads
	First    int64             `json:"first_us"`
	Last     int64             `json:"last_us"` // the earliest and the latest stamp, wherever they are
	Back     int64             `json:"events_back"`
	Most     int64             `json:"most_back_us"`
	Skipped  int64             `json:"skipped_bytes"`
	Torn     bool              `json:"torn"`
	Channels []*channelSummary `json:"channels"` // sorted by name

	channels map[string]*channelSummary
	disorder string
}

// A channelSummary says what is on a channel.
type channelSummary struct {
	channelName
	Messages int64         `json:"messages"`
	Rate     float64       `json:"rate"` // per second, between its first and its last message; 0 if they have one stamp
	Bytes    int64         `json:"bytes"`
	Smallest int           `json:"smallest"`
	Largest  int           `json:"largest"`
	First    int64         `json:"first_us"`
	Last     int64         `json:"last_us"`
	Types    []typeSummary `json:"types"`   // the most frequent first
	Untyped  int64         `json:"untyped"` // messages that are too short for a type, or of types beyond the most that are counted

	name         string
	fingerprints map[uint64]int64
}

// A typeSummary is a type on a channel.
type typeSummary struct {
	Fingerprint string   `json:"fingerprint"`
	Names       []string `json:"names"` // several if types differ in name only; none if no type has this fingerprint
	Messages    int64    `json:"messages"`
}

// Summarize reads a log; file is its name.
func Summarize(file string, log io.Reader, known *types.Set) (*Summary, Check, error) {
	s := &Summary{File: file, channels: map[string]*channelSummary{}}
	var check Check
	f := follower{log: log}
	err := f.read(&check, s.add)
	if err == nil {
		s.finish(check, known)
	}
	return s, check, err
}

// add counts an event.
func (s *Summary) add(ev lcm.Event) error {
	c := s.channels[ev.Channel]
	if c == nil {
		c = &channelSummary{channelName: nameOf(ev.Channel), name: ev.Channel, First: ev.Time, Last: ev.Time, Smallest: len(ev.Payload),
			fingerprints: map[uint64]int64{}}
		s.channels[ev.Channel] = c
	}
	c.Messages++
	c.Bytes += int64(len(ev.Payload))
	c.First, c.Last = min(c.First, ev.Time), max(c.Last, ev.Time)
	c.Smallest, c.Largest = min(c.Smallest, len(ev.Payload)), max(c.Largest, len(ev.Payload))
	f, ok := types.FingerprintOf(ev.Payload)
	if _, counted := c.fingerprints[f]; ok && (counted || len(c.fingerprints) < maxFingerprints) {
		c.fingerprints[f]++
	} else {
		c.Untyped++
	}
	return nil
}

// finish computes what follows from all events.
func (s *Summary) finish(check Check, known *types.Set) {
	s.Events, s.Skipped, s.Torn = check.Events, check.skipped, check.torn != nil
	s.Back, s.Most, s.disorder = check.back, int64(check.most/1000), check.Disorder()
	s.Channels = make([]*channelSummary, 0, len(s.channels))
	for _, name := range slices.Sorted(maps.Keys(s.channels)) {
		c := s.channels[name]
		if len(s.Channels) == 0 {
			s.First, s.Last = c.First, c.Last
		}
		s.First, s.Last = min(s.First, c.First), max(s.Last, c.Last)
		s.Bytes += c.Bytes
		c.finish(known)
		s.Channels = append(s.Channels, c)
	}
}

func (c *channelSummary) finish(known *types.Set) {
	if span := float64(c.Last) - float64(c.First); span > 0 {
		c.Rate = float64(c.Messages-1) / span * 1e6
	}
	c.Types = []typeSummary{}
	for _, f := range slices.Sorted(maps.Keys(c.fingerprints)) {
		t := typeSummary{Fingerprint: fmt.Sprintf("%016x", f), Names: []string{}, Messages: c.fingerprints[f]}
		for _, typ := range known.With(f) {
			t.Names = append(t.Names, typ.Name)
		}
		c.Types = append(c.Types, t)
	}
	slices.SortStableFunc(c.Types, func(a, b typeSummary) int { return cmp.Compare(b.Messages, a.Messages) })
}

// typeText writes the types of a channel in one cell of the table.
func (c *channelSummary) typeText() string {
	var cells []string
	for _, t := range c.Types {
		cell := t.Fingerprint
		if len(t.Names) > 0 {
			cell = strings.Join(t.Names, " or ")
		}
		cells = append(cells, cell)
	}
	if len(c.Types) == maxFingerprints && c.Untyped > 0 {
		return "none: the messages begin with many fingerprints"
	}
	if c.Untyped > 0 {
		cells = append(cells, "no fingerprint")
	}
	return strings.Join(cells, ", ")
}

// WriteText writes the summary for people.
func (s *Summary) WriteText(out io.Writer) error {
	var w bytes.Buffer
	if s.Events > 0 {
		t := tabwriter.NewWriter(&w, 0, 0, 2, ' ', 0)
		fmt.Fprintf(t, "channel\tmessages\tper second\tbytes\tsmallest\tlargest\ttype\n")
		for _, c := range s.Channels {
			rate := "-"
			if c.Rate > 0 {
				rate = fmt.Sprintf("%.4g", c.Rate)
			}
			fmt.Fprintf(t, "%s\t%d\t%s\t%d\t%d\t%d\t%s\n", word(c.name), c.Messages, rate, c.Bytes, c.Smallest, c.Largest, c.typeText())
		}
		_ = t.Flush() // writing to memory does not fail
		span := int64(uint64(s.Last) - uint64(s.First))
		fmt.Fprintf(&w, "\nfrom %s s to %s s: %s s\n", seconds(s.First), seconds(s.Last), seconds(span))
	}
	fmt.Fprintf(&w, "%s: %d events on %d channels, %d bytes of payload\n", s.File, s.Events, len(s.Channels), s.Bytes)
	if s.disorder != "" {
		fmt.Fprintln(&w, s.disorder)
	}
	for _, c := range s.Channels {
		if n := len(c.name); n > maxNetworkChannel {
			fmt.Fprintf(&w, "channel %s has %d bytes: on the network LCM carries %d\n", word(c.name), n, maxNetworkChannel)
		}
		if strings.Contains(c.name, "\x00") {
			fmt.Fprintf(&w, "channel %s has a NUL: other tools of LCM see the name end there\n", word(c.name))
		}
	}
	_, err := out.Write(w.Bytes())
	return err
}
