package metasim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/internal/pq"
)

// anyMessage draws messages of which many are equal in part.
func anyMessage() *rapid.Generator[Message] {
	few := rapid.Custom(func(t *rapid.T) Instant {
		return Instant{Time: Time(rapid.IntRange(0, 2).Draw(t, "time")), Step: rapid.Uint32Range(0, 1).Draw(t, "step")}
	})
	return rapid.Custom(func(t *rapid.T) Message {
		return Message{
			From: ClientID(rapid.IntRange(0, 2).Draw(t, "from")), Seq: rapid.Uint64Range(0, 2).Draw(t, "seq"),
			Sent: few.Draw(t, "sent"), Due: few.Draw(t, "due"),
		}
	})
}

func TestMessageCompare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := anyMessage().Draw(t, "a"), anyMessage().Draw(t, "b"), anyMessage().Draw(t, "c")
		require.Equal(t, a.Compare(&b), -b.Compare(&a), "antisymmetric")
		if a.Compare(&b) <= 0 && b.Compare(&c) <= 0 {
			require.LessOrEqual(t, a.Compare(&c), 0, "transitive")
		}
		same := a.From == b.From && a.Seq == b.Seq && a.Sent == b.Sent && a.Due == b.Due
		require.Equal(t, same, a.Compare(&b) == 0, "only copies are equal")
	})
	// In this order each of these comes first for another reason: due, sent, sender, number.
	ordered := []Message{
		{Due: At(1), Sent: At(1), From: 1, Seq: 9},
		{Due: At(2), Sent: At(0), From: 9, Seq: 9},
		{Due: At(2), Sent: At(1), From: 1, Seq: 9},
		{Due: At(2), Sent: At(1), From: 2, Seq: 0},
		{Due: At(2), Sent: At(1), From: 2, Seq: 1},
	}
	require.True(t, slices.IsSortedFunc(ordered, func(a, b Message) int { return a.Compare(&b) }))
}

// newPQ is a pq.Queue of messages: the twin of a queue, and what it is measured against.
func newPQ() *pq.Queue[Message] {
	return &pq.Queue[Message]{Less: func(a, b *Message) bool { return a.Compare(b) < 0 }}
}

// A soleQueue is a queue whose store is for it alone.
type soleQueue struct{ queue }

func newQueue() *soleQueue { return &soleQueue{queue{store: new(store)}} }

func (q *soleQueue) push(m Message) { q.queue.push(&m, q.store.add(&m)) }

func (q *soleQueue) pop() Message {
	m, place := q.queue.pop()
	q.store.remove(place)
	return m
}

// A queue does what a sorted slice would, and so does its twin.
func TestQueueTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue()
		twin := newPQ()
		var plain []Message
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if len(plain) > 0 && rapid.Bool().Draw(t, "pop") {
				require.Equal(t, plain[0], q.pop())
				require.Equal(t, plain[0], twin.Pop())
				plain = plain[1:]
			} else {
				m := anyMessage().Draw(t, "m")
				q.push(m)
				twin.Push(m)
				plain = append(plain, m)
				slices.SortStableFunc(plain, func(a, b Message) int { return a.Compare(&b) })
			}
			require.Equal(t, len(plain), q.len())
			if len(plain) == 0 {
				require.Equal(t, Infinity, q.due())
			} else {
				require.Equal(t, plain[0].Due, q.due())
			}
		}
	})
}

// A queue holds on to no message that it has given away, and takes no new memory for the next one.
func TestQueueMemory(t *testing.T) {
	q := newQueue()
	for i := range 100 {
		q.push(Message{Due: At(Time(i % 7)), Payload: []byte{1}})
	}
	for q.len() > 0 {
		q.pop()
	}
	for _, m := range q.store.messages[:cap(q.store.messages)] {
		require.Nil(t, m.payload)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for i := range 100 {
			q.push(Message{Due: At(Time(i % 7))})
		}
		for q.len() > 0 {
			q.pop()
		}
	}))
}

// BenchmarkQueue takes the next message out and puts one in, as a run at rest does; alike: a tenth of the queue is due at
// each instant.
func BenchmarkQueue(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000, 10_000} {
		for _, alike := range []bool{false, true} {
			name := fmt.Sprintf("n=%d", n)
			if alike {
				name += "/alike"
			}
			delay := func() func() Time {
				r := rand.New(rand.NewPCG(1, 1))
				if alike {
					return func() Time { return Time(1 + r.IntN(10)) }
				}
				return func() Time { return Time(1 + r.ExpFloat64()*1e6) }
			}
			b.Run(name+"/heap=own", func(b *testing.B) {
				q := newQueue()
				churn(b, n, delay(), q.push, q.pop)
			})
			b.Run(name+"/heap=pq", func(b *testing.B) {
				q := newPQ()
				churn(b, n, delay(), q.Push, q.Pop)
			})
		}
	}
}

func churn(b *testing.B, n int, delay func() Time, push func(Message), pop func() Message) {
	for i := range n {
		push(Message{Due: At(delay()), From: ClientID(i)})
	}
	b.ReportAllocs()
	for b.Loop() {
		m := pop()
		m.Seq++
		m.Due = m.Due.Add(delay())
		push(m)
	}
}

// The memory of a burst is returned: of the queue, of the store, and of the effects.
func TestBurstIsGivenBack(t *testing.T) {
	const burst = 200_000
	d := pair(t, 5)
	for range burst {
		d.Step(&Send{Client: 0, Channel: "X", Sent: Start})
	}
	var acked uint64
	now := Start
	for k := range Time(3000) {
		d.Step(&PollWait{Client: 0, Report: Report{Now: At(k), NextEvent: At(k + 1)}, Want: At(k + 1)})
		d.Step(&PollWait{Client: 1, Report: Report{Now: now, NextEvent: Infinity, Acked: acked}, Want: Infinity, Messages: true})
		for _, e := range d.Settle() {
			if m, ok := e.(*Deliver); ok {
				acked, now = m.Number, m.Message.Due
				require.Equal(t, m.Number-1, m.Message.Seq, "a message is found where it was put")
			}
		}
		d.Step(&Send{Client: 0, Channel: "X", Sent: At(k + 1)})
	}
	require.Greater(t, acked, uint64(burst+1000))
	to := &d.clients[1]
	for what, left := range map[string]int{
		"store": cap(d.store.messages), "free": cap(d.store.free), "queue": cap(to.queue.heap), "window": cap(to.window.given.All()),
		"places": cap(to.given.All()), "effects": cap(d.effects.list) / (leastEffects / leastKept),
	} {
		require.LessOrEqual(t, left, 2*leastKept, what)
	}
}

// When a burst is over, the messages that are left get other places. What a client was given and has not handled is among them.
func TestABurstMovesWhatWasGiven(t *testing.T) {
	d, err := New(Config{Clients: []string{"fast", "slow", "source"}, Delays: apart(5)})
	require.NoError(t, err)
	d.Step(&Join{Client: 0, Subscriptions: []string{"BURST"}})
	d.Step(&Join{Client: 1, Subscriptions: []string{"FEW"}})
	d.Step(&Join{Client: 2, Publications: []string{"BURST", "FEW"}})
	d.Step(&Begin{})
	const burst, few = 4 * leastKept, 10
	for i := range burst {
		d.Step(&Send{Client: 2, Channel: "BURST"})
		if i%(burst/few) == 0 {
			d.Step(&Send{Client: 2, Channel: "FEW", Payload: make([]byte, i)})
		}
	}
	for id := range ClientID(3) {
		d.Step(&PollWait{Client: id, Report: Report{NextEvent: Infinity}, Want: Infinity, Messages: true})
	}
	d.Settle()
	require.Equal(t, uint64(burst), d.clients[0].window.Last())
	handled := func(id ClientID, number uint64) {
		d.Step(&PollWait{Client: id, Report: Report{Now: At(5), NextEvent: Infinity, Acked: number}, Want: Infinity, Messages: true})
		d.Settle()
	}
	handled(0, burst)
	given := d.clients[1].given.All()
	require.Len(t, d.store.messages, len(given), "the others are gone, and their places too")
	for i, place := range given {
		require.Len(t, d.store.messages[place].payload, i*(burst/few))
	}
	handled(1, uint64(len(given)))
	require.Zero(t, d.memory.held)
}
