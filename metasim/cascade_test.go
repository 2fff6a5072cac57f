package metasim

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A flood is clients that all hear one another without delay, and answer each message with so many.
type flood struct {
	t       *testing.T
	d       *Dispatcher
	answers int
	inbox   [][]Message
	acked   []uint64
	granted []Instant
	finish  *Finish
	held    int // messages that wait to be answered, at most
}

// newFlood begins with so many messages of the first client.
func newFlood(t *testing.T, first, clients, answers, cascade int) *flood {
	c := Config{Delays: apart(0), Cascade: cascade, Until: Second}
	for i := range clients {
		c.Clients = append(c.Clients, fmt.Sprint("c", i))
	}
	d, err := New(c)
	require.NoError(t, err)
	f := &flood{t: t, d: d, answers: answers, inbox: make([][]Message, clients), acked: make([]uint64, clients), granted: make([]Instant, clients)}
	for i := range clients {
		d.Step(&Join{Client: ClientID(i), Publications: []string{fmt.Sprint("X", i)}, Subscriptions: []string{fmt.Sprint("X", (i+1)%clients)}})
	}
	d.Step(&Begin{})
	for range first {
		f.send(0, Start)
	}
	for i := range clients {
		f.wait(i, Start)
	}
	return f
}

func (f *flood) carry(effects []Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case *Deliver:
			f.inbox[e.To] = append(f.inbox[e.To], e.Message)
		case *Authorize:
			f.granted[e.To] = e.Until
		case *Finish:
			require.Nil(f.t, f.finish, "a run ends once")
			f.finish = e
		}
	}
}

func (f *flood) send(i int, at Instant) {
	f.carry(f.d.Step(&Send{Client: ClientID(i), Channel: fmt.Sprint("X", i), Sent: at, Payload: make([]byte, 8)}))
}

func (f *flood) wait(i int, now Instant) {
	f.carry(f.d.Step(&PollWait{
		Client: ClientID(i), Report: Report{Now: now, NextEvent: Infinity, Acked: f.acked[i]}, Want: Infinity, Messages: true,
	}))
}

// run lets the clients answer, in turn, until the run ends or so many steps have been.
func (f *flood) run(steps int) {
	for range steps {
		f.carry(f.d.Settle())
		for i := range f.inbox {
			given := f.inbox[i]
			f.inbox[i] = nil
			for _, m := range given {
				f.acked[i]++
				for range f.answers {
					f.send(i, m.Due)
					if f.finish != nil {
						return
					}
				}
			}
			if len(given) > 0 {
				f.wait(i, given[len(given)-1].Due)
			}
		}
		f.held = max(f.held, len(f.d.store.messages)-len(f.d.store.free))
	}
}

// Messages without delay that double at each step end the run long before they fill the memory, and at the same step however many
// clients share in it.
func TestCascade(t *testing.T) {
	const bound = 1 << 20
	for _, clients := range []int{2, 3, 7} {
		f := newFlood(t, 1, clients, 2, bound)
		f.run(12) // without the bound 4096 messages would go round by then
		require.NotNil(t, f.finish)
		var e *CascadeError
		require.True(t, errors.As(f.finish.Err, &e), "%v", f.finish.Err)
		require.Equal(t, bound, e.Bound)
		require.Equal(t, Instant{Step: 10}, e.At, "1024 messages without delay at this step")
		require.Greater(t, e.Bytes, bound)
		for i := range clients {
			require.Contains(t, e.Cycle, fmt.Sprint("-> c", i), "%s", e.Cycle)
		}
		require.Contains(t, e.Error(), "give a link of it a delay")
		require.Contains(t, e.Error(), "raise cascade")
		require.Less(t, f.held, 2048)
	}
}

// farAway is apart(0), but that what client z hears takes a second.
type farAway struct{}

func (farAway) Link(_, to, _ string) Link {
	if to == "z" {
		return constant(Second)
	}
	return constant(0)
}

// A cascade that goes round in no cycle is told with a link that has no delay, and not with one that has.
func TestCascadeNamesALinkWithoutDelay(t *testing.T) {
	d, err := New(Config{Clients: []string{"a", "b", "c", "z"}, Delays: farAway{}, Cascade: 4096})
	require.NoError(t, err)
	d.Step(&Join{Client: 0, Publications: []string{"GO"}})
	d.Step(&Join{Client: 1, Publications: []string{"X"}, Subscriptions: []string{"GO"}})
	for id := range ClientID(2) {
		d.Step(&Join{Client: 2 + id, Subscriptions: []string{"X"}})
	}
	d.Step(&Begin{})
	d.Step(&Send{Client: 0, Channel: "GO"})
	for id := range ClientID(4) {
		d.Step(&PollWait{Client: id, Report: Report{NextEvent: Infinity}, Want: Infinity, Messages: true})
	}
	d.Settle()
	var ended error
	for range 4 {
		for _, e := range d.Step(&Send{Client: 1, Channel: "X", Sent: Instant{Step: 1}, Payload: make([]byte, 1024)}) {
			if f, ok := e.(*Finish); ok {
				ended = f.Err
			}
		}
	}
	var e *CascadeError
	require.ErrorAs(t, ended, &e)
	require.Equal(t, "b -X-> c (no cycle: a chain)", e.Cycle)
}

// What goes round without growing, what is sent at the first step, and what a greater bound allows do not end the run.
func TestCascadeLetsPass(t *testing.T) {
	f := newFlood(t, 1, 3, 1, 4096)
	f.run(500)
	require.Nil(t, f.finish, "it goes round")

	f = newFlood(t, 10_000, 2, 0, 1<<20)
	f.run(10)
	require.Nil(t, f.finish, "a burst at the first step")

	for bound, ends := range map[int]bool{1 << 20: true, 8 << 20: false, 0: false} {
		f = newFlood(t, 1, 2, 2, bound)
		f.run(12)
		require.Equal(t, ends, f.finish != nil, "a bound of %d", bound)
	}
}

// The instants that are counted are forgotten when nothing is left to happen there.
func TestCascadeForgets(t *testing.T) {
	f := newFlood(t, 1, 2, 1, 1<<20)
	f.d.config.MaxSteps = 1 << 30
	f.run(10_000)
	require.Nil(t, f.finish)
	require.Greater(t, f.acked[0], uint64(1000))
	require.LessOrEqual(t, cap(f.d.cascade.widths), 4*leastWidths)
}
