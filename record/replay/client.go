package replay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"time"

	"metasim/metasim"
	"metasim/record"
	"metasim/wire"
)

// Client runs one client of a run alone, at full speed, against what was delivered to it then. It checks that the client
// sends what it sent then: channel, instant, payload, order; and that it leaves in the same way with the same result. It
// stops at the first difference. It has no time limit: the program may be a debugger.
//
// A client that crashes may have published messages that its library had not written yet. So its program runs a second time, if it may,
// and is authorized one instant at a time. Then all that it published before the instant of the crash has been written.
//
// The error says why the client could not be checked, or not to its end. It is a *record.UnknownClientError if the run has
// no such client.
func Client(ctx context.Context, r *record.Run, name string, p *Program) (*Checked, error) {
	id, err := r.Client(name)
	if err != nil {
		return nil, err
	}
	x, ended, err := once(ctx, r, id, p, false)
	if err != nil {
		return nil, err
	}
	if !x.gone {
		return &x.Checked, nil
	}
	how := howEnded(ended)
	if x.Difference == nil && x.Missing == 0 || !x.silent || !p.Repeatable { // all is there, or it is not to run again
		x.crashed(how + x.unsaid())
		return &x.Checked, nil
	}
	again, ended, err := once(ctx, r, id, p, true)
	switch {
	case err != nil:
		return nil, err
	case !again.gone && again.Difference == nil && x.Difference != nil:
		x.crashed(how + "; but when it ran again, authorized from instant to instant, all was the same")
		return &x.Checked, nil
	case !again.gone:
		return &again.Checked, nil
	}
	again.crashed(howEnded(ended) + again.unsaid())
	return &again.Checked, nil
}

// unsaid says what else a client that is gone may have published, because its library had not written it.
func (x *exchange) unsaid() string {
	if x.Difference == nil || !x.silent {
		return ""
	}
	if !x.tape.stepwise {
		return "; it may have published more, which did not leave it"
	}
	waiting, more := x.tape.past.Sends.All(), 0
	for more+1 < len(waiting) && waiting[more+1].Sent == waiting[0].Sent {
		more++
	}
	if more == 0 {
		return ""
	}
	return fmt.Sprintf("; it may have come up to message %d, as what it published last may not have left it", x.Sent+uint64(more))
}

// crashed adds to what is said of a client that is gone.
func (x *exchange) crashed(how string) {
	if x.Difference != nil {
		x.Difference.Now += ", " + how
	} else {
		x.End += "; now its connection ended too, " + how
	}
}

// once runs the program of a client. It returns the exchange with it, and how the program ended; nil for a success.
func once(ctx context.Context, r *record.Run, id metasim.ClientID, p *Program, stepwise bool) (x *exchange, ended, err error) {
	name := r.Manifest.Clients[id]
	tape, err := newTape(r, id)
	if err != nil {
		return nil, nil, err
	}
	defer tape.close()
	if tape.past.Joined == nil && tape.torn != nil {
		return nil, nil, tape.torn
	}
	if tape.past.Joined == nil {
		return nil, nil, fmt.Errorf("client %q never joined the run, so that there is nothing to check", name)
	}
	tape.stepwise = stepwise
	token := rand.Text()
	if x, err = newExchange(name, token, p.About, p.Scopes, tape); err != nil {
		return nil, nil, err
	}
	ended, err = p.serve(ctx, name, token, x.serve)
	if x.Difference == nil && err == nil {
		err = tape.check()
	}
	if x.Difference == nil && err != nil {
		return nil, nil, err
	}
	x.Torn = tape.torn
	return x, ended, nil
}

// serve starts the program, and serves its connection. When both are done it returns how the program ended, and what prevented the
// check. How the program ends after its last message does not matter.
func (p *Program) serve(ctx context.Context, name, token string, exchange func(wire.Conn) error) (ended, err error) {
	listener, err := p.Listen()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	closed := make(chan error, 1)
	go func() {
		defer close(done)
		ended = p.Run(ctx, listener, token)
		closed <- listener.Close() // and so Accept returns, if the program has not joined
	}()
	for err = errNothingSaid; errors.Is(err, errNothingSaid); {
		conn, refused := listener.Accept()
		if refused != nil {
			<-done
			if cause := context.Cause(ctx); cause != nil {
				return ended, cause
			}
			return ended, fmt.Errorf("client %q ended before it joined: %s", name, howEnded(ended))
		}
		unwatch := context.AfterFunc(ctx, func() { _ = conn.Close() }) // so that the exchange ends
		err = exchange(conn)
		unwatch()
	}
	if p.Patience > 0 {
		defer time.AfterFunc(p.Patience, cancel).Stop()
	}
	cause := context.Cause(ctx)
	<-done
	switch {
	case err != nil && cause != nil:
		return ended, cause
	case err != nil && ended != nil:
		return ended, fmt.Errorf("%w (%s)", err, howEnded(ended))
	}
	if e := <-closed; !errors.Is(e, net.ErrClosed) {
		err = errors.Join(err, e)
	}
	return ended, err
}

// howEnded says how a program ended.
func howEnded(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}
