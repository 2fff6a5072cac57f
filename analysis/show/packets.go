package show

import (
	"bytes"
	"io"
	"math"

	"github.com/klauspost/compress/zlib"
	"google.golang.org/protobuf/encoding/protowire"
)

// An event is written to a track.
type event struct {
	track      uint64
	at         int64
	kind       uint64
	category   text
	name       text // 0: the end of a slice, or a counter
	notes      []note
	value      float64 // of a counter
	flow       uint64  // the number of the arrow that begins or ends here; 0: none
	terminates bool
}

// A note is a property of an event: a text, or a number if text is 0.
type note struct {
	name, text text
	number     int64
}

// A text is the number of an interned text; 0 is none.
type text uint32

// An interner holds the texts of a trace, which are few and used often. The first packet that uses a text contains it. Later packets contain
// its number.
type interner struct {
	texts   []string
	written []bool
}

func (n *interner) add(s string) text {
	n.texts, n.written = append(n.texts, s), append(n.written, false)
	return text(len(n.texts))
}

// A packer writes the packets of a trace. They are one sequence, in which a packet depends on those before it. (One sequence for each track
// is possible. But trace_processor needs 30 KB for a sequence, and each would contain the same texts.) After an error it writes no more.
type packer struct {
	interner
	w        io.Writer
	packets  message // not written yet
	zip      *zlib.Writer
	zipped   bytes.Buffer
	begun    bool
	events   int
	at       int64   // of the last event
	newTexts message // that the current packet contains
	err      error
}

// A track is a row of the trace. The tracks of one parent are shown in order of rank.
type track struct {
	uuid, parent uint64
	name         string
	rank         int
	counter      bool
}

// track writes the description of a track.
func (p *packer) track(t track) {
	d := message(nil).varint(trackUUID, t.uuid).bytes(trackName, []byte(t.name)).varint(trackOrdering, orderingExplicit).varint(trackRank, uint64(t.rank))
	if t.parent != 0 {
		d = d.varint(trackParent, t.parent)
	}
	if t.counter {
		d = d.bytes(trackCounter, nil)
	}
	m, packet := p.open()
	p.end(m.bytes(packetDescriptor, d), packet)
}

func newPacker(w io.Writer) (*packer, error) {
	p := &packer{w: w}
	var err error
	p.zip, err = zlib.NewWriterLevel(&p.zipped, zlib.BestSpeed) // slower levels make it hardly smaller
	p.rewind()
	return p, err
}

// rewind sets the clock of the events back to 0: it counts the time since the packet before, which cannot be negative.
func (p *packer) rewind() {
	p.at = 0
	ours := message(nil).varint(clockID, deltaClock).varint(clockTimestamp, 0).varint(clockIncremental, 1)
	theirs := message(nil).varint(clockID, traceClock).varint(clockTimestamp, 0)
	m, packet := p.open()
	p.end(m.bytes(packetClocks, message(nil).bytes(snapshotClock, ours).bytes(snapshotClock, theirs)), packet)
}

// open begins a packet. The first one says that it depends on nothing, and which clock the packets use.
func (p *packer) open() (message, int) {
	m, packet := p.packets.open(tracePacket)
	m = m.varint(packetSequence, 1)
	if !p.begun {
		p.begun = true
		return m.varint(packetFlags, flagBegins).bytes(packetDefaults, message(nil).varint(defaultClock, deltaClock)), packet
	}
	return m.varint(packetFlags, flagNeeds), packet
}

// event writes an event.
func (p *packer) event(ev *event) {
	if ev.at < p.at {
		p.rewind()
	}
	p.newTexts = p.newTexts[:0]
	m, packet := p.open()
	m = m.varint(packetTimestamp, uint64(ev.at-p.at))
	m, inner := m.open(packetEvent)
	m = m.varint(eventType, ev.kind).varint(eventTrack, ev.track)
	if ev.name != 0 {
		m = m.varint(eventCategory, p.intern(textCategory, ev.category)).varint(eventName, p.intern(textEventName, ev.name))
	}
	for i := range ev.notes {
		m = p.annotate(m, &ev.notes[i])
	}
	if ev.kind == counter {
		m = m.fixed64(eventDouble, math.Float64bits(ev.value))
	}
	if ev.flow != 0 {
		field := protowire.Number(eventFlow)
		if ev.terminates {
			field = eventTermination
		}
		m = m.fixed64(field, ev.flow)
	}
	m = m.close(inner)
	if len(p.newTexts) > 0 {
		m = m.bytes(packetTexts, p.newTexts)
	}
	p.at = ev.at
	p.events++
	p.end(m, packet)
}

func (p *packer) annotate(m message, n *note) message {
	m, inner := m.open(eventAnnotation)
	m = m.varint(annotationName, p.intern(textAnnotationName, n.name))
	if n.text != 0 {
		m = m.varint(annotationString, p.intern(textAnnotation, n.text))
	} else {
		m = m.varint(annotationInt, uint64(n.number))
	}
	return m.close(inner)
}

// intern returns the number of a text. The current packet contains the text if no packet before does.
func (p *packer) intern(kind protowire.Number, t text) uint64 {
	if !p.written[t-1] {
		p.written[t-1] = true
		p.newTexts = p.newTexts.bytes(kind, message(nil).varint(textNumber, uint64(t)).bytes(textItself, []byte(p.texts[t-1])))
	}
	return uint64(t)
}

// end ends a packet. If there are enough packets, it writes them.
func (p *packer) end(m message, packet int) {
	if p.packets = m.close(packet); len(p.packets) >= maxChunk {
		p.flush()
	}
}

// maxChunk is how many bytes of packets are compressed together. Perfetto wants a packet that contains others to be shorter than 512 KB.
const maxChunk = 400_000

// flush writes the packets so far as one compressed packet: the packets of a trace are much alike.
func (p *packer) flush() {
	if p.err == nil && len(p.packets) > 0 {
		p.zipped.Reset()
		p.zip.Reset(&p.zipped)
		_, _ = p.zip.Write(p.packets) // if it fails, Close returns the same error; writing to memory does not fail
		if p.err = p.zip.Close(); p.err == nil {
			_, p.err = p.w.Write(message(nil).bytes(tracePacket, message(nil).bytes(packetCompressed, p.zipped.Bytes())))
		}
	}
	p.packets = p.packets[:0]
}

// The numbers of fields and values of Perfetto's trace.proto, trace_packet.proto, interned_data.proto, clock_snapshot.proto and
// track_event/*.proto that a trace uses. testdata/trace.proto is their schema.
const (
	tracePacket = 1

	packetClocks     = 6
	packetTimestamp  = 8
	packetSequence   = 10
	packetEvent      = 11
	packetTexts      = 12
	packetFlags      = 13
	packetCompressed = 50
	packetDefaults   = 59
	packetDescriptor = 60

	flagBegins = 1 // this packet depends on no packet before it
	flagNeeds  = 2 // it depends on packets before it

	snapshotClock    = 1
	clockID          = 1
	clockTimestamp   = 2
	clockIncremental = 3

	traceClock = 6  // the clock of the whole trace
	deltaClock = 64 // a clock of the sequence: a timestamp is the time since the packet before

	defaultClock = 58

	trackUUID     = 1
	trackName     = 2
	trackParent   = 5
	trackCounter  = 8
	trackOrdering = 11
	trackRank     = 12

	eventCategory    = 3
	eventAnnotation  = 4
	eventType        = 9
	eventName        = 10
	eventTrack       = 11
	eventDouble      = 44
	eventFlow        = 47
	eventTermination = 48

	annotationName   = 1
	annotationInt    = 4
	annotationString = 17

	// The kinds of interned texts, and the fields of one.
	textCategory       = 1
	textEventName      = 2
	textAnnotationName = 3
	textAnnotation     = 29
	textNumber         = 1
	textItself         = 2

	sliceBegin = 1
	sliceEnd   = 2
	instant    = 3
	counter    = 4

	orderingExplicit = 3
)

// message is a protobuf message that is being written.
type message []byte

func (m message) varint(field protowire.Number, v uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), v)
}

func (m message) fixed64(field protowire.Number, v uint64) message {
	return protowire.AppendFixed64(protowire.AppendTag(m, field, protowire.Fixed64Type), v)
}

func (m message) bytes(field protowire.Number, v []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), v)
}

// open begins a message inside this one and returns where it begins. close ends it. open reserves one byte for the length, which is enough
// for most messages; close moves a longer message.
func (m message) open(field protowire.Number) (message, int) {
	m = append(protowire.AppendTag(m, field, protowire.BytesType), 0)
	return m, len(m)
}

func (m message) close(begin int) message {
	length := uint64(len(m) - begin)
	if length < 0x80 {
		m[begin-1] = byte(length)
		return m
	}
	more := protowire.SizeVarint(length) - 1
	m = append(m, make([]byte, more)...)
	copy(m[begin+more:], m[begin:])
	protowire.AppendVarint(m[:begin-1], length)
	return m
}
