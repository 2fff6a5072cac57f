package wire_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/wirepb"
)

// The codec writes the same bytes as the generated code.
func TestEncodesLikeTheGeneratedCode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := packets(t)
		var twin wirepb.Frame
		for _, p := range sent {
			twin.Packets = append(twin.Packets, packetTwin(p))
		}
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(&twin)
		require.NoError(t, err)
		var encoder wire.Encoder
		got, err := encoder.Frames(sent)
		require.NoError(t, err)
		require.Equal(t, want, got[4:])
	})
}

// The codec and the generated code decode any bytes to the same packets, or both refuse them.
func TestDecodesLikeTheGeneratedCode(t *testing.T) {
	accepted := make(map[protowire.Number]int)
	refused := make(map[protowire.Number]int)
	var decoder wire.Decoder // one for all bodies: earlier ones must not matter
	rapid.Check(t, func(t *rapid.T) {
		for _, field := range slices.Repeat(sortedKeys(hotFields), 10) {
			body := damaged(t, message(t, hotFields[field]))
			if compareBody(t, &decoder, field, body) == nil {
				accepted[field]++
			} else {
				refused[field]++
			}
		}
	})
	for field := range hotFields {
		require.NotZero(t, accepted[field], "no body in field %d was accepted: the test is blind", field)
		require.NotZero(t, refused[field], "no body in field %d was refused: the test is blind", field)
	}
}

// FuzzBody does the same with bodies of the fuzzer.
func FuzzBody(f *testing.F) {
	for _, after := range []metasim.Time{0, 1, metasim.Second} {
		for _, body := range hotBodies(after) {
			p := packetTwin(wire.Packet{Body: body})
			b, err := proto.Marshal(p)
			require.NoError(f, err)
			field, _, n := protowire.ConsumeTag(b)
			value, _ := protowire.ConsumeBytes(b[n:])
			f.Add(uint8(field), value)
		}
	}
	f.Fuzz(func(t *testing.T, field uint8, body []byte) {
		if _, hot := hotFields[protowire.Number(field)]; hot {
			compareBody(t, new(wire.Decoder), protowire.Number(field), body)
		}
	})
}

// compareBody decodes a body both ways, and returns why it was refused.
func compareBody(t require.TestingT, decoder *wire.Decoder, field protowire.Number, body []byte) error {
	frame := protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), body)
	frame = protowire.AppendBytes([]byte{0x0a}, frame)
	want, refusal := decodeTwin(field, body)
	got, err := decoder.Packets(frame)
	if refusal != nil {
		require.ErrorAs(t, err, new(*wire.ProtocolError), "the generated code says: %v", refusal)
		return err
	}
	require.NoError(t, err)
	require.Equal(t, []wire.Packet{{Body: want}}, got)
	return nil
}

// packetTwin returns a packet of the generated code.
func packetTwin(p wire.Packet) *wirepb.Packet {
	twin := &wirepb.Packet{Member: uint64(p.Member)}
	switch b := p.Body.(type) {
	case wire.Hello:
		twin.Body = &wirepb.Packet_Hello{Hello: helloTwin(b)}
	case wire.Welcome:
		twin.Body = &wirepb.Packet_Welcome{Welcome: welcomeTwin(b)}
	case wire.Start:
		twin.Body = &wirepb.Packet_Start{Start: &wirepb.Start{Until: instantTwin(b.Until)}}
	case wire.Introduce:
		twin.Body = &wirepb.Packet_Introduce{Introduce: &wirepb.Introduce{Client: uint64(b.Client), Name: b.Name}}
	case wire.Failed:
		twin.Body = &wirepb.Packet_Failed{Failed: &wirepb.Failed{Reason: b.Reason, Gone: b.Gone}}
	case wire.Checkpoint:
		twin.Body = &wirepb.Packet_Checkpoint{Checkpoint: &wirepb.Checkpoint{
			Every: int64(b.Every), Now: instantTwin(b.Now), NoSendBefore: instantTwin(b.NoSendBefore), NextEvent: instantTwin(b.NextEvent),
			Cause: instantTwin(b.Cause), Acked: b.Acked, State: b.State, Failed: b.Failed,
		}}
	case wire.Goodbye:
		twin.Body = &wirepb.Packet_Goodbye{Goodbye: &wirepb.Goodbye{}}
	case wire.Refuse:
		twin.Body = &wirepb.Packet_Refuse{Refuse: &wirepb.Refuse{Reason: wirepb.Reason(b.Reason), Text: b.Text}}
	case *metasim.Send:
		twin.Body = &wirepb.Packet_SendMessage{SendMessage: &wirepb.SendMessage{
			Channel: b.Channel, Sent: instantTwin(b.Sent), Payload: b.Payload,
		}}
	case *metasim.Promise:
		twin.Body = &wirepb.Packet_PromiseNoSend{PromiseNoSend: &wirepb.PromiseNoSend{
			NoSendBefore: instantTwin(b.NoSendBefore),
		}}
	case *metasim.Advance:
		twin.Body = &wirepb.Packet_NotifyAdvance{NotifyAdvance: &wirepb.NotifyAdvance{
			Report: reportTwin(b.Report), Computed: b.Computed, Cpu: b.CPU, CoreWait: b.CoreWait,
		}}
	case *metasim.PollWait:
		twin.Body = &wirepb.Packet_PollWait{PollWait: &wirepb.PollWait{
			Report: reportTwin(b.Report), Want: instantTwin(b.Want), Messages: b.Messages,
			Computed: b.Computed, Cpu: b.CPU, CoreWait: b.CoreWait,
		}}
	case *metasim.Leave:
		twin.Body = &wirepb.Packet_Leave{Leave: &wirepb.Leave{
			Now: instantTwin(b.Now), Acked: b.Acked, Result: b.Result,
		}}
	case *metasim.Deliver:
		twin.Body = &wirepb.Packet_DeliveredMessage{DeliveredMessage: &wirepb.DeliveredMessage{
			Number: b.Number, From: uint64(b.Message.From), Seq: b.Message.Seq, Channel: b.Message.Channel,
			Sent: instantTwin(b.Message.Sent), Due: instantTwin(b.Message.Due), Payload: b.Message.Payload,
		}}
	case *metasim.Authorize:
		twin.Body = &wirepb.Packet_AuthorizeAdvance{AuthorizeAdvance: &wirepb.AuthorizeAdvance{
			Until: instantTwin(b.Until), QuietUntil: instantTwin(b.QuietUntil),
		}}
	}
	return twin
}

func instantTwin(i metasim.Instant) *wirepb.Instant {
	switch i {
	case metasim.Start:
		return nil
	case metasim.Infinity:
		return &wirepb.Instant{Infinity: true}
	}
	return &wirepb.Instant{Time: int64(i.Time), Step: uint64(i.Step)}
}

func reportTwin(r metasim.Report) *wirepb.Report {
	if r.Computed, r.CPU, r.CoreWait = 0, 0, 0; r == (metasim.Report{}) {
		return nil
	}
	return &wirepb.Report{
		Now: instantTwin(r.Now), NoSendBefore: instantTwin(r.NoSendBefore),
		NextEvent: instantTwin(r.NextEvent), Acked: r.Acked,
	}
}

// decodeTwin decodes a body with the generated code, as strictly as the protocol asks.
func decodeTwin(field protowire.Number, b []byte) (wire.Body, error) {
	var p strict
	var body wire.Body
	switch field {
	case 7:
		m := parse(&p, b, new(wirepb.SendMessage))
		body = &metasim.Send{Channel: m.Channel, Sent: p.instant(m.Sent), Payload: m.Payload}
	case 8:
		body = &metasim.Promise{NoSendBefore: p.instant(parse(&p, b, new(wirepb.PromiseNoSend)).NoSendBefore)}
	case 9:
		m := parse(&p, b, new(wirepb.NotifyAdvance))
		body = &metasim.Advance{Report: p.worked(m.Report, m.Computed, m.Cpu, m.CoreWait)}
	case 10:
		m := parse(&p, b, new(wirepb.PollWait))
		body = &metasim.PollWait{Report: p.worked(m.Report, m.Computed, m.Cpu, m.CoreWait), Want: p.instant(m.Want), Messages: m.Messages}
	case 11:
		m := parse(&p, b, new(wirepb.Leave))
		body = &metasim.Leave{Now: p.instant(m.Now), Acked: m.Acked, Result: m.Result}
	case 12:
		m := parse(&p, b, new(wirepb.DeliveredMessage))
		p.refuse(m.From > math.MaxUint32, "a sender beyond 32 bits")
		body = &metasim.Deliver{Number: m.Number, Message: metasim.Message{
			From: metasim.ClientID(m.From), Seq: m.Seq, Channel: m.Channel,
			Sent: p.instant(m.Sent), Due: p.instant(m.Due), Payload: m.Payload,
		}}
	case 13:
		m := parse(&p, b, new(wirepb.AuthorizeAdvance))
		body = &metasim.Authorize{Until: p.instant(m.Until), QuietUntil: p.instant(m.QuietUntil)}
	}
	return body, errors.Join(p.err, wire.Check(wire.Packet{Body: body}))
}

// strict refuses what the protocol refuses and protobuf accepts.
type strict struct{ err error }

func (p *strict) refuse(wrong bool, what string) {
	if wrong {
		p.err = errors.Join(p.err, errors.New(what))
	}
}

func parse[M proto.Message](p *strict, b []byte, m M) M {
	p.err = proto.Unmarshal(b, m)
	p.refuse(len(m.ProtoReflect().GetUnknown()) > 0, "an unknown field")
	return m
}

func (p *strict) instant(m *wirepb.Instant) metasim.Instant {
	p.refuse(len(m.ProtoReflect().GetUnknown()) > 0, "an unknown field of an instant")
	p.refuse(m.GetInfinity() && (m.GetTime() != 0 || m.GetStep() != 0), "an instant at infinity and at a time")
	p.refuse(m.GetStep() > math.MaxUint32, "a step beyond 32 bits")
	p.refuse(m.GetTime() == math.MaxInt64, "an instant at infinity that is written as a time")
	if m.GetInfinity() {
		return metasim.Infinity
	}
	return metasim.Instant{Time: metasim.Time(m.GetTime()), Step: uint32(m.GetStep())}
}

func (p *strict) worked(m *wirepb.Report, computed, cpu, coreWait int64) metasim.Report {
	r := p.report(m)
	r.Computed, r.CPU, r.CoreWait = computed, cpu, coreWait
	return r
}

func (p *strict) report(m *wirepb.Report) metasim.Report {
	p.refuse(len(m.ProtoReflect().GetUnknown()) > 0, "an unknown field of a report")
	return metasim.Report{
		Now: p.instant(m.GetNow()), NoSendBefore: p.instant(m.GetNoSendBefore()),
		NextEvent: p.instant(m.GetNextEvent()), Acked: m.GetAcked(),
	}
}

func helloTwin(b wire.Hello) *wirepb.Hello {
	hello := &wirepb.Hello{
		Version: uint64(b.Version), Name: b.Name, Token: b.Token,
		Publications: b.Publications, Subscriptions: b.Subscriptions, Reaction: int64(b.Reaction), Minor: uint64(b.Minor), Relay: b.Relay, Saves: b.Saves,
		Returns: b.Returns,
	}
	if b.Back != nil {
		hello.Back = &wirepb.Back{Sent: b.Back.Sent, Handled: b.Back.Handled}
	}
	return hello
}

func welcomeTwin(b wire.Welcome) *wirepb.Welcome {
	welcome := &wirepb.Welcome{Scenario: b.Scenario, Seed: b.Seed, Patience: b.Patience}
	if k := b.Known; k != nil {
		welcome.Known = &wirepb.Known{Sent: k.Sent, Delivered: k.Delivered, Now: instantTwin(k.Now), NoSendBefore: instantTwin(k.NoSendBefore)}
	}
	if b.Timed {
		welcome.Timed = 1
	}
	if b.CoreWait {
		welcome.Timed = 2
	}
	if a := b.About; a != (wire.About{}) {
		welcome.About = &wirepb.About{Entry: a.Entry, Index: uint64(a.Index), Count: uint64(a.Count), With: a.With, Directory: a.Directory}
	}
	return welcome
}
