package compare

import (
	"fmt"
	"strings"

	"metasim/metasim"
	"metasim/record/journal"
)

// A side is one of the two runs.
type side struct {
	label    string // "A" or "B"
	dir      journal.Dir
	manifest *journal.Manifest
	index    *journal.Index
	ids      map[string]metasim.ClientID
	torn     error
}

func open(label, path string) (*side, error) {
	dir, err := journal.Open(path)
	if err != nil {
		return nil, err
	}
	s := &side{label: label, dir: dir, ids: map[string]metasim.ClientID{}}
	if s.manifest, err = dir.Manifest(); err != nil {
		return nil, err
	}
	for i, name := range s.manifest.Clients {
		s.ids[name] = metasim.ClientID(i)
	}
	if s.index, s.torn, err = dir.Index(s.manifest.Clients); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// track returns what the index has of a client.
func (s *side) track(name string) *journal.Track { return &s.index.Clients[s.ids[name]] }

// end is the end of the run.
func (s *side) end() metasim.Instant {
	if s.manifest.Until > 0 {
		return metasim.At(s.manifest.Until)
	}
	return metasim.Infinity
}

// whole reports whether the run went to its end, so that what is missing was never there.
func (s *side) whole() bool { return s.manifest.OK && s.torn == nil }

// short reports whether more may have come from or to a client than was recorded: the run was ended before its end.
func (s *side) short(name string) bool { return !s.whole() && !s.track(name).Left }

// notes says what about the run makes it less than one that can be compared as a whole.
func (s *side) notes() []string {
	var notes []string
	note := func(format string, args ...any) {
		notes = append(notes, fmt.Sprintf("%s (%s) "+format, append([]any{s.label, s.dir.Path()}, args...)...))
	}
	switch m := s.manifest; {
	case m.Digest == "":
		note("was killed, and is compared as far as it was recorded")
	case !m.OK:
		why, _, _ := strings.Cut(m.Error, "\n") // the last output of a client may follow
		note("failed, and is compared as far as it went: %s", why)
	case !m.Deterministic:
		note("is not deterministic: it took in what no scenario says")
	}
	if s.torn != nil {
		note("is damaged, and is compared as far as it is good: %v", s.torn)
	}
	return notes
}
