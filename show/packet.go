package show

import (
	"bufio"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of fields and values in perfetto's trace.proto, trace_packet.proto and track_event/*.proto: those that are used
// here. testdata/trace.proto has them as a schema.
const (
	tracePacket = 1

	packetTimestamp  = 8
	packetSequence   = 10
	packetEvent      = 11
	packetFlags      = 13
	packetDescriptor = 60

	trackUUID     = 1
	trackName     = 2
	trackParent   = 5
	trackCounter  = 8
	trackOrdering = 11
	trackRank     = 12

	eventAnnotation  = 4
	eventType        = 9
	eventTrack       = 11
	eventName        = 23
	eventDouble      = 44
	eventFlow        = 47
	eventTermination = 48

	annotationInt    = 4
	annotationString = 6
	annotationName   = 10

	sliceBegin = 1
	sliceEnd   = 2
	instant    = 3
	counter    = 4

	orderingExplicit = 3
)

// A packer writes the packets of a trace. After an error it writes no more.
type packer struct {
	w     *bufio.Writer
	begun bool
	err   error

	packet, body, inner, note message // used again and again
}

// message is a protobuf message in the making.
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

// write writes a packet. The first one says that nothing was before it.
func (p *packer) write(body message) {
	if p.err != nil {
		return
	}
	body = body.varint(packetSequence, 1)
	if !p.begun {
		p.begun = true
		body = body.varint(packetFlags, 1)
	}
	p.body = body[:0]
	p.packet = p.packet[:0].bytes(tracePacket, body)
	_, p.err = p.w.Write(p.packet)
}

// A track is a row of the trace. Those of one parent are shown in order of rank.
type track struct {
	uuid, parent uint64
	name         string
	rank         int
	counter      bool
}

func (p *packer) track(t track) {
	d := message(nil).varint(trackUUID, t.uuid).text(trackName, t.name).varint(trackOrdering, orderingExplicit).varint(trackRank, uint64(t.rank))
	if t.parent != 0 {
		d = d.varint(trackParent, t.parent)
	}
	if t.counter {
		d = d.bytes(trackCounter, nil)
	}
	p.write(message(nil).bytes(packetDescriptor, d))
}

func (p *packer) count(uuid uint64, at int64, v float64) {
	e := message(nil).varint(eventType, counter).varint(eventTrack, uuid).double(eventDouble, v)
	p.write(message(nil).varint(packetTimestamp, uint64(at)).bytes(packetEvent, e))
}

// event writes an event of a track.
func (p *packer) event(ev *event) {
	e := p.inner[:0].varint(eventType, ev.kind).varint(eventTrack, ev.track)
	if ev.name != "" {
		e = e.text(eventName, ev.name)
	}
	for _, n := range ev.notes {
		p.note = p.note[:0].text(annotationName, n.name)
		if n.text != "" {
			p.note = p.note.text(annotationString, n.text)
		} else {
			p.note = p.note.varint(annotationInt, uint64(n.number))
		}
		e = e.bytes(eventAnnotation, p.note)
	}
	if ev.flow != 0 {
		field := protowire.Number(eventFlow)
		if ev.terminates {
			field = eventTermination
		}
		e = e.fixed64(field, ev.flow)
	}
	p.inner = e
	p.write(p.body[:0].varint(packetTimestamp, uint64(ev.at)).bytes(packetEvent, e))
}
