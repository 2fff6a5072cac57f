// Package typed gives channels of a client the Go type of their values: publications, handlers, inputs that a loop of steps looks at, and
// requests with their answers.
//
//	b := client.NewBuilder("controller")
//	angle, err := typed.NewLatest(b, "ANGLE", typed.JSON[float64]())
//	force := typed.Publish(b, "FORCE", typed.JSON[float64]())
//	...
//	for range c.Steps(ctx, dt) {
//		if m, ok := angle.Get(); ok {
//			err = force.Publish(-gain * m.Value)
//		}
//	}
//
// A [Codec] turns values into bytes: [JSON], [Proto], [Bytes], one of package metasim/client/typed/lcm for types of .lcm files, or one of your own.
// The bytes are payloads as others see them: nothing is added to them, but for requests and answers.
//
// A payload that is not a value of the type is a [*DecodeError], which names the channel, the sender, the instant and the type.
//
// # Requests and answers
//
// A [Caller] asks a service, and a handler of [Answer] answers, now or later. A request and its answer are messages: they travel over links
// with delays as others do, and an answer is there at the instant at which it arrives. A time limit is simulated time. The service PLAN is asked on
// the channel call:PLAN, and answers on reply:PLAN, which all callers hear; each takes what is for it.
//
//	call:PLAN    number of the request (u64, little-endian), then the request
//	reply:PLAN   number of the request (u64), 0 for an answer or 1 for a refusal (u8), length of the caller's name (u16), the name, then
//	             the answer, or the text of the refusal
package typed

import (
	"fmt"

	"metasim/client"
	"metasim/internal/fifo"
	"metasim/metasim"
)

// A Codec turns values into payloads and back.
type Codec[T any] interface {
	// Append appends the payload of a value to dst. Equal values have equal payloads: they reach the digest of the run.
	Append(dst []byte, value T) ([]byte, error)
	// Decode returns the value of a payload, which it neither changes nor keeps.
	Decode(payload []byte) (T, error)
}

// A Message is one that a client was given, with its value.
type Message[T any] struct {
	client.Message
	Value T
}

// A Publication is a channel that a client sends values on.
type Publication[T any] struct {
	out    *client.Publication
	codec  Codec[T]
	memory []byte
}

// A Latest is an input that keeps the message which came last.
type Latest[T any] struct {
	codec   Codec[T]
	message Message[T]
	any     bool
}

// A Queue is an input that keeps messages until they are taken.
type Queue[T any] struct {
	codec   Codec[T]
	size    int
	full    Full
	waiting fifo.Queue[Message[T]] // the next one first
	dropped uint64
}

// Full says what happens when a message comes and a Queue is full.
type Full uint8

// The Queue drops the message that has waited for longest and counts it, or fails with a *FullError.
const (
	DropOldest Full = iota
	Fail
)

// A FullError says that a message came when a Queue was full.
type FullError struct {
	Message client.Message
	Size    int
}

// A DecodeError says that a message is no value of the type that its recipient expects.
type DecodeError struct {
	Message client.Message
	Type    string // "main.Angle"
	Err     error
}

// A Caller asks a service.
type Caller[Q, A any] struct {
	service string
	out     *client.Publication
	request Codec[Q]
	answer  Codec[A]
	next    uint64
	open    map[uint64]*Pending[A]
	sweep   int // how many are open when those are looked for whose time is over
	memory  []byte
}

// A Pending is a request that was sent.
type Pending[A any] struct {
	client   *client.Client
	service  string
	asked    metasim.Instant
	deadline metasim.Instant
	came     metasim.Instant
	answered bool
	forget   func()
	answer   A
	err      error
	then     func() error // nil: nothing
}

// A Request is one that a client is to answer.
type Request[Q, A any] struct {
	Message[Q]
	service *service[Q, A]
	number  uint64
	done    bool
}

// A service answers requests.
type service[Q, A any] struct {
	name    string
	out     *client.Publication
	request Codec[Q]
	answer  Codec[A]
	handle  func(*Request[Q, A]) error
	open    int // requests that are not answered
	memory  []byte
}

// A LimitError says that a request was not answered within its time limit.
type LimitError struct {
	Service      string
	Asked, Limit metasim.Instant
}

// A RefusedError says that a request was refused by who answers.
type RefusedError struct {
	Service, From string
	Text          string
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("the message of %q on %q at %v (%d bytes) is no %s: %v", e.Message.From, e.Message.Channel, e.Message.Due, len(e.Message.Payload), e.Type, e.Err)
}

// Unwrap returns what the codec said.
func (e *DecodeError) Unwrap() error { return e.Err }

func (e *FullError) Error() string {
	return fmt.Sprintf("the queue of %q has %d messages, and at %v one more came from %q; take them sooner, make the queue larger, or use DropOldest",
		e.Message.Channel, e.Size, e.Message.Due, e.Message.From)
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("service %q has not answered the request of %v until %v; see that a client answers it, or allow more simulated time", e.Service, e.Asked, e.Limit)
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("service %q: client %q refused: %s", e.Service, e.From, e.Text)
}
