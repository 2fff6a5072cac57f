package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"metasim/wire"
	"metasim/wire/session"
)

// leave says Leave, and waits for the server's Goodbye.
func (c *Client) leave(ctx context.Context) error {
	if c.rules.Err() == nil {
		if err := c.lastResult(); err != nil {
			return err
		}
		lives, err := c.lives, c.sayLeave()
		for err == nil && c.rules.Err() == nil {
			if lives == c.lives {
				err = c.receive(ctx)
				continue
			}
			lives, err = c.lives, c.sayLeave()
		}
		if errors.Is(err, ErrInterrupted) {
			c.rules.Cancel(err)
		}
		if err := c.detach(); err != nil && errors.Is(c.rules.Err(), ErrLeft) {
			return err
		}
	}
	if err := c.rules.Err(); !errors.Is(err, ErrLeft) {
		return err
	}
	return nil
}

func (c *Client) sayLeave() error {
	c.out.mu.Lock()
	err := c.rules.Leave()
	c.out.mu.Unlock()
	if err != nil {
		return err
	}
	return c.flush()
}

// lastResult asks for the result of a client that leaves. A client whose result cannot be told has failed.
func (c *Client) lastResult() error {
	if c.result == nil {
		return nil
	}
	err := c.rules.SetResult(c.result())
	if err != nil {
		return errors.Join(err, c.close(err))
	}
	return nil
}

var errClosed = errors.New("it was closed before it left")

// close ends the client, unless it has ended, and tells the server why.
func (c *Client) close(reason error) error {
	c.out.mu.Lock()
	c.rules.Close(reason)
	c.out.mu.Unlock()
	return c.detach()
}

// lastWords writes the packets that were kept, and a report of where the client is: a handler, or the body of Steps, has panicked, and the process is about
// to end.
func (c *Client) lastWords() {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	c.rules.LastReport()
	_ = c.out.write(nil) // the panic goes on, and nobody takes an error
}

// detach tells the server why the client ends without leaving, and removes it from its host. It closes a host that is the
// client's own, or cannot be written any more.
func (c *Client) detach() error {
	if c.detached {
		return nil
	}
	c.detached = true
	c.in.forget()
	c.watch.threads.close()
	c.logEnd()
	err := c.tellFailure()
	c.out.host.leave(c.out.queue.Member)
	if c.own || err != nil || errors.As(c.rules.Err(), new(*session.LostError)) {
		return c.out.host.drop()
	}
	return nil
}

func (c *Client) logEnd() {
	if err := c.rules.Err(); err != nil && !errors.Is(err, ErrLeft) {
		c.log.Warn("ended", "client", c.rules.Full(), "at", c.rules.Now().String(), "why", err)
		return
	}
	c.log.Info("left", "client", c.rules.Full(), "at", c.rules.Now().String())
}

func (c *Client) tellFailure() error {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	if c.out.err != nil {
		c.out.err = nil // a packet could not be encoded; if the host is broken, the next write fails too
		c.out.queue.Written()
	}
	if !c.rules.Failed() {
		return nil
	}
	return c.out.write(nil)
}

// A client that begins again goes on a step of Steps after its checkpoint, so it has to be at one.
var errBetweenSteps = errors.New("the body of Steps has stepped itself, so that the client is between two steps of the loop; let it make a checkpoint where it does not")

var errUnread = errors.New("messages that came during an Await or Call are not read yet; have them read by a Next before the Step, or use inputs, so that it can make a checkpoint")

// save makes a checkpoint, if one is due.
func (c *Client) save() {
	if !c.rules.SaveDue() || c.loop.body { // a client that begins again is not put into the middle of a body
		return
	}
	var state []byte
	err := errBetweenSteps
	if len(c.unread) > 0 {
		err = errUnread
	} else if !c.loop.on || c.rules.Now().Time == c.loop.at {
		state, err = c.state()
	}
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	if err == nil {
		err = c.rules.Save(state)
	}
	if err != nil {
		c.rules.NotSaved(err)
		c.log.Warn("no checkpoint", "client", c.rules.Full(), "at", c.rules.Now().String(), "why", err)
	}
}

// restore begins at a checkpoint, if the server says so.
func (c *Client) restore() error {
	state, ok := c.rules.Begin()
	if !ok {
		return nil
	}
	if err := c.setState(state); err != nil {
		return c.rules.Fail(fmt.Errorf("it cannot begin at its checkpoint at %v: %w; mend Restore, or leave checkpoint out of the scenario", c.rules.Now(), err))
	}
	c.restored = true
	return nil
}

// goOn reports that the client goes on. The report may wait for more packets, unless a client is known to wait for it.
func (c *Client) goOn(lap session.Work) error {
	c.watch.cut(&lap)
	c.out.mu.Lock()
	c.rules.GoOn(lap)
	err := c.out.writeSoon()
	wrote := c.out.wrote
	c.out.wrote = false
	c.out.mu.Unlock()
	if err != nil {
		return c.unwritten(err)
	}
	if wrote {
		c.watch.skip()
		if c.in.unread() {
			return c.drain(context.Background())
		}
	}
	return nil
}

// wait reports that the client waits, and returns when it may act at what it is after, or the run ends before.
func (c *Client) wait(ctx context.Context, lap session.Work) error {
	if !c.rules.Waits() {
		c.watch.pause(&lap)
		if err := c.ask(lap); err != nil {
			return err
		}
	}
	for !c.rules.Answered() {
		var err error
		if c.rules.Waits() {
			err = c.receive(ctx)
		} else { // the server that it asked is lost
			err = c.ask(session.Work{})
		}
		if err != nil {
			return err
		}
	}
	c.watch.resume(c.out.task)
	return nil
}

func (c *Client) ask(lap session.Work) error {
	c.out.mu.Lock()
	c.rules.Wait(lap)
	err := c.out.write(c.out.task)
	c.out.mu.Unlock()
	if err != nil {
		return c.unwritten(err)
	}
	return nil
}

// flush writes what the client has to say, in one write.
func (c *Client) flush() error {
	c.out.mu.Lock()
	err := c.out.write(nil)
	c.out.mu.Unlock()
	if err != nil {
		return c.unwritten(err)
	}
	return nil
}

// unwritten ends the client after a write has failed, or has it come back: then what it said is said again.
func (c *Client) unwritten(err error) error {
	if errors.As(err, new(*wire.ProtocolError)) {
		return c.rules.Fail(fmt.Errorf("at %v: %w", c.rules.Now(), err)) // nothing was sent, so the server has no say in it
	}
	// A server that ends the run says why, then closes: its reason is better than the broken pipe.
	lives := c.lives
	for err = nil; err == nil && lives == c.lives; {
		err = c.receive(context.Background())
	}
	return err
}

// receive waits for something from the server, and takes it in.
func (c *Client) receive(ctx context.Context) error {
	if !c.waiting.CompareAndSwap(false, true) {
		return c.elsewhere()
	}
	came, err := c.in.wait(ctx)
	c.waiting.Store(false)
	return c.takeIn(ctx, came, err)
}

var errElsewhere = errors.New("another goroutine waits with this client; use a client in one goroutine, and give the others what they need by a channel of Go")

// elsewhere is the error of a call that comes from another goroutine than the one that waits; nil while none waits. It reads nothing that the
// other goroutine writes.
func (c *Client) elsewhere() error {
	if c.waiting.Load() {
		return named(c.rules.Full(), errElsewhere)
	}
	return nil
}

// drain takes in what has come from the server, without waiting for more.
func (c *Client) drain(ctx context.Context) error {
	came, err := c.in.take()
	return c.takeIn(ctx, came, err)
}

// takeIn takes in what has come. Where the connection has ended, the client comes back if it can.
func (c *Client) takeIn(ctx context.Context, came *session.Inbound, err error) error {
	if came != nil {
		if over := c.rules.Receive(came); over != nil {
			return over
		}
	}
	switch {
	case err == nil || errors.Is(err, ErrInterrupted):
		return err
	case c.dial != nil && c.rules.Err() == nil && c.patient() > 0 && broken(err) && !c.out.host.isClosed():
		return c.comeBack(ctx, err)
	}
	return c.ended(err)
}

// ended ends the client, as its connection or its context has.
func (c *Client) ended(err error) error {
	if cancelled := new(cancelledError); errors.As(err, &cancelled) {
		err = c.rules.Cancel(cancelled.cause)
		_ = c.detach() // no other client should wait for this one; how the closing went is of no interest
		return err
	}
	return c.rules.Lose(err)
}

// broken reports whether an error is the end of a connection, and not what the server has said, nor the end of a context.
func broken(err error) bool {
	return !errors.As(err, new(*cancelledError)) && (!errors.As(err, new(*wire.ProtocolError)) || errors.Is(err, io.ErrUnexpectedEOF))
}

// patient returns for how long the client waits for its server if that is lost now: as long as the server has said, or, before it has said anything, as
// WithStartTimeout says.
func (c *Client) patient() time.Duration {
	if !c.rules.Welcomed() {
		return c.patience
	}
	return time.Duration(c.rules.Patience())
}

// longestDial is how long a client dials at a time: over QUIC nobody says that there is no server.
const longestDial = 5 * time.Second

// comeBack waits for the server to be resumed, and catches up there: see session.Client.Return. It returns nil when the client is where it was; then it
// says again what it waits for.
func (c *Client) comeBack(ctx context.Context, lost error) error {
	if interruptible(ctx) { // it has to come back before it can be asked anything
		ctx = context.WithoutCancel(ctx)
	}
	patience := c.patient()
	fmt.Fprintf(os.Stderr, "metasim: client %q lost its server at %v and waits %v for metasim resume, or for its relay\n", c.rules.Full(), c.rules.Now(), patience)
	c.lives++
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := errors.New("nobody has answered yet")
	pause := firstPause
	if c.out.host.latest() != c.out.host { // another client on the host has come back
		pause = 0
	}
	for ; ; pause = min(max(2*pause, firstPause), lastPause) {
		select {
		case <-waiting.Done():
			if ctx.Err() != nil {
				return c.ended(&cancelledError{context.Cause(ctx)})
			}
			return c.rules.Lose(fmt.Errorf("%w; nobody was at its address again within %v (%v): use metasim resume, or start its relay there again, as the client knows "+
				"no other address; raise start_timeout if that takes longer", unexpected(lost), patience, err))
		case <-time.After(pause):
		}
		attempt, end := context.WithTimeout(waiting, longestDial)
		var host *Host
		host, err = c.dial(attempt)
		if end(); err != nil {
			continue // it is not there yet
		}
		c.adopt(host)
		if err = c.catchUp(ctx); err == nil {
			return nil
		}
		if !broken(err) || c.rules.Err() != nil {
			return c.ended(err)
		}
	}
}

// unexpected is how a connection ended that had not to.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// adopt goes on over a new connection, and says there that the client comes back.
func (c *Client) adopt(host *Host) {
	c.in.forget()
	_ = c.out.host.drop() // its server is lost
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	c.out.host, c.out.err = host, nil
	c.out.queue.Member, c.in = host.join(c.out.task)
	c.rules.Return()
}

// catchUp returns when the client is where it was, or with the error that ends its connection or its session.
func (c *Client) catchUp(ctx context.Context) error {
	for {
		c.out.mu.Lock()
		there := c.rules.CatchUp()
		err := c.out.write(nil)
		c.out.mu.Unlock()
		if there && err == nil {
			return nil
		}
		came, err := c.in.wait(ctx) // also after a write that failed: the server may have said why
		if came != nil {
			if over := c.rules.Receive(came); over != nil {
				return over
			}
		}
		if err != nil {
			return err
		}
	}
}
