package replay

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"

	"metasim/metasim"
	"metasim/record"
)

// Options say how to replay a client.
type Options struct {
	// Command plays the client, in the working directory of the caller. Empty: what played it then.
	Command []string
	// Env is added to the environment of a command.
	Env []string
	// The streams of a command. Nil: nothing to read, and nobody who listens.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Client runs one client of a run alone, at full speed, against what was delivered to it then, and checks that it sends
// what it sent then: channel, instant, payload, order; and that it leaves in the same way with the same result. It stops
// at the first difference. It knows no time limit: a command may be a debugger.
//
// The error says why the client could not be checked, or not to its end; it is a *record.UnknownClientError if there is no such one.
func Client(ctx context.Context, r *record.Run, name string, o Options) (*Checked, error) {
	id, err := r.Client(name)
	if err != nil {
		return nil, err
	}
	tape, err := newTape(r, id)
	if err != nil {
		return nil, err
	}
	defer tape.close()
	if tape.joined == nil {
		return nil, fmt.Errorf("replay: client %q never joined the run, so that there is nothing to check", name)
	}
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, err
	}
	p, err := newPlayer(r, name, hex.EncodeToString(random[:]), o)
	if err != nil {
		return nil, err
	}
	s := &session{check: check{name: name, tape: tape}, token: p.token, met: map[metasim.ClientID]bool{}}
	if err := p.with(ctx, s.serve); err != nil && s.Difference == nil {
		return nil, err
	}
	return &s.Checked, nil
}
