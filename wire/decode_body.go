package wire

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"metasim/metasim"
	"metasim/wire/wirepb"
)

// body decodes what a packet carries, by its field number.
func (d *Decoder) body(number protowire.Number, b []byte) (Body, error) {
	switch number {
	case packetHello:
		return decode(b, new(wirepb.Hello), hello)
	case packetWelcome:
		return decode(b, new(wirepb.Welcome), welcome)
	case packetStart:
		return decode(b, new(wirepb.Start), start)
	case packetGoodbye:
		return decode(b, new(wirepb.Goodbye), goodbye)
	case packetRefuse:
		return decode(b, new(wirepb.Refuse), refuse)
	case packetSend:
		return decode(b, new(wirepb.SendMessage), d.send)
	case packetPromise:
		return decode(b, new(wirepb.PromiseNoSend), promise)
	case packetAdvance:
		return decode(b, new(wirepb.NotifyAdvance), advance)
	case packetPollWait:
		return decode(b, new(wirepb.PollWait), pollWait)
	case packetLeave:
		return decode(b, new(wirepb.Leave), leave)
	case packetDeliver:
		return decode(b, new(wirepb.DeliveredMessage), d.deliver)
	case packetAuthorize:
		return decode(b, new(wirepb.AuthorizeAdvance), authorize)
	}
	return nil, &ProtocolError{
		What:  fmt.Sprintf("a packet with a body in field %d", number),
		Bound: "this version knows no such body", Remedy: speak,
	}
}

// decode parses a body and converts it. A field that this version does not know is refused, as ignoring it could
// change what a message means. Hello and Refuse alone may have such fields: peers of two versions must be able to part.
func decode[M proto.Message](b []byte, m M, convert func(M) (Body, error)) (Body, error) {
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, &ProtocolError{
			What:  fmt.Sprintf("a %s that cannot be read", m.ProtoReflect().Descriptor().Name()),
			Bound: "a body is protobuf, its names are UTF-8", Remedy: speak, Err: err,
		}
	}
	switch any(m).(type) {
	case *wirepb.Hello, *wirepb.Refuse:
	default:
		if unknown := m.ProtoReflect().GetUnknown(); len(unknown) > 0 {
			return nil, unknownField(m, unknown)
		}
	}
	return convert(m)
}

func unknownField(m proto.Message, unknown []byte) error {
	number, _, _ := protowire.ConsumeTag(unknown)
	return &ProtocolError{
		What:  fmt.Sprintf("a %s with a field %d", m.ProtoReflect().Descriptor().Name(), number),
		Bound: "this version knows no such field", Remedy: speak,
	}
}

func hello(m *wirepb.Hello) (Body, error) {
	if m.Version > math.MaxUint32 {
		return nil, beyond("a version", m.Version)
	}
	return Hello{
		Version: uint32(m.Version), Name: m.Name, Token: m.Token, Publications: m.Publications,
		Subscriptions: m.Subscriptions, Reaction: metasim.Time(m.Reaction),
	}, nil
}

func welcome(m *wirepb.Welcome) (Body, error) {
	return Welcome{Scenario: m.Scenario, Seed: m.Seed}, nil
}

func start(m *wirepb.Start) (Body, error) {
	until, err := instant(m.Until)
	return Start{Clients: m.Clients, Until: until}, err
}

func goodbye(*wirepb.Goodbye) (Body, error) { return Goodbye{}, nil }

func refuse(m *wirepb.Refuse) (Body, error) {
	if m.Reason < 0 {
		return nil, beyond("a reason", uint64(m.Reason))
	}
	return Refuse{Reason: Reason(m.Reason), Text: presentable(m.Text)}, nil
}

func (d *Decoder) send(m *wirepb.SendMessage) (Body, error) {
	sent, err := instant(m.Sent)
	return metasim.Send{Channel: d.name(m.Channel), Sent: sent, Payload: m.Payload}, err
}

func promise(m *wirepb.PromiseNoSend) (Body, error) {
	before, err := instant(m.NoSendBefore)
	return metasim.Promise{NoSendBefore: before}, err
}

func advance(m *wirepb.NotifyAdvance) (Body, error) {
	r, err := report(m.Report)
	return metasim.Advance{Report: r}, err
}

func pollWait(m *wirepb.PollWait) (Body, error) {
	want, err := instant(m.Want)
	if err != nil {
		return nil, err
	}
	r, err := report(m.Report)
	return metasim.PollWait{Report: r, Want: want, Messages: m.Messages}, err
}

func leave(m *wirepb.Leave) (Body, error) {
	now, err := instant(m.Now)
	return metasim.Leave{Now: now, Acked: m.Acked, Result: m.Result}, err
}

func (d *Decoder) deliver(m *wirepb.DeliveredMessage) (Body, error) {
	if m.From > math.MaxUint32 {
		return nil, beyond("a sender", m.From)
	}
	at, err := instants(m.Sent, m.Due)
	return metasim.Deliver{Number: m.Number, Message: metasim.Message{
		From: metasim.ClientID(m.From), Seq: m.Seq, Channel: d.name(m.Channel), Sent: at[0], Due: at[1],
		Payload: m.Payload,
	}}, err
}

func authorize(m *wirepb.AuthorizeAdvance) (Body, error) {
	until, err := instant(m.Until)
	return metasim.Authorize{Until: until}, err
}

func report(m *wirepb.Report) (metasim.Report, error) {
	if m == nil {
		return metasim.Report{}, nil
	}
	if unknown := m.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		return metasim.Report{}, unknownField(m, unknown)
	}
	at, err := instants(m.Now, m.NoSendBefore, m.NextEvent)
	return metasim.Report{Now: at[0], NoSendBefore: at[1], NextEvent: at[2], Acked: m.Acked}, err
}

func instant(p *wirepb.Instant) (metasim.Instant, error) {
	switch {
	case p == nil:
		return metasim.Start, nil
	case len(p.ProtoReflect().GetUnknown()) > 0:
		return metasim.Start, unknownField(p, p.ProtoReflect().GetUnknown())
	case p.Infinity && (p.Time != 0 || p.Step != 0):
		return metasim.Start, &ProtocolError{
			What: fmt.Sprintf("an instant at infinity and at %dns", p.Time), Bound: "it is one of the two", Remedy: speak,
		}
	case p.Infinity:
		return metasim.Infinity, nil
	case p.Step > math.MaxUint32:
		return metasim.Start, beyond("an instant's step", p.Step)
	}
	return metasim.Instant{Time: metasim.Time(p.Time), Step: uint32(p.Step)}, nil
}

// instants decodes several, and names the first that is wrong.
func instants(from ...*wirepb.Instant) ([4]metasim.Instant, error) {
	var to [4]metasim.Instant
	for i, p := range from {
		var err error
		if to[i], err = instant(p); err != nil {
			return to, err
		}
	}
	return to, nil
}
