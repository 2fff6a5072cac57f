package metasim

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a client sees, and that the run ends, depends on no bound: see newNetwork. Here it is shown that the bound was felt.
func TestInterleaveMemory(t *testing.T) {
	var starved, bounded, unlimited int
	for _, seed := range upTo(*seeds) {
		peak := func(order uint64) int {
			n, err := newNetwork(newWorld(seed), order, "")
			require.NoError(t, err)
			require.NoError(t, n.run(), "seed %d", seed)
			starved += n.starved
			again, err := New(n.config)
			require.NoError(t, err)
			for i, c := range n.journal {
				effects := again.Settle
				if c.event != nil {
					effects = func() []Effect { return again.Step(c.event) }
				}
				require.Equal(t, c.effects, said(effects()), "seed %d, call %d: %#v", seed, i, c.event)
			}
			require.Zero(t, n.d.memory.held, "seed %d: all was handled or will never be", seed)
			return n.d.Held()
		}
		bounded += peak(1)
		peak(2)
		peak(3)
		unlimited += peak(unbounded)
	}
	require.Greater(t, starved, *seeds, "nobody waits for memory")
	require.Less(t, bounded, unlimited)
	t.Logf("clients waited %d times; %d bytes at most, and %d without a bound", starved, bounded, unlimited)
}

// A race is a client that sends at each nanosecond as soon as it may, and one that hears it and handles as much as it is told to.
type race struct {
	t              *testing.T
	d              *Dispatcher
	granted        Instant // of the sender
	next           Time    // when it sends next
	given, handled uint64
	dues           []Instant
}

const raceEnd = 20_000

func newRace(t *testing.T, memory int) *race {
	d, err := New(Config{Clients: []string{"slow", "fast"}, Delays: apart(5), Until: raceEnd, Memory: memory})
	require.NoError(t, err)
	r := &race{t: t, d: d, next: 1}
	r.carry(d.Step(&Join{Client: 0, Publications: []string{"X"}}))
	r.carry(d.Step(&Join{Client: 1, Subscriptions: []string{"X"}}))
	r.carry(d.Step(&Begin{}))
	r.poll()
	r.hear(0)
	return r
}

func (r *race) carry(effects []Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case *Authorize:
			if e.To == 0 {
				r.granted = e.Until
			}
		case *Deliver:
			r.given++
			r.dues = append(r.dues, e.Message.Due)
		case *Finish:
			require.NoError(r.t, e.Err)
		}
	}
}

func (r *race) poll() {
	r.carry(r.d.Step(&PollWait{Client: 0, Report: Report{Now: At(r.next - 1), NextEvent: At(r.next)}, Want: At(r.next)}))
	r.carry(r.d.Settle())
}

// send sends as far as the sender is authorized, and reports whether that was anywhere.
func (r *race) send() bool {
	before := r.next
	for ; At(r.next).Before(r.granted) && r.next < raceEnd-5; r.next++ {
		r.carry(r.d.Step(&Send{Client: 0, Channel: "X", Sent: At(r.next), Payload: make([]byte, 1000)}))
		if r.next%10 == 0 {
			r.carry(r.d.Settle())
		}
	}
	if r.next > before {
		r.poll()
	}
	return r.next > before
}

// hear handles what the other client was given, but no more than so many.
func (r *race) hear(most uint64) {
	r.handled = min(r.given, r.handled+most)
	now := Start
	if r.handled > 0 {
		now = r.dues[r.handled-1]
	}
	r.carry(r.d.Step(&PollWait{
		Client: 1, Report: Report{Now: now, NextEvent: Infinity, Acked: r.handled}, Want: Infinity, Messages: true,
	}))
	r.carry(r.d.Settle())
}

// A client that sends 20 MB is far ahead of one that handles nothing, unless memory is bounded. Then it waits, and goes on as the
// other one does: to the end.
func TestMemoryKeepsTheFastBack(t *testing.T) {
	free := newRace(t, 0)
	for free.send() {
	}
	require.Greater(t, free.d.Held(), 20_000_000)

	const bound = 1 << 20
	r := newRace(t, bound)
	for r.send() {
	}
	require.True(t, r.d.Status(0).Short)
	require.Equal(t, []ClientID{0}, r.d.Short())
	held := r.d.Held()
	require.Greater(t, held, bound/4)
	chain := r.d.Blame(nil, 0)
	require.Len(t, chain, 1)
	require.Equal(t, Memory, chain[0].Reason)
	require.Equal(t, Hop{From: 1, To: 0}, chain[0].Hop)
	require.Greater(t, chain[0].Due.Time-chain[0].Send.Time, Time(100), "the sender is that far ahead")
	waits := 0
	for r.next < raceEnd-5 {
		if !r.send() {
			waits++
			r.hear(50)
		}
	}
	require.Greater(t, waits, 100)
	require.Less(t, r.d.Held(), bound)
	for r.handled < raceEnd-6 {
		r.hear(1000)
	}
}

// Before a Settle has looked, Blame says already that a client will wait for memory.
func TestMemoryIsBlamedBeforeASettle(t *testing.T) {
	r := newRace(t, 1<<20)
	for waits := false; !waits; {
		for ; At(r.next).Before(r.granted); r.next++ {
			r.carry(r.d.Step(&Send{Client: 0, Channel: "X", Sent: At(r.next), Payload: make([]byte, 1000)}))
		}
		r.carry(r.d.Step(&PollWait{Client: 0, Report: Report{Now: At(r.next - 1), NextEvent: At(r.next)}, Want: At(r.next)}))
		before := r.d.Blame(nil, 0)
		require.False(t, r.d.Status(0).Short, "no Settle has looked")
		r.carry(r.d.Settle())
		if waits = r.d.Status(0).Short; waits {
			require.Equal(t, before, r.d.Blame(nil, 0))
			require.Equal(t, Memory, before[0].Reason)
		} else {
			require.Empty(t, before)
		}
	}
}

// A client that waits for memory, and then says that it sends nothing more, does not wait for memory any more.
func TestMemoryIsNoMatterToWhoSendsNoMore(t *testing.T) {
	r := newRace(t, 1<<20)
	for r.send() {
	}
	require.Equal(t, []ClientID{0}, r.d.Short())
	r.carry(r.d.Step(&PollWait{Client: 0, Report: Report{Now: At(r.next - 1), NoSendBefore: Infinity, NextEvent: Infinity}, Want: Infinity}))
	r.carry(r.d.Settle())
	require.Empty(t, r.d.Short())
	require.False(t, r.d.Status(0).Short)
	require.Equal(t, At(raceEnd), r.granted, "nothing reaches it before the end")
	for r.handled < r.given {
		r.hear(1000)
	}
	require.Zero(t, r.d.memory.held)
}

// A client that waits for memory waits for whoever holds up the slowest one: the chain goes on to that client, and its time counts there.
func TestMemoryBlamesTheRoot(t *testing.T) {
	d, err := New(Config{Clients: []string{"clock", "fast", "slow"}, Delays: apart(5), Memory: 1 << 20})
	require.NoError(t, err)
	d.Step(&Join{Client: 0, Publications: []string{"TICK"}})
	d.Step(&Join{Client: 1, Publications: []string{"X"}})
	d.Step(&Join{Client: 2, Subscriptions: []string{"TICK", "X"}})
	d.Step(&Begin{})
	d.Step(&PollWait{Client: 0, Report: Report{NextEvent: At(1)}, Want: At(1)})
	d.Step(&PollWait{Client: 1, Report: Report{NextEvent: At(1)}, Want: At(1)})
	d.Step(&PollWait{Client: 2, Report: Report{NextEvent: Infinity}, Want: Infinity, Messages: true})
	d.Settle()
	for sent := Time(1); !d.Status(1).Short; sent++ { // the clock computes at 1
		d.Step(&Send{Client: 1, Channel: "X", Sent: At(sent), Payload: make([]byte, 1000)})
		d.Step(&PollWait{Client: 1, Report: Report{Now: At(sent), NextEvent: At(sent + 1)}, Want: At(sent + 1)})
		d.Settle()
	}
	chain := d.Blame(nil, 1)
	require.Len(t, chain, 2)
	require.Equal(t, Hop{From: 2, To: 1}, chain[0].Hop)
	require.Equal(t, Memory, chain[0].Reason)
	require.True(t, chain[0].Blocked)
	require.Equal(t, Hop{From: 0, To: 2, Channel: "TICK", Min: 5}, chain[1].Hop)
	require.False(t, chain[1].Blocked)
	h := NewHeldTimes(d)
	h.Until(1_000_000)
	require.Equal(t, []int64{2_000_000, 0, 0}, h.by, "both wait for the clock")
}

// What a link takes a second to carry has to be on its way for a second, whatever the bound.
func TestMemoryLetsPassWhatMustBeOnItsWay(t *testing.T) {
	r := newRace(t, 1)
	for r.next < raceEnd-5 {
		if !r.send() {
			r.hear(1)
		}
	}
	require.Greater(t, r.d.Held(), 1)
	require.Less(t, r.d.Held(), 100_000)
}

// A client that sends without end at one instant ends the run.
func TestMemoryError(t *testing.T) {
	d := pair(t, 5)
	d.config.Memory = 1000
	payload := make([]byte, 1<<20)
	var finish *Finish
	for range 100 {
		for _, e := range d.Step(&Send{Client: 0, Channel: "X", Sent: Start, Payload: payload}) {
			if f, ok := e.(*Finish); ok {
				finish = f
			}
		}
	}
	require.NotNil(t, finish)
	var e *MemoryError
	require.True(t, errors.As(finish.Err, &e))
	require.Equal(t, leastBurst, e.Bound)
	require.Contains(t, e.Error(), "at 0s alone")
	require.Contains(t, e.Error(), "raise memory")
}

// A client that has a bound of its own is given no more than that ahead, whatever the others are given.
func TestAheadOf(t *testing.T) {
	d, err := New(Config{Clients: []string{"fast", "near", "slow"}, Delays: apart(5), AheadOf: map[string]int{"slow": 10_000}, Memory: DefaultMemory})
	require.NoError(t, err)
	d.Step(&Join{Client: 0, Publications: []string{"X"}})
	for id := range ClientID(2) {
		d.Step(&Join{Client: id + 1, Subscriptions: []string{"X"}})
	}
	d.Step(&Begin{})
	d.Step(&PollWait{Client: 0, Report: Report{NextEvent: At(1)}, Want: At(1)})
	for id := range ClientID(2) {
		d.Step(&PollWait{Client: id + 1, Report: Report{NextEvent: Infinity}, Want: Infinity, Messages: true})
	}
	d.Settle()
	sent := Time(1)
	for range 100 {
		for ; At(sent).Before(d.clients[0].granted) && sent < 2000; sent++ {
			d.Step(&Send{Client: 0, Channel: "X", Sent: At(sent), Payload: make([]byte, 1000)})
		}
		d.Step(&PollWait{Client: 0, Report: Report{Now: At(sent - 1), NextEvent: At(sent)}, Want: At(sent)})
		d.Settle()
	}
	require.Equal(t, Time(2000), sent)
	require.Greater(t, d.clients[1].window.Size(), 500_000)
	require.GreaterOrEqual(t, d.clients[2].window.Size(), 10_000)
	require.Less(t, d.clients[2].window.Size(), 12_000)

	_, err = New(Config{Clients: []string{"a"}, AheadOf: map[string]int{"a": -1}})
	require.ErrorContains(t, err, `client "a" may be given -1 bytes ahead`)
}

// What a client of a nested run sends is bounded as what others send, though its safe time does not limit its proxy.
func TestMemoryBoundsProxies(t *testing.T) {
	const bound = 1 << 20
	d, err := New(Config{Clients: []string{"fast", "gate", "slow"}, Groups: [][]string{{"gate", "fast"}}, Delays: apart(5), Until: raceEnd, Memory: bound})
	require.NoError(t, err)
	d.Step(&Join{Client: 0, Publications: []string{"X"}})
	d.Step(&Join{Client: 1, Subscriptions: []string{"Y"}})
	d.Step(&Join{Client: 2, Publications: []string{"Y"}, Subscriptions: []string{"X"}})
	d.Step(&Begin{})
	for id := range ClientID(2) {
		d.Step(&PollWait{Client: 1 + id, Report: Report{NextEvent: Infinity}, Want: Infinity, Messages: true})
	}
	sent := Time(0)
	for range 100 {
		d.Step(&PollWait{Client: 0, Report: Report{Now: At(sent), NextEvent: At(sent + 1)}, Want: At(sent + 1), Messages: true})
		d.Settle()
		for ; At(sent + 1).Before(d.clients[0].granted); sent++ {
			d.Step(&Send{Client: 0, Channel: "X", Sent: At(sent + 1), Payload: make([]byte, 1000)})
		}
	}
	require.True(t, d.Status(0).Short)
	require.Equal(t, []Hold{{Hop: Hop{From: 2, To: 0}, Reason: Memory}}, func() []Hold {
		h := d.Blame(nil, 0)
		return []Hold{{Hop: h[0].Hop, Reason: h[0].Reason}}
	}())
	require.Greater(t, d.Held(), bound/4)
	require.Less(t, d.Held(), bound)
}

// A client acts before its Credit, and goes on when it has more. One that waits for the end needs none.
func TestMemoryCredit(t *testing.T) {
	d := pair(t, 5)
	until := func(want Instant) Instant {
		d.Step(&PollWait{Client: 0, Report: Report{NextEvent: want}, Want: want})
		d.Settle()
		return d.clients[0].granted
	}
	d.Step(&PollWait{Client: 1, Report: Report{NextEvent: Infinity}, Want: Infinity})
	d.Step(&Credit{Client: 0, Until: Start})
	require.Equal(t, Start, until(At(1)))
	wants := Hold{Hop: Hop{From: 0, To: 0}, Reason: NoCredit, Due: Start}
	require.Equal(t, []Hold{wants}, d.Blame(nil, 0))
	chain := d.Blame(nil, 1)
	require.Len(t, chain, 2)
	require.Equal(t, Hop{From: 0, To: 1, Channel: "X", Min: 5}, chain[0].Hop)
	require.True(t, chain[0].Blocked)
	require.Equal(t, wants, chain[1])
	require.NoError(t, checkRoots(d))
	d.Step(&Credit{Client: 0, Until: At(3)})
	d.Settle()
	require.Equal(t, At(3), d.clients[0].granted)
	require.Equal(t, At(3), until(At(3)))
	d.Step(&Credit{Client: 0, Until: At(4)})
	require.Equal(t, At(3), until(At(5)), "what it waits for lies beyond")
	require.Equal(t, At(4), d.Blame(nil, 0)[0].Due)
	d.Step(&Credit{Client: 0, Until: At(10)})
	d.Settle()
	require.Equal(t, At(10), d.clients[0].granted)
	require.Empty(t, d.Blame(nil, 0))
	require.Equal(t, Infinity, until(Infinity))
}

// Where a client that waits for credit may hear something before it sends, whoever may send it that holds up others, and not the credit.
func TestMemoryCreditOnTheWay(t *testing.T) {
	d, err := New(Config{Clients: []string{"a", "b", "c"}, Delays: apart(5)})
	require.NoError(t, err)
	d.Step(&Join{Client: 0, Publications: []string{"X"}})
	d.Step(&Join{Client: 1, Publications: []string{"Y"}, Subscriptions: []string{"X"}})
	d.Step(&Join{Client: 2, Subscriptions: []string{"Y"}})
	d.Step(&Begin{})
	d.Step(&Credit{Client: 1, Until: Start})
	d.Step(&PollWait{Client: 0, Report: Report{NextEvent: At(1)}, Want: At(1)})
	d.Step(&PollWait{Client: 1, Report: Report{NextEvent: At(100)}, Want: At(3), Messages: true})
	d.Step(&PollWait{Client: 2, Report: Report{NextEvent: Infinity}, Want: Infinity, Messages: true})
	d.Settle()
	require.Equal(t, []Hold{{Hop: Hop{From: 1, To: 1}, Reason: NoCredit, Due: Start}}, d.Blame(nil, 1))
	chain := d.Blame(nil, 2)
	require.Len(t, chain, 2)
	require.Equal(t, Heard, chain[0].Reason)
	require.Equal(t, Hop{From: 0, To: 1, Channel: "X", Min: 5}, chain[1].Hop)
	require.NoError(t, checkRoots(d))
}
