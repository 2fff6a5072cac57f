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

// The bodies of joining and parting go through the generated code: they come once for each member, or each two.

// appendRare appends such a body, which Check has passed.
func appendRare(b []byte, body Body) (byte, []byte, error) {
	tag, twin := toProto(body)
	b, err := proto.MarshalOptions{}.MarshalAppend(b, twin)
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
	// A bug of this package, which the audit test finds.
	panic(fmt.Sprintf("wire: Check let a %T pass that has no twin", body))
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

// presentable makes a text for people fit: a Refuse must arrive, whatever a program wrote before it died.
func presentable(text string) string {
	if len(text) > MaxText {
		text = text[:MaxText]
	}
	return strings.ToValidUTF8(text, "")
}

// decodeRare parses such a body and converts it. A field that this version does not know is refused, as ignoring it
// could change what a message means. Hello and Refuse alone may have such fields: peers of two versions must be able
// to part.
func decodeRare[M proto.Message](b []byte, m M, convert func(M) (Body, error)) (Body, error) {
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
		return nil, beyond("a version", m.Version)
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
		return nil, beyond("a client", m.Client)
	}
	return Introduce{Client: metasim.ClientID(m.Client), Name: m.Name}, nil
}

func goodbye(*wirepb.Goodbye) (Body, error) { return Goodbye{}, nil }

func refuse(m *wirepb.Refuse) (Body, error) {
	if m.Reason < 0 {
		return nil, beyond("a reason", uint64(m.Reason))
	}
	return Refuse{Reason: Reason(m.Reason), Text: presentable(m.Text)}, nil
}
