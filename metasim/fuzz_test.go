package metasim

import (
	"errors"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

var graphs = flag.Int("graphs", 50_000, "25 times the number of random byte strings that TestStepBytes tries")

// bytesOf reads a fuzzer's bytes; past the end all are zero.
type bytesOf []byte

func (b *bytesOf) next(n int) int {
	if len(*b) == 0 {
		return 0
	}
	x := int((*b)[0]) % n
	*b = (*b)[1:]
	return x
}

func (b *bytesOf) instant() Instant {
	switch x := b.next(40); x {
	case 39:
		return Infinity
	default:
		return Instant{Time: Time(x - 1), Step: uint32(b.next(2))}
	}
}

// event decodes one event: most of them lawful, so that runs get somewhere.
func (b *bytesOf) event(d *Dispatcher) Event {
	id := ClientID(b.next(len(d.clients)))
	for range d.clients { // one that has left seldom speaks
		if d.clients[id].state == gone && b.next(16) > 0 {
			id = (id + 1) % ClientID(len(d.clients))
		}
	}
	c := &d.clients[id]
	later := func(i Instant) Instant { return Instant{Time: i.Time.Add(Time(b.next(8))), Step: i.Step} }
	report := func() Report {
		r := Report{Now: c.clock, NoSendBefore: later(Later(c.floor, c.clock)), NextEvent: b.instant(), Acked: c.window.Acked()}
		switch b.next(64) {
		case 63:
			r = Report{Now: b.instant(), NoSendBefore: b.instant(), NextEvent: b.instant(), Acked: uint64(b.next(9))}
		default:
			if c.window.first() != Infinity {
				r.Acked++
				r.Now = Later(r.Now, c.window.first())
				r.NoSendBefore = Later(r.NoSendBefore, r.Now)
			}
		}
		return r
	}
	switch kind := b.next(64); {
	case kind == 63 && b.next(8) == 7:
		return &Join{Client: id, Publications: []string{"A"}, Subscriptions: []string{"A"}}
	case kind == 62 && b.next(4) == 3:
		return &Leave{Client: id, Now: c.clock, Acked: c.window.Acked(), Cut: b.next(2) == 1}
	case kind >= 59:
		return &Permit{Until: later(Earlier(d.permit, At(1000)))} // a lower one would lower what is safe
	case kind >= 56:
		return &Promise{Client: id, NoSendBefore: later(c.floor)}
	case kind >= 50:
		return &Advance{Client: id, Report: report()}
	case kind >= 32:
		at := Later(c.clock, c.promised())
		if wild := b.next(64) == 63; wild {
			at = b.instant()
		} else if !c.mayActAt(at) {
			break
		}
		return &Send{Client: id, Channel: "AB"[b.next(2):][:1], Sent: at, Payload: make([]byte, b.next(9))}
	}
	return &PollWait{Client: id, Report: report(), Want: later(Later(c.clock, c.granted)), Messages: b.next(3) > 0}
}

// watch is what a client may rely on, whatever the others do.
type watch struct {
	safe, granted Instant
	last          *Message
	number        uint64
}

// stepBytes runs what bytes make of a run, and returns how many messages were delivered. Whatever comes in, nothing
// panics, the ledger takes it, a violation ends the run and names a client, nothing follows a finish, safe
// times never fall, no client is given what is below its authorization, and while all wait some client may go on.
func stepBytes(t *testing.T, data []byte) uint64 {
	b := bytesOf(data)
	config := Config{Clients: []string{"a", "b", "c", "d"}[:1+b.next(4)], Until: Time(b.next(60)), Ahead: b.next(3) * 100}
	config.Delays = drawnDelays{seed: uint64(b.next(256))}
	d, err := New(config)
	require.NoError(t, err)
	ledger := NewLedger(d.Names())
	seen := make([]watch, len(d.clients))
	over := false
	look := func(ev Event, effects []Effect) {
		if over {
			require.Empty(t, effects, "nothing follows a finish")
		}
		ledger.Observe(ev, effects)
		for i, e := range effects {
			over = check(t, seen, e, i == len(effects)-1) || over
		}
	}
	for i := range d.clients {
		look(nil, d.Step(&Join{
			Client: ClientID(i), Publications: []string{"A", "B"},
			Subscriptions: []string{[]string{".*", "A", "B", "C"}[b.next(4)]}, Reaction: Time(b.next(4) - 1),
		}))
	}
	look(nil, d.Step(&Begin{}))
	for len(b) > 0 {
		ev := b.event(d)
		look(ev, d.Step(ev))
		if b.next(3) > 0 {
			continue
		}
		look(nil, d.Settle())
		if d.forest != nil && d.phase == running {
			require.True(t, slices.Equal(d.plainSafeTimes(), d.forestSafeTimes()), "the forest differs from the plain computation")
		}
		stuck := d.phase == running && d.permit == Infinity
		for i := range seen {
			if s := d.Status(ClientID(i)); !s.Gone && d.permit == Infinity {
				require.False(t, s.Safe.Before(seen[i].safe), "the safe time of %s fell", s.Name)
				seen[i].safe = s.Safe
				stuck = stuck && s.Waiting
			}
		}
		require.False(t, stuck, "all wait, and none was authorized")
	}
	var delivered uint64
	for i := range seen {
		delivered += seen[i].number
	}
	return delivered
}

func FuzzStep(f *testing.F) {
	f.Add([]byte("a run is what its clients make of it; most of them mean well, but not all of them do, all the time"))
	f.Add([]byte{3, 0, 2, 7, 0, 15, 1, 0, 0, 9, 5, 1, 1, 15, 1, 0, 9, 9, 5, 1, 2, 6, 0, 0, 0, 1, 15, 4, 4, 4, 4, 4})
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		f.Add(randomBytes(r))
	}
	f.Fuzz(func(t *testing.T, data []byte) { stepBytes(t, data) })
}

func randomBytes(r *rand.Rand) []byte {
	data := make([]byte, 1000)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// The same with random bytes, which come further than a fuzzer's in a short time.
func TestStepBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var delivered uint64
	for range *graphs / 25 {
		delivered += stepBytes(t, randomBytes(r))
	}
	require.Greater(t, delivered, uint64(*graphs/25), "hardly anything happens")
}

// check looks at one effect, and reports whether it ends the run.
func check(t *testing.T, seen []watch, e Effect, last bool) bool {
	switch e := e.(type) {
	case *Deliver:
		w := &seen[e.To]
		require.False(t, e.Message.Due.Before(w.granted), "below the authorization")
		require.True(t, w.last == nil || w.last.Compare(&e.Message) <= 0, "out of order")
		w.number++
		require.Equal(t, w.number, e.Number)
		w.last = &keep([]Effect{e})[0].(*Deliver).Message
	case *Authorize:
		require.False(t, e.Until.Before(seen[e.To].granted), "an authorization fell")
		seen[e.To].granted = e.Until
	case *Finish:
		var v *Violation
		var s *StepsError
		require.True(t, e.Err == nil || errors.As(e.Err, &v) || errors.As(e.Err, &s), "it names no client: %v", e.Err)
		require.True(t, last, "a finish comes last")
		return true
	case *Evict:
		require.False(t, last, "a finish follows")
	}
	return false
}
