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

// The bodies of joining and leaving (Hello, Welcome, Start, Introduce, Goodbye, Refuse) use the generated code: they are few.

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
			Publications: b.Publications, Subscriptions: b.Subscriptions, Reaction: int64(b.Reaction),
		}
	case Welcome:
		return packetWelcome, &wirepb.Welcome{Scenario: b.Scenario, Seed: b.Seed, Timed: b.Timed}
	case Start:
		return packetStart, &wirepb.Start{Until: instantToProto(b.Until)}
	case Introduce:
		return packetIntroduce, &wirepb.Introduce{Client: uint64(b.Client), Name: b.Name}
	case Goodbye:
		return packetGoodbye, &wirepb.Goodbye{}
	case Refuse:
		return packetRefuse, &wirepb.Refuse{Reason: wirepb.Reason(b.Reason), Text: presentable(b.Text)}
	}
	// A mistake in this package, which the audit test finds.
	panic(fmt.Sprintf("wire: Check accepts a %T, and toProto has no message for it", body))
}

func instantToProto(i metasim.Instant) *wirepb.Instant {
	switch i {
	case metasim.Start:
		return nil
	case metasim.Infinity:
		return &wirepb.Instant{Infinity: true}
	}
	return &wirepb.Instant{Time: int64(i.Time), Step: uint64(i.Step)}
}

// presentable cuts a text to MaxText and makes it UTF-8: a Refuse must arrive, whatever a program wrote before it died.
func presentable(text string) string {
	if len(text) > MaxText {
		text = text[:MaxText]
	}
	return strings.ToValidUTF8(text, "")
}

// handshake decodes such a body, by the tag of its field in a packet.
func handshake(tag uint64, b []byte) (Body, error) {
	switch tag {
	case packetHello:
		return decodeHandshake(b, new(wirepb.Hello), hello)
	case packetWelcome:
		return decodeHandshake(b, new(wirepb.Welcome), welcome)
	case packetStart:
		return decodeHandshake(b, new(wirepb.Start), start)
	case packetIntroduce:
		return decodeHandshake(b, new(wirepb.Introduce), introduce)
	case packetGoodbye:
		return decodeHandshake(b, new(wirepb.Goodbye), goodbye)
	case packetRefuse:
		return decodeHandshake(b, new(wirepb.Refuse), refuse)
	}
	return nil, &ProtocolError{
		What:  fmt.Sprintf("a packet with a body in field %d", tag>>3),
		Bound: "this version knows no such body", Remedy: speak,
	}
}

// decodeHandshake parses such a body, converts and checks it. A field that this version does not know is refused, because
// to ignore it could change what the message means. Only Hello and Refuse may have such fields: peers of two versions must
// be able to tell each other so.
func decodeHandshake[M proto.Message](b []byte, m M, convert func(M) (Body, error)) (Body, error) {
	name := string(m.ProtoReflect().Descriptor().Name())
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, unreadable(name, err)
	}
	switch any(m).(type) {
	case *wirepb.Hello, *wirepb.Refuse:
	default:
		if unknown := m.ProtoReflect().GetUnknown(); len(unknown) > 0 {
			return nil, unknownIn(name, unknown)
		}
	}
	body, err := convert(m)
	if err != nil {
		return nil, err
	}
	return body, Check(Packet{Body: body})
}

func unknownIn(message string, unknown []byte) error {
	number, _, _ := protowire.ConsumeTag(unknown)
	return unknownField(message, uint64(number))
}

func hello(m *wirepb.Hello) (Body, error) {
	if m.Version > math.MaxUint32 {
		return nil, tooLarge("a version", m.Version)
	}
	return Hello{
		Version: uint32(m.Version), Name: m.Name, Token: m.Token, Publications: m.Publications,
		Subscriptions: m.Subscriptions, Reaction: metasim.Time(m.Reaction),
	}, nil
}

func welcome(m *wirepb.Welcome) (Body, error) {
	return Welcome{Scenario: m.Scenario, Seed: m.Seed, Timed: m.Timed}, nil
}

func start(m *wirepb.Start) (Body, error) {
	if m.Until == nil {
		return Start{}, nil
	}
	if unknown := m.Until.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		return nil, unknownIn("Instant", unknown)
	}
	until := rawInstant{time: uint64(m.Until.Time), step: m.Until.Step, infinity: m.Until.Infinity}
	i, err := until.instant()
	return Start{Until: i}, err
}

func introduce(m *wirepb.Introduce) (Body, error) {
	if m.Client > math.MaxUint32 {
		return nil, tooLarge("a client", m.Client)
	}
	return Introduce{Client: metasim.ClientID(m.Client), Name: m.Name}, nil
}

func goodbye(*wirepb.Goodbye) (Body, error) { return Goodbye{}, nil }

func refuse(m *wirepb.Refuse) (Body, error) {
	if m.Reason < 0 {
		return nil, tooLarge("a reason", uint64(m.Reason))
	}
	return Refuse{Reason: Reason(m.Reason), Text: presentable(m.Text)}, nil
}
