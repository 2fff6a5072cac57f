package wire

import (
	"encoding/binary"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"metasim/metasim"
	"metasim/wire/wirepb"
)

// The field numbers of metasim.proto's Frame and Packet, which are written and read by hand: so limits hold before
// memory is taken, and errors say which packet it was.
const (
	framePackets protowire.Number = iota + 1
)

const (
	packetMember protowire.Number = iota + 1
	packetHello
	packetWelcome
	packetStart
	packetGoodbye
	packetRefuse
	packetSend
	packetPromise
	packetAdvance
	packetPollWait
	packetLeave
	packetDeliver
	packetAuthorize
)

// lengthSize is the length before each frame: u32, little-endian.
const lengthSize = 4

// An Encoder turns packets into frames. The zero value is ready. It is not safe for concurrent use.
type Encoder struct {
	// MaxFrame is the longest frame. Zero: the constant MaxFrame. Tests make it small.
	MaxFrame int

	buf []byte
}

// keepBuffer is how much memory an idle connection holds on to.
const keepBuffer = 1 << 20

// Frames returns packets as frames with their lengths, one after the other: a single one, unless limits ask for more.
// The bytes are valid until the next call. It fails with a *ProtocolError, and nothing is to be sent then.
func (e *Encoder) Frames(packets []Packet) ([]byte, error) {
	limit := e.MaxFrame
	if limit == 0 {
		limit = MaxFrame
	}
	buf := append(e.buf[:0], make([]byte, lengthSize)...)
	frame, count := 0, 0 // where the frame begins, and what it holds
	for _, p := range packets {
		if err := Check(p); err != nil {
			return nil, err
		}
		field, body := toProto(p.Body)
		bodySize := proto.Size(body)
		size := packetSize(p.Member, field, bodySize)
		if need := protowire.SizeTag(framePackets) + protowire.SizeBytes(size); need > limit {
			return nil, &ProtocolError{
				What: fmt.Sprintf("a packet of %d bytes", need), Bound: fmt.Sprintf("a frame has at most %d", limit),
				Remedy: "split the message",
			}
		} else if count > 0 && (count == MaxPackets || len(buf)-frame-lengthSize+need > limit) {
			seal(buf[frame:])
			frame, count = len(buf), 0
			buf = append(buf, make([]byte, lengthSize)...)
		}
		count++
		buf = protowire.AppendTag(buf, framePackets, protowire.BytesType)
		buf = protowire.AppendVarint(buf, uint64(size))
		var err error
		if buf, err = appendPacket(buf, p.Member, field, body, bodySize); err != nil {
			return nil, err
		}
	}
	seal(buf[frame:])
	e.buf = buf
	if count == 0 {
		return nil, nil
	}
	return buf, nil
}

// release lets go of a large buffer, once what it holds was written.
func (e *Encoder) release() {
	if cap(e.buf) > keepBuffer {
		e.buf = nil
	}
}

// seal writes the length of the last frame of a buffer, which begins at its start.
func seal(frame []byte) {
	binary.LittleEndian.PutUint32(frame, uint32(len(frame)-lengthSize))
}

func packetSize(member uint32, field protowire.Number, body int) int {
	size := protowire.SizeTag(field) + protowire.SizeBytes(body)
	if member != 0 {
		size += protowire.SizeTag(packetMember) + protowire.SizeVarint(uint64(member))
	}
	return size
}

func appendPacket(buf []byte, member uint32, field protowire.Number, body proto.Message, size int) ([]byte, error) {
	if member != 0 {
		buf = protowire.AppendTag(buf, packetMember, protowire.VarintType)
		buf = protowire.AppendVarint(buf, uint64(member))
	}
	buf = protowire.AppendTag(buf, field, protowire.BytesType)
	buf = protowire.AppendVarint(buf, uint64(size))
	buf, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(buf, body)
	if err != nil {
		return nil, &ProtocolError{
			What: fmt.Sprintf("a %T", body), Bound: "it cannot be encoded", Remedy: "mend the message", Err: err,
		}
	}
	return buf, nil
}

// toProto returns the twin of a body that Check has passed.
func toProto(body Body) (protowire.Number, proto.Message) {
	switch b := body.(type) {
	case Hello:
		return packetHello, &wirepb.Hello{
			Version: uint64(b.Version), Name: b.Name, Token: b.Token,
			Publications: b.Publications, Subscriptions: b.Subscriptions, Reaction: int64(b.Reaction),
		}
	case Welcome:
		return packetWelcome, &wirepb.Welcome{Scenario: b.Scenario, Seed: b.Seed}
	case Start:
		return packetStart, &wirepb.Start{Clients: b.Clients, Until: instantToProto(b.Until)}
	case Goodbye:
		return packetGoodbye, &wirepb.Goodbye{}
	case Refuse:
		return packetRefuse, &wirepb.Refuse{Reason: wirepb.Reason(b.Reason), Text: presentable(b.Text)}
	case metasim.Send:
		return packetSend, &wirepb.SendMessage{Channel: b.Channel, Sent: instantToProto(b.Sent), Payload: b.Payload}
	case metasim.Promise:
		return packetPromise, &wirepb.PromiseNoSend{NoSendBefore: instantToProto(b.NoSendBefore)}
	case metasim.Advance:
		return packetAdvance, &wirepb.NotifyAdvance{Report: reportToProto(b.Report)}
	case metasim.PollWait:
		return packetPollWait, &wirepb.PollWait{
			Report: reportToProto(b.Report), Want: instantToProto(b.Want), Messages: b.Messages,
		}
	case metasim.Leave:
		return packetLeave, &wirepb.Leave{Now: instantToProto(b.Now), Acked: b.Acked, Result: b.Result}
	case metasim.Deliver:
		m := &b.Message
		return packetDeliver, &wirepb.DeliveredMessage{
			Number: b.Number, From: uint64(m.From), Seq: m.Seq, Channel: m.Channel,
			Sent: instantToProto(m.Sent), Due: instantToProto(m.Due), Payload: m.Payload,
		}
	case metasim.Authorize:
		return packetAuthorize, &wirepb.AuthorizeAdvance{Until: instantToProto(b.Until)}
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

func reportToProto(r metasim.Report) *wirepb.Report {
	if r == (metasim.Report{}) {
		return nil
	}
	return &wirepb.Report{
		Now: instantToProto(r.Now), NoSendBefore: instantToProto(r.NoSendBefore),
		NextEvent: instantToProto(r.NextEvent), Acked: r.Acked,
	}
}

// presentable makes a text for people fit: a Refuse must arrive, whatever a program wrote before it died.
func presentable(text string) string {
	if len(text) > MaxText {
		text = text[:MaxText]
	}
	return strings.ToValidUTF8(text, "")
}
