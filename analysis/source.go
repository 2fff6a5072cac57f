package analysis

import (
	"errors"
	"fmt"
	"io"

	"metasim/metasim"
	"metasim/record/journal"
)

// A Source is a recorded run.
type Source struct {
	// Config is what the run's dispatcher was made with. Its Delays are used up.
	Config metasim.Config
	// Journal is read to its end. A *journal.Reader is one.
	Journal Journal
	// Cores is how many cores the clients shared, so that who computed can be told from who waited for one. Zero: not known.
	Cores int
	// Inside names the clients that lived in the server's process, where those who compute little take turns. Predictions want
	// it.
	Inside []string
	// MaxGrants and MaxMessages bound what a Timeline keeps of each, from the beginning of the run. All are counted, and all
	// totals are of the whole run. Zero: DefaultMax.
	MaxGrants, MaxMessages int
}

// A Journal gives the entries of a run in order, and fails with io.EOF after the last, or with a *journal.TornError.
type Journal interface {
	Next() (journal.Entry, error)
}

// DefaultMax is how many grants, and how many messages, a Timeline keeps where a Source does not say.
const DefaultMax = 1_000_000

// ErrForeign says that a journal has clients that the Config does not name.
var ErrForeign = errors.New("analysis: the journal has a client that the run does not name; they are not of one run")

// A DivergedError says that a run cannot be explained: its dispatcher, done again, decides otherwise.
type DivergedError struct {
	Entry uint64 // from 1
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("analysis: at entry %d of its journal the run does not come out the same again; "+
		"metasim replay says where, and the metasim that recorded it can report it", e.Entry)
}

// Read reads a run.
func Read(src Source) (*Timeline, error) {
	t, err := newTracer(src)
	if err != nil {
		return nil, err
	}
	var pass []journal.Entry // of one pass of the server: they have one stamp
	for {
		e, err := src.Journal.Next()
		if err == nil && (len(pass) == 0 || e.Wall == pass[0].Wall) {
			pass = append(pass, e)
			continue
		}
		if err := t.take(pass); err != nil {
			return nil, err
		}
		switch {
		case errors.Is(err, io.EOF):
			return t.close()
		case errors.As(err, new(*journal.TornError)):
			t.tl.Torn = err
			t.diverged = nil // the last entry may lack effects
			return t.close()
		case err != nil:
			return nil, err
		}
		clear(pass) // so that payloads can be freed
		pass = append(pass[:0], e)
	}
}
