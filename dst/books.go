package dst

import (
	"fmt"
	"slices"

	"metasim/metasim"
)

// What a message counts beside its payload: once, and for each client that it waits for or that has it.
const (
	messageCost  = 64
	deliveryCost = 64
)

// observe notes an event and its effects.
func (b *books) observe(ev metasim.Event, effects []metasim.Effect, end metasim.Instant) {
	switch ev := ev.(type) {
	case *metasim.Advance:
		b.acknowledge(ev.Client, ev.Acked)
	case *metasim.PollWait:
		b.acknowledge(ev.Client, ev.Acked)
	case *metasim.Leave:
		b.leave(ev.Client)
	}
	var sent *held
	for _, e := range effects {
		switch e := e.(type) {
		case *metasim.Queue:
			a := &b.accounts[e.To]
			if a.gone || !e.Message.Due.Before(end) {
				continue
			}
			if sent == nil {
				sent = &held{from: e.Message.From, seq: e.Message.Seq, size: len(e.Message.Payload)}
				b.held += messageCost + sent.size
			}
			sent.users++
			b.held += deliveryCost
			a.queued = append(a.queued, sent)
			a.bytes += messageCost + deliveryCost + sent.size
		case *metasim.Deliver:
			b.accounts[e.To].give(&e.Message)
		case *metasim.Authorize:
			b.grants++
		}
	}
	b.peak = max(b.peak, b.held)
}

// give moves a message from what is queued to what was given.
func (a *account) give(m *metasim.Message) {
	a.last++
	i := slices.IndexFunc(a.queued, func(h *held) bool { return h.from == m.From && h.seq == m.Seq })
	if i < 0 {
		return // compare finds it
	}
	a.given = append(a.given, a.queued[i])
	a.queued = slices.Delete(a.queued, i, i+1)
}

func (b *books) acknowledge(id metasim.ClientID, number uint64) {
	a := &b.accounts[id]
	for len(a.given) > 0 && a.last-uint64(len(a.given)) < number {
		b.release(a, a.given[0])
		a.given = a.given[1:]
	}
}

func (b *books) leave(id metasim.ClientID) {
	a := &b.accounts[id]
	for _, h := range append(a.queued, a.given...) {
		b.release(a, h)
	}
	*a = account{gone: true}
}

func (b *books) release(a *account, h *held) {
	b.held -= deliveryCost
	a.bytes -= messageCost + deliveryCost + h.size
	if h.users--; h.users == 0 {
		b.held -= messageCost + h.size
	}
}

// compare compares the books with what the dispatcher says that it holds.
func (b *books) compare(d *metasim.Dispatcher) error {
	for i := range b.accounts {
		a, s := &b.accounts[i], d.Status(metasim.ClientID(i))
		b.short = b.short || s.Short
		if s.Queued != len(a.queued) || s.Given != len(a.given) || s.Held != a.bytes {
			return fmt.Errorf("the dispatcher holds %d messages for %s, which has %d more, %d bytes in all; by its events and effects these are %d, %d and %d",
				s.Queued, s.Name, s.Given, s.Held, len(a.queued), len(a.given), a.bytes)
		}
	}
	if d.Held() != b.peak {
		return fmt.Errorf("the dispatcher held %d bytes at most; by its events and effects it was %d", d.Held(), b.peak)
	}
	return nil
}
