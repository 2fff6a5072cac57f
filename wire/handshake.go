package wire

import (
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"metasim/metasim"
	"metasim/wire/wirepb"
)

// The bodies of joining and ending (Hello, Welcome, Start, Introduce, Goodbye, Refuse, Failed) and Checkpoint use the generated code: they are few.

// appendHandshake appends such a body, which Check has passed, and returns the tag of its field in a packet.
func appendHandshake(b []byte, body Body) (byte, []byte, error) {
	tag, message := toProto(body)
	b, err := proto.MarshalOptions{}.MarshalAppend(b, message)
	if err != nil {
		return tag, nil, &ProtocolError{
			What: fmt.Sprintf("a %T", body), Bound: "it cannot be encoded", Remedy: "mend the message", Err: err,
		}
	}
	return tag, b, nil
}

func toProto(body Body) (byte, proto.Message) {
	switch b := body.(type) {
	case Hello:
		return packetHello, &wirepb.Hello{
			Version: uint64(b.Version), Name: b.Name, Token: b.Token,
			Publications: b.Publications, Subscriptions: b.Subscriptions, Reaction: int64(b.Reaction), Minor: uint64(b.Minor), Relay: b.Relay, Saves: b.Saves,
			Returns: b.Returns, Back: backToProto(b.Back),
		}
	case Welcome:
		return packetWelcome, &wirepb.Welcome{
			Scenario: b.Scenario, Seed: b.Seed, Timed: timed(b), About: aboutToProto(b.About), Patience: b.Patience, Known: knownToProto(b.Known),
		}
	case Start:
		return packetStart, &wirepb.Start{Until: instantToProto(b.Until)}
	case Introduce:
		return packetIntroduce, &wirepb.Introduce{Client: uint64(b.Client), Name: b.Name}
	case Goodbye:
		return packetGoodbye, &wirepb.Goodbye{}
	case Refuse:
		return packetRefuse, &wirepb.Refuse{Reason: wirepb.Reason(b.Reason), Text: presentable(b.Text)}
	case Failed:
		return packetFailed, &wirepb.Failed{Reason: presentable(b.Reason), Gone: b.Gone}
	case Checkpoint:
		return packetCheckpoint, &wirepb.Checkpoint{
			Every: int64(b.Every), Now: instantToProto(b.Now), NoSendBefore: instantToProto(b.NoSendBefore), NextEvent: instantToProto(b.NextEvent),
			Cause: instantToProto(b.Cause), Acked: b.Acked, State: b.State, Failed: presentable(b.Failed),
		}
	}
	// A mistake in this package, which the audit test finds.
	panic(fmt.Sprintf("wire: Check accepts a %T, and toProto has no message for it", body))
}

func instantToProto(i metasim.Instant) *wirepb.Instant {
	switch {
	case i == metasim.Start:
		return nil
	case i.Time == metasim.Forever:
		return &wirepb.Instant{Infinity: true}
	}
	return &wirepb.Instant{Time: int64(i.Time), Step: uint64(i.Step)}
}

func aboutToProto(a About) *wirepb.About {
	if a == (About{}) {
		return nil
	}
	return &wirepb.About{Entry: a.Entry, Index: uint64(a.Index), Count: uint64(a.Count), With: a.With, Directory: a.Directory}
}

func aboutFromProto(a *wirepb.About) (About, error) {
	if a == nil {
		return About{}, nil
	}
	if err := checkKnown(a); err != nil {
		return About{}, err
	}
	if most := max(a.Index, a.Count); most > math.MaxUint32 {
		return About{}, tooLarge("an index or a count", most)
	}
	return About{Entry: a.Entry, Index: uint32(a.Index), Count: uint32(a.Count), With: a.With, Directory: a.Directory}, nil
}

func backToProto(b *Back) *wirepb.Back {
	if b == nil {
		return nil
	}
	return &wirepb.Back{Sent: b.Sent, Handled: b.Handled}
}

// backFromProto leaves fields aside that it does not know, as all of a Hello does.
func backFromProto(b *wirepb.Back) *Back {
	if b == nil {
		return nil
	}
	return &Back{Sent: b.Sent, Handled: b.Handled}
}

func knownToProto(k *Known) *wirepb.Known {
	if k == nil {
		return nil
	}
	return &wirepb.Known{Sent: k.Sent, Delivered: k.Delivered, Now: instantToProto(k.Now), NoSendBefore: instantToProto(k.NoSendBefore)}
}

func knownFromProto(k *wirepb.Known) (*Known, error) {
	if k == nil {
		return nil, nil
	}
	now, err := instantFromProto(k.Now)
	floor, floorErr := instantFromProto(k.NoSendBefore)
	return &Known{Sent: k.Sent, Delivered: k.Delivered, Now: now, NoSendBefore: floor}, firstError(checkKnown(k), err, floorErr)
}

// presentable cuts a text to MaxText and makes it UTF-8: a Refuse or a Failed must arrive, whatever its text is made of.
func presentable(text string) string {
	if len(text) > MaxText {
		text = text[:MaxText]
	}
	return strings.ToValidUTF8(text, "")
}

// handshake decodes such a body, by the tag of its field in a packet. It refuses unknown fields, because to ignore one could change what
// the message means. Hello and Refuse may have unknown fields: peers of different versions need both messages to tell each other that
// their versions differ.
func handshake(tag uint64, b []byte) (Body, error) {
	var m proto.Message
	switch tag {
	case packetHello:
		m = new(wirepb.Hello)
	case packetWelcome:
		m = new(wirepb.Welcome)
	case packetStart:
		m = new(wirepb.Start)
	case packetIntroduce:
		m = new(wirepb.Introduce)
	case packetGoodbye:
		m = new(wirepb.Goodbye)
	case packetRefuse:
		m = new(wirepb.Refuse)
	case packetFailed:
		m = new(wirepb.Failed)
	case packetCheckpoint:
		m = new(wirepb.Checkpoint)
	default:
		return nil, protocolError(fmt.Sprintf("a packet with a body in field %d", tag>>3), "this version knows no such body", speak)
	}
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, unreadable(string(m.ProtoReflect().Descriptor().Name()), err)
	}
	if tag != packetHello && tag != packetRefuse {
		if err := checkKnown(m); err != nil {
			return nil, err
		}
	}
	body, err := fromProto(m)
	if err != nil {
		return nil, err
	}
	return body, Check(Packet{Body: body})
}

// checkKnown refuses a message with a field that this version does not know.
func checkKnown(m proto.Message) error {
	unknown := m.ProtoReflect().GetUnknown()
	if len(unknown) == 0 {
		return nil
	}
	number, _, _ := protowire.ConsumeTag(unknown)
	return unknownField(string(m.ProtoReflect().Descriptor().Name()), uint64(number))
}

func fromProto(m proto.Message) (Body, error) {
	switch m := m.(type) {
	case *wirepb.Hello:
		if most := max(m.Version, m.Minor); most > math.MaxUint32 {
			return nil, tooLarge("a version", most)
		}
		return Hello{
			Version: uint32(m.Version), Name: m.Name, Token: m.Token, Publications: m.Publications,
			Subscriptions: m.Subscriptions, Reaction: metasim.Time(m.Reaction), Minor: uint32(m.Minor), Relay: m.Relay, Saves: m.Saves,
			Returns: m.Returns, Back: backFromProto(m.Back),
		}, nil
	case *wirepb.Welcome:
		about, err := aboutFromProto(m.About)
		known, knownErr := knownFromProto(m.Known)
		return Welcome{
			Scenario: m.Scenario, Seed: m.Seed, Timed: m.Timed > 0, CoreWait: m.Timed >= timedCoreWait, About: about, Patience: m.Patience, Known: known,
		}, firstError(err, knownErr)
	case *wirepb.Start:
		until, err := instantFromProto(m.Until)
		return Start{Until: until}, err
	case *wirepb.Checkpoint:
		return checkpoint(m)
	case *wirepb.Introduce:
		if m.Client > math.MaxUint32 {
			return nil, tooLarge("a client", m.Client)
		}
		return Introduce{Client: metasim.ClientID(m.Client), Name: m.Name}, nil
	case *wirepb.Refuse:
		if m.Reason < 0 {
			return nil, tooLarge("a reason", uint64(m.Reason))
		}
		return Refuse{Reason: Reason(m.Reason), Text: presentable(m.Text)}, nil
	case *wirepb.Failed:
		return Failed{Reason: presentable(m.Reason), Gone: m.Gone}, nil
	}
	return Goodbye{}, nil
}

func instantFromProto(m *wirepb.Instant) (metasim.Instant, error) {
	if err := checkKnown(m); err != nil {
		return metasim.Instant{}, err
	}
	raw := rawInstant{time: uint64(m.GetTime()), step: m.GetStep(), infinity: m.GetInfinity()}
	return raw.instant()
}

func checkpoint(m *wirepb.Checkpoint) (Body, error) {
	b := Checkpoint{Every: metasim.Time(m.Every), Acked: m.Acked, State: m.State, Failed: presentable(m.Failed)}
	var errs [4]error
	b.Now, errs[0] = instantFromProto(m.Now)
	b.NoSendBefore, errs[1] = instantFromProto(m.NoSendBefore)
	b.NextEvent, errs[2] = instantFromProto(m.NextEvent)
	b.Cause, errs[3] = instantFromProto(m.Cause)
	return b, firstError(errs[:]...)
}

// helloToken is the number of the field of a Hello that has the token. Its lists come after it.
const helloToken = 3

// tokenOf returns the token of the Hello at the start of a frame. head is the first bytes of the frame. The token comes before the lists
// of the Hello, so tokenOf reads no further.
func tokenOf(head []byte) (token string, ok bool) {
	packet, ok := field(head, framePackets)
	if !ok {
		return "", false
	}
	if len(packet) > 0 && packet[0] == packetMember {
		_, n := protowire.ConsumeVarint(packet[1:])
		if n < 0 {
			return "", false
		}
		packet = packet[1+n:]
	}
	hello, ok := field(packet, packetHello)
	for ok && len(hello) > 0 {
		number, kind, n := protowire.ConsumeTag(hello)
		size := protowire.ConsumeFieldValue(number, kind, hello[max(n, 0):])
		switch {
		case number > helloToken:
			return "", n > 0 // it has none, or has it too late
		case n < 0 || size < 0:
			return "", false
		case number == helloToken:
			text, n := protowire.ConsumeBytes(hello[n:])
			return string(text), n > 0
		}
		hello = hello[n+size:]
	}
	return "", ok
}

// field returns the value of the length-delimited field at the start of b, if the field has this one-byte tag. If b ends inside
// the value, field returns the part that b has.
func field(b []byte, tag byte) (value []byte, ok bool) {
	if len(b) == 0 || b[0] != tag {
		return nil, false
	}
	size, n := protowire.ConsumeVarint(b[1:])
	if n < 0 {
		return nil, false
	}
	b = b[1+n:]
	return b[:min(size, uint64(len(b)))], true
}

// timedCoreWait is the number in Welcome.timed of a server that knows core_wait. An older client takes it for a plain yes; an older server
// says 1, and would refuse a report with a core_wait.
const timedCoreWait = 2

func timed(w Welcome) uint32 {
	switch {
	case w.CoreWait:
		return timedCoreWait
	case w.Timed:
		return 1
	}
	return 0
}
