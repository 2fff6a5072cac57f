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

// newPQ is a pq.Queue of messages: the twin of a queue, and what it is measured against.
func newPQ() *pq.Queue[Message] {
	return &pq.Queue[Message]{Less: func(a, b *Message) bool { return a.Compare(b) < 0 }}
}

// A queue does what a sorted slice would, and so does its twin.
func TestQueueTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
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
	var q queue
	for i := range 100 {
		q.push(Message{Due: At(Time(i % 7)), Payload: []byte{1}})
	}
	for q.len() > 0 {
		q.pop()
	}
	for _, m := range q.messages[:cap(q.messages)] {
		require.Nil(t, m.Payload)
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
				var q queue
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
