package lockstep

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/levels"
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
	at       metasim.Time // of the present step; the client may be later, where it has seen that somebody is gone
	late     laggards     // what is not waited for
	degrade  []string     // systems that the world may go on without
	lost     []world.Call // of those that it is ahead of: what they have not replied to, and never will
	resets   string       // the channel of those who ask for a reset; empty: nobody may
	asked    bool         // somebody has, for the next step

	levels     *levels.System  // nil: the world has no levels
	primary    *levels.Primary // nil: the world has no secondaries
	performers string          // the channel of those who ask for performers; empty: nobody may
	acks       map[string]*acked
	meter      meter
}

// Begin publishes calls, all at the present instant.
func (l *link) Begin(calls []world.Call) error {
	l.waiting = l.waiting[:0]
	now := l.client.Now().Time
	for i := range calls {
		c := &calls[i]
		message := call{phase: c.Phase, fresh: c.Fresh, number: c.Slot.Number(), info: c.Info, next: l.due(c.Next - c.Info.Time), seed: c.Seed, state: c.State,
			behind: c.Slot.Behind > 0}
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
		if message.behind {
			l.late.asked(c, now)
		} else {
			l.waiting = append(l.waiting, *c)
		}
	}
	return nil
}

// bounded bounds a wait by the timeout, if there is one, which ends it with a cause: real time, so it may end the run and nothing else.
func (l *link) bounded(cause error) (context.Context, context.CancelFunc) {
	if l.timeout <= 0 {
		return l.ctx, func() {}
	}
	return context.WithTimeoutCause(l.ctx, l.timeout, cause)
}

// hung is the error of a call that nobody has replied to in time.
func (l *link) hung(c *world.Call) *world.StepError {
	return &world.StepError{System: c.Slot.Name, Phase: c.Phase, Iteration: c.Info.Iteration, Err: &hungError{l.timeout}}
}

// due returns the time of the run at which the world is due so much later than in this step. After a reset the time of the world is an earlier one.
func (l *link) due(later metasim.Time) metasim.Time {
	return max(l.at.Add(later), l.client.Now().Time)
}

// advance waits until the world may step to a time: it has the replies then of all that it must not be so far ahead of. False: the run ends before. Where replies or
// acknowledgements were late, that time has passed.
func (l *link) advance(to metasim.Time) (bool, error) {
	l.at = to
	if to < l.client.Now().Time {
		return true, l.missing(to)
	}
	ctx, cancel := l.ctx, context.CancelFunc(func() {})
	if c := l.late.due(to); c != nil {
		ctx, cancel = l.bounded(l.hung(&c.Call))
	}
	defer cancel()
	messages, err := l.client.Step(ctx, to)
	if errors.Is(err, client.ErrEnd) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	for _, m := range messages {
		if heard, err := l.hear(m); err != nil {
			return false, err
		} else if !heard {
			return false, unasked(m)
		}
	}
	return true, l.missing(to)
}

// settle waits for the last replies of systems that are behind.
func (l *link) settle() error {
	for c := l.late.due(metasim.Forever); c != nil; c = l.late.due(metasim.Forever) {
		if more, err := l.advance(c.due); !more || err != nil {
			return err
		}
	}
	return nil
}

// missing returns an error if a reply is not there that was due.
func (l *link) missing(now metasim.Time) error {
	for c := l.late.due(now); c != nil; c = l.late.due(now) {
		if !slices.Contains(l.degrade, c.Slot.Name) {
			return l.gone(c.Slot.Name)
		}
		l.lost = append(l.lost, c.Call)
		l.late.forget(c.Slot)
	}
	return nil
}

// dropped has the world go on without systems that it is ahead of, and that are gone.
func (l *link) dropped(s *world.Server) {
	for _, c := range l.lost {
		s.GoOnWithout(c.Slot, c.Phase, c.Info.Iteration)
	}
	l.lost = nil
}

// gone is the error of a system whose reply cannot come any more.
func (l *link) gone(system string) error {
	if l.runtimes[system] == "" {
		return fmt.Errorf("system %s has no runtime: nobody has replied to the world; add a client of the model lockstep-runtime with system: %s", system, system)
	}
	return fmt.Errorf("the client of system %s has left, and the world goes on; let it stay until the run ends", system)
}

// hear takes a message that is no reply to a call of the present phase. It reports whether it is one that may come.
func (l *link) hear(m client.Message) (bool, error) {
	if l.asks(m) || l.again(m) {
		return true, nil
	}
	if told, err := l.measured(m); told || err != nil {
		return true, err
	}
	from := l.late.of(m)
	if from == nil {
		return false, nil
	}
	if err := l.sole(from.slot.Name, m.From); err != nil {
		return true, err
	}
	return true, from.take(m, l.late.world)
}

// sole returns an error if a client replies for a system that another one has replied for.
func (l *link) sole(system, from string) error {
	if first := cmp.Or(l.runtimes[system], from); first != from {
		return fmt.Errorf("system %s has two runtimes, the clients %s and %s; let one go", system, min(first, from), max(first, from))
	}
	l.runtimes[system] = from
	return nil
}

// Replies waits for the replies, which all come at the instant after that of the calls. Where the next nanosecond comes sooner, those are gone that have
// not replied.
func (l *link) Replies() ([]world.Reply, error) {
	hung := l.hung(&l.waiting[0])
	ctx, cancel := l.bounded(hung)
	defer cancel()
	replies := make([]world.Reply, len(l.waiting))
	seen := make([]string, len(l.waiting)) // which client has replied
	for missing := len(replies); missing > 0; {
		waiting := l.waiting[slices.Index(seen, "")].Slot.Name
		hung.System = waiting
		limit := metasim.Forever
		if l.mayGo(seen) {
			limit = l.client.Now().Time.Add(1) // a call and its reply are steps of one time
		}
		messages, err := l.client.Next(ctx, limit)
		if errors.Is(err, client.ErrEnd) {
			return nil, l.gone(waiting)
		} else if err != nil {
			return nil, err
		}
		if len(messages) == 0 {
			missing -= l.goOn(seen, replies)
		}
		for _, m := range messages {
			if heard, err := l.hear(m); err != nil {
				return nil, err
			} else if heard {
				continue
			}
			i, err := l.take(m, replies)
			if err != nil {
				return nil, err
			}
			if err := l.sole(l.waiting[i].Slot.Name, m.From); err != nil {
				return nil, err
			}
			if seen[i] != "" {
				return nil, fmt.Errorf("client %q has replied twice to one call", m.From)
			}
			seen[i] = m.From
			missing--
		}
	}
	return replies, nil
}

// expendable reports whether a call has no reply, and the world may go on without its system.
func (l *link) expendable(i int, seen []string) bool {
	return seen[i] == "" && slices.Contains(l.degrade, l.waiting[i].Slot.Name)
}

// mayGo reports whether the world may go on without a system that has not replied.
func (l *link) mayGo(seen []string) bool {
	for i := range l.waiting {
		if l.expendable(i, seen) {
			return true
		}
	}
	return false
}

// goOn goes on without the systems that have not replied, as far as it may. It returns how many.
func (l *link) goOn(seen []string, replies []world.Reply) (n int) {
	for i := range l.waiting {
		if l.expendable(i, seen) {
			seen[i], replies[i].Gone = "nobody", true
			n++
		}
	}
	return n
}

// asks reports whether a message asks for a reset or a performer, and notes it.
func (l *link) asks(m client.Message) bool {
	if l.asksForPerformer(m) {
		return true
	}
	asks := l.resets != "" && m.Channel == l.resets
	l.asked = l.asked || asks
	return asks
}

// asksForPerformer reports whether a message names a model that is to be a performer, and notes it.
func (l *link) asksForPerformer(m client.Message) bool {
	asks := l.performers != "" && m.Channel == l.performers
	if asks {
		l.levels.SetPerformer(string(m.Payload))
	}
	return asks
}

// unasked is the error of a message that is the reply to nothing.
func unasked(m client.Message) error {
	if took := m.Due.Time - m.Sent.Time; took > 0 {
		return fmt.Errorf("client %q sent a reply on %s, which travelled %v, and the world has not waited for it; let the link from it to the world take no time", m.From, m.Channel, took)
	}
	return fmt.Errorf("client %q sent a reply on %s, but the world had not called that system; let only the runtime of the system publish there", m.From, m.Channel)
}

// take puts a reply at its place, which it returns.
func (l *link) take(m client.Message, replies []world.Reply) (int, error) {
	for i := range l.waiting {
		slot := l.waiting[i].Slot
		if _, channel := catalog.LockStepChannels(l.client.Name(), slot.Name); m.Channel != channel {
			continue
		}
		r, err := replyTo(&l.waiting[i], m)
		if err != nil {
			return i, err
		}
		replies[i] = world.Reply{Changes: r.changes, Phases: r.phases}
		return i, nil
	}
	return 0, unasked(m)
}

// again reports whether a message is an acknowledgement that has come before.
func (l *link) again(m client.Message) bool {
	a := l.acks[m.Channel]
	return a != nil && a.from == m.From && m.Seq < a.next
}

// measureEvery is after how many steps a world asks what its secondaries take: more of them make a measurement better, and what follows from it later.
const measureEvery = 100

// measure asks what the secondaries have taken, after some steps.
func (l *link) measure(iteration uint64) error {
	if l.meter.asks == nil || (iteration+1)%measureEvery != 0 {
		return nil
	}
	return l.meter.asks.Publish(nil)
}

// measured takes what a message says of costs. It reports whether it does.
func (l *link) measured(m client.Message) (bool, error) {
	if l.meter.asks == nil || m.Channel != l.meter.channel {
		return false, nil
	}
	if m.From != l.meter.from || len(m.Payload) != 8*l.meter.count {
		return true, fmt.Errorf("client %q says in %d bytes what secondaries take; let only %q publish on %s", m.From, len(m.Payload), l.meter.from, m.Channel)
	}
	cost := make([]int64, l.meter.count)
	for k := range cost {
		cost[k] = int64(binary.LittleEndian.Uint64(m.Payload[8*k:]))
	}
	l.primary.Measured(cost)
	return true, nil
}
