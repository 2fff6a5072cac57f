package wire

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"metasim/metasim"
)

// A cursor reads the fields of a message, in any order. After the first error, which it keeps, there are no more fields
// and all values are zero.
//
//	for c.more() {
//		switch c.tag {
//		case leaveAcked:
//			m.Acked = c.number()
//		default:
//			c.unknown("Leave")
//		}
//	}
//
// As in the generated code, the last value of a field counts, and a message field that comes twice is merged.
type cursor struct {
	b         []byte
	next, end int    // b[next:end] is still to be read; to move a slice instead would cost a write barrier each time
	tag       uint64 // of the field whose value comes next
	message   string // for errors
	err       error
}

// read returns a cursor over a message. Its name is for errors.
func read(b []byte, message string) cursor { return cursor{b: b, end: len(b), message: message} }

// more reads the next tag. It is false at the end of the message, and after an error.
func (c *cursor) more() bool {
	if c.next >= c.end {
		return false
	}
	c.tag = c.number() // 0 after an error: no field has that tag
	return true
}

func (c *cursor) number() uint64 {
	if c.next < c.end && c.b[c.next] < 0x80 {
		c.next++
		return uint64(c.b[c.next-1])
	}
	return c.longNumber()
}

func (c *cursor) longNumber() uint64 {
	v, n := protowire.ConsumeVarint(c.b[min(c.next, c.end):c.end])
	if n < 0 {
		c.fail(unreadable(c.message, errors.New("a number has no end, or more than 64 bits")))
		return 0
	}
	c.next += n
	return v
}

// count reads a length, and returns the end of the bytes that it counts.
func (c *cursor) count() (end int) {
	n := c.number()
	if c.err == nil && n > uint64(c.end-c.next) {
		c.fail(unreadable(c.message, fmt.Errorf("%d bytes are announced where %d follow", n, c.end-c.next)))
	}
	if c.err != nil {
		return c.next
	}
	return c.next + int(n)
}

// bytes returns a length-delimited value. It points into the message.
func (c *cursor) bytes() []byte {
	end := c.count()
	b := c.b[c.next:end]
	c.next = end
	return b
}

// instant reads an Instant and merges it into i.
func (c *cursor) instant(i *rawInstant) {
	outer := c.end
	for c.end = c.count(); c.more(); {
		switch c.tag {
		case instantTime:
			i.time = c.number()
		case instantStep:
			i.step = c.number()
		case instantInfinity:
			i.infinity = c.number() != 0
		default:
			c.unknown("Instant")
		}
	}
	c.end = outer
}

// report reads a Report and merges it into r.
func (c *cursor) report(r *rawReport) {
	outer := c.end
	for c.end = c.count(); c.more(); {
		switch c.tag {
		case reportNow:
			c.instant(&r.now)
		case reportNoSendBefore:
			c.instant(&r.noSendBefore)
		case reportNextEvent:
			c.instant(&r.nextEvent)
		case reportAcked:
			r.acked = c.number()
		default:
			c.unknown("Report")
		}
	}
	c.end = outer
}

// unknown refuses the current field: to ignore it could change what the message means.
func (c *cursor) unknown(message string) {
	if c.err != nil {
		return
	}
	number, kind := protowire.DecodeTag(c.tag)
	if number < protowire.MinValidNumber || protowire.ConsumeFieldValue(number, kind, c.b[c.next:c.end]) < 0 {
		c.fail(unreadable(c.message, fmt.Errorf("after a tag of %d comes no field", c.tag)))
		return
	}
	c.fail(unknownField(message, uint64(number)))
}

// fail keeps the first error, and leaves nothing to read.
func (c *cursor) fail(err error) {
	if err != nil && c.err == nil {
		c.err, c.next = err, len(c.b)
	}
}

// at converts an Instant, once all of it was read.
func (c *cursor) at(raw *rawInstant) metasim.Instant {
	i, err := raw.instant()
	c.fail(err)
	return i
}

// reported converts a Report, once all of it was read.
func (c *cursor) reported(raw *rawReport) metasim.Report {
	return metasim.Report{
		Now: c.at(&raw.now), NoSendBefore: c.at(&raw.noSendBefore), NextEvent: c.at(&raw.nextEvent), Acked: raw.acked,
	}
}

// A rawInstant holds the fields of an Instant as they came.
type rawInstant struct {
	time, step uint64
	infinity   bool
}

func (r *rawInstant) instant() (metasim.Instant, error) {
	switch {
	case r.infinity && (r.time != 0 || r.step != 0):
		return metasim.Start, protocolError(fmt.Sprintf("an instant at infinity and at %dns", int64(r.time)),
			"it is one of the two", speak)
	case r.infinity:
		return metasim.Infinity, nil
	case r.step > math.MaxUint32:
		return metasim.Start, tooLarge("an instant's step", r.step)
	case r.time == math.MaxInt64:
		return metasim.Start, protocolError(fmt.Sprintf("an instant at %dns", r.time), "that is infinity, which has a field of its own", speak)
	}
	return metasim.Instant{Time: metasim.Time(r.time), Step: uint32(r.step)}, nil
}

// A rawReport holds the fields of a Report as they came.
type rawReport struct {
	now, noSendBefore, nextEvent rawInstant
	acked                        uint64
}

// The fields of metasim.proto that this package encodes and decodes by hand: Frame and Packet, so that limits are checked
// before memory is allocated and errors name the packet; and the bodies of a running simulation, because there are
// millions of them. Tests compare each with the generated code.

// The kinds of fields in use: protowire.VarintType and protowire.BytesType as untyped constants.
const (
	varint  = 0
	counted = 2 // a length, then so many bytes
)

// The tags of Frame, Packet and the bodies: a field's number and kind. One byte is enough, as no number is above 15, but
// that of a Checkpoint.
const (
	framePackets = 1<<3 | counted

	packetMember    = 1<<3 | varint
	packetHello     = 2<<3 | counted
	packetWelcome   = 3<<3 | counted
	packetStart     = 4<<3 | counted
	packetGoodbye   = 5<<3 | counted
	packetRefuse    = 6<<3 | counted
	packetSend      = 7<<3 | counted
	packetPromise   = 8<<3 | counted
	packetAdvance   = 9<<3 | counted
	packetPollWait  = 10<<3 | counted
	packetLeave     = 11<<3 | counted
	packetDeliver   = 12<<3 | counted
	packetAuthorize = 13<<3 | counted
	packetIntroduce = 14<<3 | counted
	packetFailed    = 15<<3 | counted

	packetCheckpoint = 16<<3 | counted // of two bytes, as a varint

	instantTime     = 1<<3 | varint
	instantStep     = 2<<3 | varint
	instantInfinity = 3<<3 | varint

	reportNow          = 1<<3 | counted
	reportNoSendBefore = 2<<3 | counted
	reportNextEvent    = 3<<3 | counted
	reportAcked        = 4<<3 | varint

	sendChannel = 1<<3 | counted
	sendSent    = 2<<3 | counted
	sendPayload = 3<<3 | counted

	promiseNoSendBefore = 1<<3 | counted

	advanceReport   = 1<<3 | counted
	advanceComputed = 2<<3 | varint
	advanceCPU      = 3<<3 | varint
	advanceCoreWait = 4<<3 | varint

	pollWaitReport   = 1<<3 | counted
	pollWaitWant     = 2<<3 | counted
	pollWaitMessages = 3<<3 | varint
	pollWaitComputed = 4<<3 | varint
	pollWaitCPU      = 5<<3 | varint
	pollWaitCoreWait = 6<<3 | varint

	leaveNow    = 1<<3 | counted
	leaveAcked  = 2<<3 | varint
	leaveResult = 3<<3 | counted

	deliverNumber  = 1<<3 | varint
	deliverFrom    = 2<<3 | varint
	deliverSeq     = 3<<3 | varint
	deliverChannel = 4<<3 | counted
	deliverSent    = 5<<3 | counted
	deliverDue     = 6<<3 | counted
	deliverPayload = 7<<3 | counted

	authorizeUntil = 1<<3 | counted
	authorizeQuiet = 2<<3 | counted
)
