package typed

import (
	"encoding/json"
	"fmt"
	"iter"

	"metasim/client"
)

// NewLatest declares an input that keeps the message which came last: see Builder.Input.
func NewLatest[T any](b *client.Builder, pattern string, codec Codec[T]) (*Latest[T], error) {
	l := &Latest[T]{codec: codec}
	return l, b.Input(pattern, l)
}

// Get returns the message that came last; ok is false where none has come yet.
func (l *Latest[T]) Get() (m Message[T], ok bool) { return l.message, l.any }

// Take implements client.Input. A message that is no T is a *DecodeError, and the one before it stays.
func (l *Latest[T]) Take(m client.Message) error {
	v, err := decode(l.codec, m, m.Payload)
	if err == nil {
		l.message, l.any = v, true
	}
	return err
}

// Save implements client.Saver.
func (l *Latest[T]) Save() ([]byte, error) {
	if !l.any {
		return nil, nil
	}
	return json.Marshal(l.message.Message)
}

// Restore implements client.Saver.
func (l *Latest[T]) Restore(state []byte) error {
	if len(state) == 0 {
		return nil
	}
	var m client.Message
	if err := json.Unmarshal(state, &m); err != nil {
		return err
	}
	return l.Take(m)
}

// NewQueue declares an input that keeps up to size messages until they are taken: see Builder.Input. full says what happens when one more comes.
func NewQueue[T any](b *client.Builder, pattern string, codec Codec[T], size int, full Full) (*Queue[T], error) {
	if size < 1 {
		return nil, fmt.Errorf("the queue of %q has room for %d messages; use a positive number", pattern, size)
	}
	q := &Queue[T]{codec: codec, size: size, full: full}
	return q, b.Input(pattern, q)
}

// Next takes the message that has waited for longest; ok is false where none waits.
func (q *Queue[T]) Next() (m Message[T], ok bool) {
	if q.waiting.Len() == 0 {
		return m, false
	}
	return q.waiting.Pop(), true
}

// All takes the messages that wait, one by one, until the loop over it ends.
func (q *Queue[T]) All() iter.Seq[Message[T]] {
	return func(yield func(Message[T]) bool) {
		for m, ok := q.Next(); ok && yield(m); m, ok = q.Next() {
		}
	}
}

// Len returns how many messages wait.
func (q *Queue[T]) Len() int { return q.waiting.Len() }

// Dropped returns how many messages were dropped because the queue was full.
func (q *Queue[T]) Dropped() uint64 { return q.dropped }

// Take implements client.Input. A message that is no T is a *DecodeError, and is not kept.
func (q *Queue[T]) Take(m client.Message) error {
	v, err := decode(q.codec, m, m.Payload)
	if err != nil {
		return err
	}
	if q.waiting.Len() == q.size {
		if q.full == Fail {
			return &FullError{Message: m, Size: q.size}
		}
		q.dropped++
		q.waiting.Drop(1)
	}
	q.waiting.Push(v)
	return nil
}

// savedQueue is a Queue in a checkpoint.
type savedQueue struct {
	Waiting []client.Message
	Dropped uint64
}

// Save implements client.Saver.
func (q *Queue[T]) Save() ([]byte, error) {
	s := savedQueue{Dropped: q.dropped}
	for _, m := range q.waiting.All() {
		s.Waiting = append(s.Waiting, m.Message)
	}
	return json.Marshal(s)
}

// Restore implements client.Saver.
func (q *Queue[T]) Restore(state []byte) error {
	var s savedQueue
	if err := json.Unmarshal(state, &s); err != nil {
		return err
	}
	for _, m := range s.Waiting {
		if err := q.Take(m); err != nil {
			return err
		}
	}
	q.dropped = s.Dropped
	return nil
}
