package show

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

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

func (m message) double(field protowire.Number, v float64) message {
	return m.fixed64(field, math.Float64bits(v))
}

func (m message) bytes(field protowire.Number, v []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), v)
}

func (m message) text(field protowire.Number, v string) message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), v)
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
