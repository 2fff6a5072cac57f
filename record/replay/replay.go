package replay

import (
	"context"
	"time"

	"metasim/internal/scope"
	"metasim/wire"
	"metasim/wire/session"
)

// A Difference is the first place at which the replay is not what was recorded.
type Difference = session.Difference

// A Program runs as the client that is replayed: a model in this process, or a command. Package run makes them.
type Program struct {
	// Listen opens the listener through which Run joins. Client closes it.
	Listen func() (wire.Listener, error)
	// Run runs the program from joining, with this token, to its end. The error says how it ended, nil for a success.
	Run func(ctx context.Context, l wire.Listener, token string) error
	// About is what the client is told of its part in the scenario, as it was told then, but without a run directory: it is to write no
	// files.
	About wire.About
	// Scopes are the scenarios inside of that of the run.
	Scopes scope.Set
	// Patience is for how long the program may go on when its client has had its last message. After that ctx is cancelled.
	// Zero: no limit, as the program may be a debugger.
	Patience time.Duration
	// Repeatable: Listen and Run can be called again. It is false for what a person gave, which may be a debugger.
	Repeatable bool
}

// A Checked says what of a client was compared.
type Checked struct {
	Sent      uint64 // sends that were as they were then
	Delivered uint64 // deliveries that the client was given
	End       string // how the client's part ended
	CutOff    bool   // the record ends before the client's part did
	// Missing is how many sends were recorded of a client that was lost, and did not come again before it was lost again. They prove
	// nothing.
	Missing uint64
	// Torn is the *journal.TornError at which the journal breaks off, if it does: what is before that was checked.
	Torn error
	// Difference is the first; nil if there is none.
	Difference *Difference
}
