package replay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"time"

	"metasim/record"
	"metasim/wire"
)

// Client runs one client of a run alone, at full speed, against what was delivered to it then. It checks that the client
// sends what it sent then: channel, instant, payload, order; and that it leaves in the same way with the same result. It
// stops at the first difference. It has no time limit: the program may be a debugger.
//
// The error says why the client could not be checked, or not to its end. It is a *record.UnknownClientError if the run has
// no such client.
func Client(ctx context.Context, r *record.Run, name string, p *Program) (*Checked, error) {
	id, err := r.Client(name)
	if err != nil {
		return nil, err
	}
	tape, err := newTape(r, id)
	if err != nil {
		return nil, err
	}
	defer tape.close()
	if tape.joined == nil && tape.torn != nil {
		return nil, tape.torn
	}
	if tape.joined == nil {
		return nil, fmt.Errorf("client %q never joined the run, so that there is nothing to check", name)
	}
	token := rand.Text()
	s, err := newExchange(name, token, tape)
	if err != nil {
		return nil, err
	}
	err = p.serve(ctx, name, token, s.serve)
	if s.Difference == nil && err == nil {
		err = tape.check()
	}
	if s.Difference == nil && err != nil {
		return nil, err
	}
	s.Torn = tape.torn
	return &s.Checked, nil
}

// serve starts the program, and serves its connection. When both are done it returns what prevented the check. How the
// program ends after its last message does not matter.
func (p *Program) serve(ctx context.Context, name, token string, exchange func(wire.Conn) error) (err error) {
	listener, err := p.Listen()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var ended error
	done := make(chan struct{})
	closed := make(chan error, 1)
	go func() {
		defer close(done)
		ended = p.Run(ctx, listener, token)
		closed <- listener.Close() // and so Accept returns, if the program has not joined
	}()
	conn, err := listener.Accept()
	if err != nil {
		<-done
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return fmt.Errorf("client %q ended before it joined: %s", name, howEnded(ended))
	}
	unwatch := context.AfterFunc(ctx, func() { _ = conn.Close() }) // so that the exchange ends
	err = exchange(conn)
	unwatch()
	if p.Patience > 0 {
		defer time.AfterFunc(p.Patience, cancel).Stop()
	}
	cause := context.Cause(ctx)
	<-done
	switch {
	case err != nil && cause != nil:
		return cause
	case err != nil && ended != nil:
		return fmt.Errorf("%w (%s)", err, howEnded(ended))
	}
	if e := <-closed; !errors.Is(e, net.ErrClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// howEnded says how a program ended.
func howEnded(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}
