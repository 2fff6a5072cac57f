package show

import (
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of fields and values in perfetto's trace.proto, trace_packet.proto, interned_data.proto, clock_snapshot.proto and
// track_event/*.proto: those that are used here. testdata/trace.proto has them as a schema.
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

	flagBegins = 1 // nothing before this packet of the sequence is needed
	flagNeeds  = 2 // what was before it is

	snapshotClock    = 1
	clockID          = 1
	clockTimestamp   = 2
	clockIncremental = 3

	traceClock = 6  // that of the trace as a whole
	deltaClock = 64 // one of the sequence's own: a timestamp is the time since that of the packet before

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

	// The kinds of texts, and what one says.
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

// message is a protobuf message in the making.
type message []byte

// number adds a number as it stands in lengths and tags too: seven bits a byte, the lowest first.
func (m message) number(v uint64) message {
	for v >= 0x80 {
		m = append(m, byte(v)|0x80)
		v >>= 7
	}
	return append(m, byte(v))
}

func (m message) tag(field protowire.Number, kind protowire.Type) message {
	return m.number(protowire.EncodeTag(field, kind))
}

func (m message) varint(field protowire.Number, v uint64) message {
	return m.tag(field, protowire.VarintType).number(v)
}

func (m message) fixed64(field protowire.Number, v uint64) message {
	return protowire.AppendFixed64(m.tag(field, protowire.Fixed64Type), v)
}

func (m message) double(field protowire.Number, v float64) message {
	return m.fixed64(field, math.Float64bits(v))
}

func (m message) bytes(field protowire.Number, v []byte) message {
	return append(m.tag(field, protowire.BytesType).number(uint64(len(v))), v...)
}

func (m message) text(field protowire.Number, v string) message {
	return append(m.tag(field, protowire.BytesType).number(uint64(len(v))), v...)
}

// open begins a message in this one, and close ends it, told where it begins. Most are shorter than 128 bytes, for which one
// byte is left to say their length.
func (m message) open(field protowire.Number) (message, int) {
	m = append(m.tag(field, protowire.BytesType), 0)
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
	m[:begin-1].number(length)
	return m
}

// A text is one of the texts of a trace, by its number in the lexicon; 0 is none.
type text uint32

// A lexicon has the texts of a trace: names and notes, which are few and said often. The packet that says one first spells it
// out, and those after it are content with its number.
type lexicon struct {
	texts []string
	said  []bool
}

func (l *lexicon) add(s string) text {
	l.texts, l.said = append(l.texts, s), append(l.said, false)
	return text(len(l.texts))
}

// A packer writes the packets of a trace: one sequence, in which each counts on what those before it said. (It could be a
// sequence for each track. But trace_processor spends 30 KB on one, and each would spell out the same texts.) After an error
// it writes no more.
type packer struct {
	lexicon
	parcel  *parcel
	begun   bool
	events  int
	at      int64 // of the last one
	spelled message
	err     error
}

// A track is a row of the trace. Those of one parent are shown in order of rank.
type track struct {
	uuid, parent uint64
	name         string
	rank         int
	counter      bool
}

// track describes a track.
func (p *packer) track(t track) {
	d := message(nil).varint(trackUUID, t.uuid).text(trackName, t.name).varint(trackOrdering, orderingExplicit).varint(trackRank, uint64(t.rank))
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
	parcel, err := newParcel(w)
	if err != nil {
		return nil, err
	}
	p := &packer{parcel: parcel}
	p.rewind()
	return p, nil
}

// rewind sets the clock of the events back to 0: it only knows of time that passes.
func (p *packer) rewind() {
	p.at = 0
	ours := message(nil).varint(clockID, deltaClock).varint(clockTimestamp, 0).varint(clockIncremental, 1)
	theirs := message(nil).varint(clockID, traceClock).varint(clockTimestamp, 0)
	m, packet := p.open()
	p.end(m.bytes(packetClocks, message(nil).bytes(snapshotClock, ours).bytes(snapshotClock, theirs)), packet)
}

// open begins a packet. The first says that nothing was before it, and whose clock the others go by.
func (p *packer) open() (message, int) {
	m, packet := p.parcel.packets.open(tracePacket)
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
	p.spelled = p.spelled[:0]
	m, packet := p.open()
	m = m.varint(packetTimestamp, uint64(ev.at-p.at))
	m, inner := m.open(packetEvent)
	m = m.varint(eventType, ev.kind).varint(eventTrack, ev.track)
	if ev.name != 0 {
		m = m.varint(eventCategory, p.say(textCategory, ev.category)).varint(eventName, p.say(textEventName, ev.name))
	}
	for i := range ev.notes {
		m = p.annotate(m, &ev.notes[i])
	}
	if ev.kind == counter {
		m = m.double(eventDouble, ev.value)
	}
	if ev.flow != 0 {
		field := protowire.Number(eventFlow)
		if ev.terminates {
			field = eventTermination
		}
		m = m.fixed64(field, ev.flow)
	}
	m = m.close(inner)
	if len(p.spelled) > 0 {
		m = m.bytes(packetTexts, p.spelled)
	}
	p.at = ev.at
	p.events++
	p.end(m, packet)
}

func (p *packer) annotate(m message, n *note) message {
	m, inner := m.open(eventAnnotation)
	m = m.varint(annotationName, p.say(textAnnotationName, n.name))
	if n.text != 0 {
		m = m.varint(annotationString, p.say(textAnnotation, n.text))
	} else {
		m = m.varint(annotationInt, uint64(n.number))
	}
	return m.close(inner)
}

// say returns the number of a text, which the packet spells out where none did before.
func (p *packer) say(kind protowire.Number, t text) uint64 {
	if !p.said[t-1] {
		p.said[t-1] = true
		p.spelled = p.spelled.bytes(kind, message(nil).varint(textNumber, uint64(t)).text(textItself, p.texts[t-1]))
	}
	return uint64(t)
}

// end ends a packet, with which the parcel may be full.
func (p *packer) end(m message, packet int) {
	p.parcel.packets = m.close(packet)
	if len(p.parcel.packets) >= maxParcel {
		p.send()
	}
}

// send sends what there is.
func (p *packer) send() {
	if p.err == nil {
		p.err = p.parcel.send()
	}
	p.parcel.packets = p.parcel.packets[:0]
}
