package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"metasim/metasim"
	"metasim/record"
	"metasim/record/journal"
)

// A side is one of the two runs.
type side struct {
	label string // "A" or "B"
	run   *record.Run
	ids   map[string]metasim.ClientID
	index *journal.Index
	torn  error // the *journal.TornError at which the journal breaks off, if it does
}

func open(label, path string) (*side, error) {
	run, err := record.Open(path)
	if err != nil {
		return nil, err
	}
	s := &side{label: label, run: run, ids: map[string]metasim.ClientID{}}
	for i, name := range run.Manifest.Clients {
		s.ids[name] = metasim.ClientID(i)
	}
	if s.index, s.torn, err = run.Index(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// client returns what the index has of a client.
func (s *side) client(name string) *journal.ClientIndex { return &s.index.Clients[s.ids[name]] }

// complete reports whether the run reached its end and its journal is good, so that what the journal lacks did not happen.
func (s *side) complete() bool { return s.run.Manifest.OK && s.torn == nil }

// cutOff reports whether a client may have done more than was recorded: the run ended before its end, and before the client left.
func (s *side) cutOff(client string) bool { return !s.complete() && !s.client(client).Left }

// find reads what a client sent under a number, or its leave.
func (s *side) find(from metasim.ClientID, seq uint64) (metasim.Event, error) {
	count, offset := s.index.Clients[from].Outputs.Before(seq)
	scanner, err := s.run.Dir.Scan(offset)
	if err != nil {
		return nil, err
	}
	defer func() { _ = scanner.Close() }() // a file that was only read
	for {
		r, err := scanner.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: the journal has a delivery of message %d of %q, but not the message",
				s.run.Dir.Path(), seq, s.run.Manifest.Clients[from])
		}
		if err != nil {
			return nil, err
		}
		if id, ok := metasim.ClientOf(r.Event); !ok || id != from || journal.Hash(r.Event) == 0 {
			continue
		}
		if count == seq {
			return r.Event, nil
		}
		count++
	}
}

// notes say why the run is not compared as a whole.
func (s *side) notes() []string {
	var notes []string
	note := func(format string, args ...any) {
		notes = append(notes, fmt.Sprintf("%s (%s) "+format, append([]any{s.label, s.run.Dir.Path()}, args...)...))
	}
	switch m := s.run.Manifest; {
	case s.run.Killed():
		note("was killed, and is compared as far as it was recorded")
	case !m.OK:
		reason, _, _ := strings.Cut(m.Error, "\n") // the last output of a client may follow
		note("failed, and is compared as far as it went: %s", reason)
	case !m.Deterministic:
		note("is not deterministic: it had inputs that the scenario does not say")
	}
	if s.torn != nil {
		note("is damaged, and is compared as far as it is good: %v", s.torn)
	}
	return notes
}

// maxNotes is how many differences of two scenarios are listed.
const maxNotes = 5

// scenarioNotes say in what the resolved scenarios of two runs differ; none if they do not.
func scenarioNotes(a, b *side) []string {
	one, two := a.run.Manifest.Resolved, b.run.Manifest.Resolved
	var x, y any
	if json.Unmarshal(one, &x) != nil || json.Unmarshal(two, &y) != nil {
		if bytes.Equal(one, two) {
			return nil
		}
		return []string{"the manifests do not both hold their scenario, so it may not be the same"}
	}
	var found []string
	differences("", x, y, &found)
	notes := make([]string, 0, len(found))
	for i, text := range found {
		if i == maxNotes {
			return append(notes, fmt.Sprintf("the scenarios differ in %d more places", len(found)-maxNotes))
		}
		notes = append(notes, "the scenarios differ: "+text)
	}
	return notes
}

// differences lists where two decoded JSON values differ, as "links[0].delay is 5ms in A and 6ms in B".
func differences(path string, a, b any, found *[]string) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			union := maps.Clone(x)
			maps.Copy(union, y)
			for _, key := range slices.Sorted(maps.Keys(union)) {
				differences(strings.TrimPrefix(path+"."+key, "."), x[key], y[key], found)
			}
			return
		}
	case []any:
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				differences(path+"["+strconv.Itoa(i)+"]", x[i], y[i], found)
			}
			return
		}
	}
	if one, two := asText(a), asText(b); one != two {
		*found = append(*found, fmt.Sprintf("%s is %s in A and %s in B", path, one, two))
	}
}

// asText writes a decoded JSON value in a line.
func asText(v any) string {
	if v == nil {
		return "nothing"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
