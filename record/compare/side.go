package compare

import (
	"errors"
	"fmt"
	"io"
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

// checkIndex makes the index anew if wrong is set, or if the index does not belong to the journal. It reports whether it did.
func (s *side) checkIndex(wrong bool) (made bool, err error) {
	if !wrong {
		if good, err := s.run.Dir.CheckIndex(s.index); good || err != nil {
			return false, err
		}
	}
	if s.index, s.torn, err = s.run.MakeIndex(); err != nil {
		return false, fmt.Errorf("%s: %w", s.run.Dir.Path(), err)
	}
	return true, nil
}

// checkDigests reads the journal to its end, which fails if it is not that of the run.
func (s *side) checkDigests() error {
	j, err := s.run.OpenJournal()
	if err != nil {
		return err
	}
	defer func() { _ = j.Close() }() // a file that was only read
	for err == nil {
		_, err = j.Next()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// client returns what the index has of a client.
func (s *side) client(name string) *journal.ClientIndex { return &s.index.Clients[s.ids[name]] }

// complete reports whether the run reached its end and its journal is good, so that what the journal lacks did not happen.
func (s *side) complete() bool { return s.run.Manifest.OK && s.torn == nil }

// cutOff reports whether a client may have done more than was recorded: it did not leave, and either its run ended before its
// end, or the run went on without it, from a moment that depends on real time.
func (s *side) cutOff(client string) bool {
	return !s.client(client).Left && !(s.complete() && s.run.Manifest.Deterministic)
}

// recorded returns the latest instant of anything that is recorded.
func (s *side) recorded() metasim.Instant {
	var last metasim.Instant
	for i := range s.index.Clients {
		c := &s.index.Clients[i]
		last = metasim.Later(last, metasim.Later(c.Inputs.At, c.Outputs.At))
	}
	return last
}

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
