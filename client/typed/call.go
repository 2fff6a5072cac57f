package typed

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"time"

	"metasim/client"
	"metasim/metasim"
)

// NoLimit is the time limit of a request that waits for its answer until the run ends.
const NoLimit = time.Duration(math.MaxInt64)

// NewCaller declares that the client asks a service. A client has one Caller for a service.
func NewCaller[Q, A any](b *client.Builder, service string, request Codec[Q], answer Codec[A]) (*Caller[Q, A], error) {
	call, reply, err := channels(service)
	if err == nil && b.Publishes(call) {
		err = fmt.Errorf("the client has a Caller of service %q already; use that one", service)
	}
	if err != nil {
		return nil, err
	}
	c := &Caller[Q, A]{service: service, out: b.Publication(call), request: request, answer: answer, open: map[uint64]*Pending[A]{}}
	return c, b.Input(reply, c)
}

// Start sends a request at the client's present instant. The time limit is simulated time, from now on; an answer that arrives at its end
// still counts. Several requests may be on their way, and their answers may come in another order.
func (c *Caller[Q, A]) Start(request Q, limit time.Duration) (*Pending[A], error) {
	if limit <= 0 {
		return nil, fmt.Errorf("a request to service %q with the time limit %v; use a positive duration, or NoLimit", c.service, limit)
	}
	b, err := encode(c.request, binary.LittleEndian.AppendUint64(c.memory[:0], c.next), c.out.Channel(), request)
	if err != nil {
		return nil, err
	}
	c.memory = b
	if err := c.out.Publish(b); err != nil {
		return nil, err
	}
	number, now := c.next, c.out.Client().Now()
	c.next++
	p := &Pending[A]{client: c.out.Client(), service: c.service, asked: now, deadline: metasim.At(now.Time.Add(metasim.Time(limit)))}
	p.forget = func() { delete(c.open, number) }
	if len(c.open) >= c.sweep { // those that nobody asks for any more
		c.forgetThoseOver()
		c.sweep = 2*len(c.open) + leastOpen
	}
	c.open[number] = p
	return p, nil
}

// forgetThoseOver forgets the requests whose time is over.
func (c *Caller[Q, A]) forgetThoseOver() {
	maps.DeleteFunc(c.open, func(_ uint64, p *Pending[A]) bool { return p.over() })
}

// leastOpen is how many requests are open before those are looked for whose time is over.
const leastOpen = 64

// Call sends a request and waits for its answer: the client advances to the instant at which it arrives, or to the end of the time
// limit, as Await does. It is for loops; a handler of Run cannot wait, and calls Go. Where the run ends before, Call returns client.ErrEnd. A wait that
// may be interrupted needs Start and Wait: Call would send a second request.
func (c *Caller[Q, A]) Call(ctx context.Context, request Q, limit time.Duration) (A, error) {
	p, err := c.Start(request, limit)
	if err != nil {
		var none A
		return none, err
	}
	return p.Wait(ctx)
}

var errWaitInside = errors.New("a handler of Run cannot wait for an answer; use Go, which calls a function when it is there")

var errGoOutside = errors.New("Go is called by handlers and timers of Run; before Run set a timer for it (After(0, ...)), and in a loop use Start or Call")

// Go sends a request, for a client that Run drives: then is called at the instant at which the answer arrives, or with a *LimitError
// at the end of the time limit. An error that it returns ends Run.
func (c *Caller[Q, A]) Go(request Q, limit time.Duration, then func(answer A, err error) error) error {
	if cl := c.out.Client(); cl != nil && !cl.InRun() {
		return fmt.Errorf("service %q: %w", c.service, errGoOutside)
	}
	p, err := c.Start(request, limit)
	if err != nil {
		return err
	}
	limitTimer := p.client.AtInstant(p.deadline, func() error {
		p.expire()
		return then(p.answer, p.err)
	})
	p.then = func() error {
		limitTimer.Stop()
		return then(p.answer, p.err)
	}
	return nil
}

// Take implements client.Input: it takes an answer.
func (c *Caller[Q, A]) Take(m client.Message) error {
	number, kind, to, body, ok := parseReply(m.Payload)
	if !ok {
		return &DecodeError{Message: m, Type: "answer of a service", Err: errEnvelope}
	}
	p := c.open[number]
	if p == nil || !p.client.Is(to) || p.deadline.Before(m.Due) {
		return nil // for another client, the second one, or too late
	}
	p.forget()
	p.answered, p.came = true, m.Due
	if kind == refusal {
		p.err = &RefusedError{Service: c.service, From: m.From, Text: string(body)}
	} else if v, err := decode(c.answer, m, body); err != nil {
		p.err = err
	} else {
		p.answer = v.Value
	}
	if p.then != nil {
		return p.then()
	}
	return nil
}

// Save implements client.Saver. There is no checkpoint while a request waits for its answer, and its time is not over.
func (c *Caller[Q, A]) Save() ([]byte, error) {
	c.forgetThoseOver()
	if len(c.open) > 0 {
		return nil, fmt.Errorf("%d requests to service %q are not answered", len(c.open), c.service)
	}
	return binary.AppendUvarint(nil, c.next), nil
}

// Restore implements client.Saver.
func (c *Caller[Q, A]) Restore(state []byte) error {
	next, n := binary.Uvarint(state)
	if n <= 0 {
		return errEnvelope
	}
	c.next = next
	return nil
}

// Result returns the answer; done is false while it is neither there nor refused, and its time is not over. A refusal is a *RefusedError.
func (p *Pending[A]) Result() (answer A, done bool, err error) {
	p.look()
	return p.answer, p.answered, p.err
}

// look sees whether the time limit is over.
func (p *Pending[A]) look() {
	if !p.answered && p.over() {
		p.expire()
	}
}

// over reports whether the time limit is over: whatever arrived at it or before has been given to the client.
func (p *Pending[A]) over() bool { return p.deadline.Before(p.client.Given()) }

// At returns the instant at which the answer arrived, or at which its time was over. It is the start of the run while Result is not done.
func (p *Pending[A]) At() metasim.Instant { return p.came }

// Wait advances to the instant of the answer, as Call does.
func (p *Pending[A]) Wait(ctx context.Context) (A, error) {
	if p.client.InRun() {
		return p.answer, fmt.Errorf("service %q: %w", p.service, errWaitInside)
	}
	if p.look(); !p.answered {
		if err := p.client.Await(ctx, p.deadline.Time, func() bool { return p.answered }); err != nil {
			return p.answer, err
		}
	}
	answer, _, err := p.Result()
	return answer, err
}

func (p *Pending[A]) expire() {
	p.forget()
	p.answered, p.came = true, p.deadline
	p.err = &LimitError{Service: p.service, Asked: p.asked, Limit: p.deadline}
}
