package metasim

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// checkHeld compares the roots by which waits are counted with those of the chains.
func (n *network) checkHeld(chains [][]Hold) error { return checkHeld(n.d, chains) }

// checkRoots does so for the chains of now.
func checkRoots(d *Dispatcher) error {
	var chains [][]Hold
	for i := range d.clients {
		chains = append(chains, d.Blame(nil, ClientID(i)))
	}
	return checkHeld(d, chains)
}

func checkHeld(d *Dispatcher, chains [][]Hold) error {
	h := NewHeldTimes(d)
	h.look = 1
	for i, chain := range chains {
		want := noClient
		if k := len(chain) - 1; k >= 0 && chain[k].Reason != Paused && (k > 0 || chain[k].Reason != NoCredit) {
			want = chain[k].From
		}
		if got := h.root(ClientID(i)); d.clients[i].state != gone && got != want {
			return fmt.Errorf("the root of %s is %d, not %d: %+v", d.clients[i].name, got, want, chain)
		}
	}
	return nil
}

// crowd is a source and many clients that hear it, in a ring: each hears the one before it too. All wait but the source.
func crowd(t testing.TB, n int) *Dispatcher {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("c%05d", i))
	}
	d, err := New(Config{Clients: names, Delays: apart(1)})
	require.NoError(t, err)
	for i := range n {
		d.Step(&Join{Client: ClientID(i), Publications: []string{fmt.Sprint(i)}, Subscriptions: []string{fmt.Sprint((i + n - 1) % n)}})
	}
	d.Step(&Begin{})
	for i := range n - 1 {
		d.Step(&PollWait{Client: ClientID(i + 1), Report: Report{NextEvent: Infinity}, Want: Infinity, Messages: true})
	}
	d.Step(&PollWait{Client: 0, Report: Report{NextEvent: At(1)}, Want: At(1)})
	d.Settle()
	return d
}

// Waits are counted for the client at the end of the chain, from the first on, and not while nobody is held back.
func TestHeldTimes(t *testing.T) {
	const ms = 1_000_000
	d, err := New(Config{Clients: []string{"a", "b", "c"}, Delays: apart(5)})
	require.NoError(t, err)
	h := NewHeldTimes(d)
	d.Step(&Join{Client: 0, Publications: []string{"A"}})
	d.Step(&Join{Client: 1, Publications: []string{"B"}, Subscriptions: []string{"A"}})
	d.Step(&Join{Client: 2, Subscriptions: []string{"B"}})
	h.Until(50 * ms)
	d.Step(&Begin{})
	wait := func(id ClientID, now, next Instant) {
		d.Step(&PollWait{Client: id, Report: Report{Now: now, NextEvent: next}, Want: next, Messages: true})
		d.Settle()
	}
	wait(1, Start, Infinity)
	wait(2, Start, Infinity)
	near := func(want int64, id ClientID) { require.InDelta(t, want, h.By(id), ms/10, "client %d", id) }
	h.Until(60 * ms)
	near(20*ms, 0) // it initializes, and two wait
	wait(0, Start, At(10))
	h.Until(70 * ms)
	near(40*ms, 0) // it computes; the third waits for the second, which waits for it
	near(0, 1)

	d.Step(&Permit{Until: At(10)})
	d.Step(&Advance{Client: 0, Report: Report{Now: At(9), NextEvent: At(20)}})
	d.Settle()
	h.Until(80 * ms)
	near(40*ms, 0) // the run is permitted to go no further: no client holds them
}

// However many clients wait, a count takes no memory, and no more than its part of the time: the ticks grow with it.
func TestHeldTimesCostLittle(t *testing.T) {
	for _, n := range []int{3, 1000} {
		d := crowd(t, n)
		h := NewHeldTimes(d)
		now := int64(0)
		h.Until(now)
		looks := h.look
		require.Zero(t, testing.AllocsPerRun(100, func() {
			now += h.tick
			h.Until(now)
		}))
		require.Equal(t, uint32(101), h.look-looks)
		looks = h.look
		for range n * 100 {
			now += lookShare / 100
			h.Until(now)
		}
		require.LessOrEqual(t, h.look-looks, uint32(1), "as if the clock had been read a hundred times as often")
	}
}

// BenchmarkHeldTimes is a look at all clients, and what part of a tick that is.
func BenchmarkHeldTimes(b *testing.B) {
	for _, n := range []int{3, 40, 1000} {
		b.Run(fmt.Sprintf("%d clients", n), func(b *testing.B) {
			h := NewHeldTimes(crowd(b, n))
			now := int64(0)
			b.ReportAllocs()
			for b.Loop() {
				now += h.tick
				h.Until(now)
			}
			b.ReportMetric(100*float64(b.Elapsed().Nanoseconds())/float64(now), "%of-the-time")
		})
	}
}
