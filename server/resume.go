package server

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"metasim/metasim"
	"metasim/wire/session"
)

// resume does what the journal of a run says that was cut off: the dispatcher, the ledger and the sessions stand then where they stood. Its
// clients are away, and repeat their past when they are back: see restart.go.
func (s *Server) resume(r Resume) error {
	number, missing := 0, []metasim.Effect(nil)
	s.session.Resumes()
	batches, stop := readAhead(r)
	defer stop()
	for e := range all(batches) {
		if errors.Is(e.err, io.EOF) {
			break
		}
		if e.err != nil {
			return e.err
		}
		number++
		s.held.Until(e.wall)
		if len(missing) > 0 {
			return unlikeRecord(number - 1)
		}
		var effects []metasim.Effect
		if e.ev == nil {
			effects = s.dispatcher.Settle()
		} else {
			effects = s.dispatcher.Step(e.ev)
		}
		var same bool
		if missing, same = r.Missing(e.recorded, effects); !same {
			return unlikeRecord(number)
		}
		s.wall = time.Duration(e.wall)
		s.done(e.ev, effects)
	}
	stop()
	return r.Continue(missing)
}

// An entry is what Resume.Next has returned.
type entry struct {
	wall     int64
	ev       metasim.Event
	recorded []byte
	err      error
}

// readAhead reads a journal on a goroutine of its own, as a second processor may be idle. stop ends that, and waits for it.
func readAhead(r Resume) (batches <-chan []entry, stop func()) {
	const size, ahead = 512, 4
	read, over := make(chan []entry, ahead), make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(read)
		for {
			batch := make([]entry, 0, size)
			for len(batch) < size {
				var e entry
				e.wall, e.ev, e.recorded, e.err = r.Next()
				if batch = append(batch, e); e.err != nil {
					break
				}
			}
			select {
			case read <- batch:
			case <-over:
				return
			}
			if batch[len(batch)-1].err != nil {
				return
			}
		}
	})
	return read, sync.OnceFunc(func() {
		close(over)
		reader.Wait()
	})
}

// all yields the entries of batches.
func all(batches <-chan []entry) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for batch := range batches {
			for _, e := range batch {
				if !yield(e) {
					return
				}
			}
		}
	}
}

func unlikeRecord(entry int) error {
	return fmt.Errorf("entry %d of the journal has other effects than this metasim comes to; resume the run with the metasim that recorded it "+
		"(metasim replay says more)", entry)
}

// done notes what was done before the run was cut off.
func (s *Server) done(ev metasim.Event, effects []metasim.Effect) {
	s.ledger.Observe(ev, effects)
	s.session.Restore(ev)
	switch ev := ev.(type) {
	case *metasim.Begin:
		s.begun, s.timing.start = true, s.wall
		close(s.joined)
	case *metasim.PollWait:
		s.timing.clients[ev.Client].polled = true
	case *metasim.Leave:
		s.timing.clients[ev.Client].end = s.wall
		s.detached = s.detached || ev.Cut
	case *metasim.Permit:
		if s.halted = ev.Until != metasim.Infinity; s.halted {
			s.permitted = max(s.permitted, ev.Until.Time)
		}
	}
	for _, e := range effects {
		switch e := e.(type) {
		case *metasim.Deliver:
			s.session.Deliver(e)
		case *metasim.Authorize:
			s.session.Authorize(e)
		case *metasim.Finish:
			s.ended, s.err = true, e.Err
		}
	}
}

// goOn does what a run that was cut off had still to do: it begins, if all had joined, and goes on, if it was paused.
func (s *Server) goOn() {
	if s.config.Resume == nil || s.ended {
		return
	}
	if !s.begun && s.session.Started() {
		s.timing.start = s.wall
		s.step(&metasim.Begin{})
		close(s.joined)
	}
	if s.halted && !s.config.Driven { // a driver says itself how far it goes
		s.permit()
	}
}

// allReturned reports whether each client of a run that was cut off has come as far as it was.
func (s *Server) allReturned() bool {
	for i := range s.dispatcher.Names() {
		if id := metasim.ClientID(i); s.session.Presence(id) == session.Away || s.session.Repeats(id) {
			return false
		}
	}
	return true
}

// awaited returns the clients of a run that was cut off that have not come back.
func (s *Server) awaited() (names []string) {
	for i, name := range s.dispatcher.Names() {
		if s.session.Presence(metasim.ClientID(i)) == session.Away {
			names = append(names, name)
		}
	}
	return names
}
