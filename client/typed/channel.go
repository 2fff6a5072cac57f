package typed

import "metasim/client"

// Publish declares a channel that the client sends values on. A mistake is returned by Complete, as that of Builder.Publication.
func Publish[T any](b *client.Builder, channel string, codec Codec[T]) *Publication[T] {
	return &Publication[T]{out: b.Publication(channel), codec: codec}
}

// Publish sends a value at the client's present instant, as client.Publication.Publish does.
func (p *Publication[T]) Publish(value T) error {
	b, err := encode(p.codec, p.memory[:0], p.out.Channel(), value)
	if err != nil {
		return err
	}
	p.memory = b
	return p.out.Publish(b)
}

// Subscribe has Run call handler for each message on a channel, or on those that an expression matches, as Builder.Subscribe does. A
// message that is no T ends Run with a *DecodeError.
func Subscribe[T any](b *client.Builder, pattern string, codec Codec[T], handler func(Message[T]) error) error {
	return b.Subscribe(pattern, func(m client.Message) error {
		v, err := decode(codec, m, m.Payload)
		if err != nil {
			return err
		}
		return handler(v)
	})
}
