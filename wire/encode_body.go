package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	"metasim/metasim"
)

// appendBody appends a body that Check has passed, and returns the tag of its field in a packet. Where the body ends with a
// payload, that is returned and not appended: it belongs right behind.
func appendBody(b []byte, body Body) (tag byte, head, payload []byte, err error) {
	switch m := body.(type) {
	case *metasim.Send:
		b = appendString(b, sendChannel, m.Channel)
		b = appendInstant(b, sendSent, m.Sent)
		return packetSend, appendCount(b, sendPayload, m.Payload), m.Payload, nil
	case *metasim.Promise:
		return packetPromise, appendInstant(b, promiseNoSendBefore, m.NoSendBefore), nil, nil
	case *metasim.Advance:
		b = appendReport(b, advanceReport, &m.Report)
		b = appendNumber(b, advanceComputed, uint64(m.Computed))
		return packetAdvance, appendNumber(b, advanceCPU, uint64(m.CPU)), nil, nil
	case *metasim.PollWait:
		b = appendReport(b, pollWaitReport, &m.Report)
		b = appendInstant(b, pollWaitWant, m.Want)
		b = appendNumber(b, pollWaitMessages, protowire.EncodeBool(m.Messages))
		b = appendNumber(b, pollWaitComputed, uint64(m.Computed))
		return packetPollWait, appendNumber(b, pollWaitCPU, uint64(m.CPU)), nil, nil
	case *metasim.Leave:
		b = appendInstant(b, leaveNow, m.Now)
		b = appendNumber(b, leaveAcked, m.Acked)
		return packetLeave, appendCount(b, leaveResult, m.Result), m.Result, nil
	case *metasim.Deliver:
		b = appendNumber(b, deliverNumber, m.Number)
		b = appendNumber(b, deliverFrom, uint64(m.Message.From))
		b = appendNumber(b, deliverSeq, m.Message.Seq)
		b = appendString(b, deliverChannel, m.Message.Channel)
		b = appendInstant(b, deliverSent, m.Message.Sent)
		b = appendInstant(b, deliverDue, m.Message.Due)
		return packetDeliver, appendCount(b, deliverPayload, m.Message.Payload), m.Message.Payload, nil
	case *metasim.Authorize:
		b = appendInstant(b, authorizeUntil, m.Until)
		return packetAuthorize, appendInstant(b, authorizeQuiet, m.QuietUntil), nil, nil
	}
	tag, b, err = appendRare(b, body)
	return tag, b, nil, err
}

// What is zero takes no bytes: a field that is absent is zero.

func appendNumber(b []byte, tag byte, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(append(b, tag), v)
}

func appendString(b []byte, tag byte, s string) []byte {
	if s == "" {
		return b
	}
	return append(protowire.AppendVarint(append(b, tag), uint64(len(s))), s...)
}

// appendCount announces the bytes of v, which follow.
func appendCount(b []byte, tag byte, v []byte) []byte { return appendNumber(b, tag, uint64(len(v))) }

func appendInstant(b []byte, tag byte, i metasim.Instant) []byte {
	switch i {
	case metasim.Start:
		return b
	case metasim.Infinity:
		return append(b, tag, 2, instantInfinity, 1)
	}
	b, at := open(b, tag)
	b = appendNumber(b, instantTime, uint64(i.Time))
	b = appendNumber(b, instantStep, uint64(i.Step))
	return shut(b, at)
}

func appendReport(b []byte, tag byte, r *metasim.Report) []byte {
	if r.Now == metasim.Start && r.NoSendBefore == metasim.Start && r.NextEvent == metasim.Start && r.Acked == 0 {
		return b
	}
	b, at := open(b, tag)
	b = appendInstant(b, reportNow, r.Now)
	b = appendInstant(b, reportNoSendBefore, r.NoSendBefore)
	b = appendInstant(b, reportNextEvent, r.NextEvent)
	b = appendNumber(b, reportAcked, r.Acked)
	return shut(b, at)
}

// open begins a message inside a body; shut writes its length into the one byte that was kept for it. That is enough:
// an Instant has 16 bytes at most, and a Report 65.
func open(b []byte, tag byte) (grown []byte, at int) { return append(b, tag, 0), len(b) + 2 }

func shut(b []byte, at int) []byte {
	b[at-1] = byte(len(b) - at)
	return b
}
