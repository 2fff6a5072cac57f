package lockstep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/world"
	"metasim/metasim"
)

// A hungError says that a runtime has not replied.
type hungError struct{ after time.Duration }

func (e *hungError) Error() string {
	return fmt.Sprintf("its runtime has not replied within %v of real time, the timeout of the world; see in its log what it does, or raise the timeout", e.after)
}

// A link calls the systems of a world that run elsewhere. It is the [world.Runtimes] of a client.
type link struct {
	ctx      context.Context
	client   *client.Client
	calls    map[string]*client.Publication // by name of the system
	runtimes map[string]string              // the client that has replied for a system
	dir      string                         // of the scenario: files below it are named as seen from there
	timeout  time.Duration                  // for the replies of a phase; 0: none
	waiting  []world.Call
	resets   string // the channel of those who ask for a reset; empty: nobody may
	asked    bool   // somebody has, for the next step
}

// Begin publishes calls, all at the present instant.
func (l *link) Begin(calls []world.Call) error {
	l.waiting = calls
	now := l.client.Now().Time // after a reset the time of the world is an earlier one
	for i := range calls {
		c := &calls[i]
		message := call{phase: c.Phase, fresh: c.Fresh, number: c.Slot.Number(), info: c.Info, next: now.Add(c.Next - c.Info.Time), seed: c.Seed, state: c.State}
		if c.Phase == world.Configure {
			message.plugin = portable(c.Slot.Plugin, l.dir)
		}
		b, err := message.encode()
		if err != nil {
			return err
		}
		if err := l.calls[c.Slot.Name].PublishOwned(b); err != nil {
			return err
		}
	}
	return nil
}

// Replies waits for the replies, which all come at the instant after that of the calls.
func (l *link) Replies() ([]world.Reply, error) {
	ctx, cancel := l.ctx, func() {}
	hung := &world.StepError{Phase: l.waiting[0].Phase, Iteration: l.waiting[0].Info.Iteration, Err: &hungError{l.timeout}}
	if l.timeout > 0 { // real time, so it may end the run and nothing else
		ctx, cancel = context.WithTimeoutCause(l.ctx, l.timeout, hung)
	}
	defer cancel()
	replies := make([]world.Reply, len(l.waiting))
	seen := make([]string, len(l.waiting)) // which client has replied
	for missing := len(replies); missing > 0; {
		waiting := l.waiting[slices.Index(seen, "")].Slot.Name
		hung.System = waiting
		messages, err := l.client.Next(ctx, metasim.Forever)
		switch {
		case errors.Is(err, client.ErrEnd) && l.runtimes[waiting] == "":
			return nil, fmt.Errorf("system %s has no runtime: nobody has replied to the world; add a client of the model lockstep-runtime with system: %s", waiting, waiting)
		case errors.Is(err, client.ErrEnd):
			return nil, fmt.Errorf("the client of system %s has left, and the world goes on; let it stay until the run ends", waiting)
		case err != nil:
			return nil, err
		}
		for _, m := range messages {
			if l.asks(m) {
				continue
			}
			i, err := l.take(m, replies)
			if err != nil {
				return nil, err
			}
			system := l.waiting[i].Slot.Name
			if first := cmp.Or(l.runtimes[system], m.From); first != m.From {
				return nil, fmt.Errorf("system %s has two runtimes, the clients %s and %s; let one go", system, min(first, m.From), max(first, m.From))
			}
			if seen[i] != "" {
				return nil, fmt.Errorf("client %q has replied twice to one call", m.From)
			}
			seen[i], l.runtimes[system] = m.From, m.From
			missing--
		}
	}
	return replies, nil
}

// asks reports whether a message asks for a reset, and notes it.
func (l *link) asks(m client.Message) bool {
	asks := l.resets != "" && m.Channel == l.resets
	l.asked = l.asked || asks
	return asks
}

// unasked is the error of a message that is the reply to nothing.
func unasked(m client.Message) error {
	return fmt.Errorf("client %q sent a reply on %s, but the world had not called that system; let only the runtime of the system publish there", m.From, m.Channel)
}

// take puts a reply at its place, which it returns.
func (l *link) take(m client.Message, replies []world.Reply) (int, error) {
	for i := range l.waiting {
		slot := l.waiting[i].Slot
		if _, channel := catalog.LockStepChannels(l.client.Name(), slot.Name); m.Channel != channel {
			continue
		}
		r, err := decodeReply(m.Payload)
		switch {
		case err != nil:
		case r.failed != "":
			err = errors.New(r.failed)
		case r.phase != l.waiting[i].Phase:
			err = fmt.Errorf("its runtime replied to %v, and was asked for %v", r.phase, l.waiting[i].Phase)
		}
		if err != nil {
			return i, &world.StepError{System: slot.Name, Err: err} // its server adds the step
		}
		replies[i] = world.Reply{Changes: r.changes, Phases: r.phases}
		return i, nil
	}
	return 0, unasked(m)
}
