package metasim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A binaryQueue is a plain binary heap of messages: the twin of a queue, and what it is measured against.
type binaryQueue struct{ heap []Message }

func (q *binaryQueue) len() int { return len(q.heap) }

func (q *binaryQueue) push(m Message) {
	q.heap = append(q.heap, m)
	h := q.heap
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent].Compare(&m) <= 0 {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = m
}

func (q *binaryQueue) pop() Message {
	h := q.heap
	top, last := h[0], h[len(h)-1]
	h[len(h)-1] = Message{}
	h = h[:len(h)-1]
	q.heap = h
	if len(h) == 0 {
		return top
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].Compare(&h[child]) < 0 {
			child++
		}
		if last.Compare(&h[child]) <= 0 {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = last
	return top
}

// A queue does what a sorted slice would, and so does its twin.
func TestQueueTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		var binary binaryQueue
		var twin []Message
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if len(twin) > 0 && rapid.Bool().Draw(t, "pop") {
				require.Equal(t, twin[0], q.pop())
				require.Equal(t, twin[0], binary.pop())
				twin = twin[1:]
			} else {
				m := anyMessage().Draw(t, "m")
				q.push(m)
				binary.push(m)
				twin = append(twin, m)
				slices.SortStableFunc(twin, func(a, b Message) int { return a.Compare(&b) })
			}
			require.Equal(t, len(twin), q.len())
			if len(twin) == 0 {
				require.Equal(t, Infinity, q.due())
			} else {
				require.Equal(t, twin[0].Due, q.due())
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
			b.Run(name+"/heap=four", func(b *testing.B) {
				var q queue
				churn(b, n, delay(), q.push, q.pop)
			})
			b.Run(name+"/heap=two", func(b *testing.B) {
				var q binaryQueue
				churn(b, n, delay(), q.push, q.pop)
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
