package typed

import (
	"encoding/binary"
	"fmt"

	"metasim/client"
)

// Answer declares that the client answers a service: handle is called for each request, by Step, Next or Run, at the instant at which the
// client is given it. It calls Reply or Refuse, at once or at a later instant, for each request once. An error that it returns is one
// of the simulator: it ends Run, or Step returns it.
func Answer[Q, A any](b *client.Builder, name string, request Codec[Q], answer Codec[A], handle func(*Request[Q, A]) error) error {
	call, reply, err := channels(name)
	if err == nil && b.Publishes(reply) {
		err = fmt.Errorf("the client answers service %q already; answer it once", name)
	}
	if err != nil {
		return err
	}
	return b.Input(call, &service[Q, A]{name: name, out: b.Publication(reply), request: request, answer: answer, handle: handle})
}

// Reply answers the request, at the client's present instant.
func (r *Request[Q, A]) Reply(value A) error {
	s := r.service
	b, err := encode(s.answer, appendReply(s.memory[:0], r.number, answered, r.From), s.out.Channel(), value)
	if err != nil {
		return err
	}
	return r.say(b)
}

// Refuse answers the request with a *RefusedError that has this text.
func (r *Request[Q, A]) Refuse(text string) error {
	return r.say(append(appendReply(r.service.memory[:0], r.number, refusal, r.From), text...))
}

func (r *Request[Q, A]) say(b []byte) error {
	s := r.service
	if r.done {
		return fmt.Errorf("the request %d of client %q to service %q was answered already; answer each once", r.number, r.From, s.name)
	}
	s.memory = b
	if err := s.out.Publish(b); err != nil {
		return err
	}
	r.done = true
	s.open--
	return nil
}

// Take implements client.Input: it takes a request.
func (s *service[Q, A]) Take(m client.Message) error {
	if len(m.Payload) < numberSize {
		return &DecodeError{Message: m, Type: "request to a service", Err: errEnvelope}
	}
	v, err := decode(s.request, m, m.Payload[numberSize:])
	if err != nil {
		return err
	}
	s.open++
	return s.handle(&Request[Q, A]{Message: v, service: s, number: binary.LittleEndian.Uint64(m.Payload)})
}

// Save implements client.Saver. There is no checkpoint while a request is not answered.
func (s *service[Q, A]) Save() ([]byte, error) {
	if s.open > 0 {
		return nil, fmt.Errorf("%d requests to service %q are not answered", s.open, s.name)
	}
	return nil, nil
}

// Restore implements client.Saver.
func (s *service[Q, A]) Restore([]byte) error { return nil }
