package wire

import (
	"math"

	"metasim/internal/slab"
	"metasim/metasim"
)

// A bodyDecoder decodes the bodies of packets. It lends their memory until reclaim.
type bodyDecoder struct {
	memory
	sends          slab.Slab[metasim.Send]
	deliveries     slab.Slab[metasim.Deliver]
	promises       repeatCache[metasim.Promise]
	advances       repeatCache[metasim.Advance]
	polls          repeatCache[metasim.PollWait]
	authorizations repeatCache[metasim.Authorize]
}

func (d *bodyDecoder) reclaim() {
	d.sends.ReclaimAtMost(maxLent)
	d.deliveries.ReclaimAtMost(maxLent)
	d.promises.reclaim()
	d.advances.reclaim()
	d.polls.reclaim()
	d.authorizations.reclaim()
}

// body decodes a body by the tag of its field in a packet, and checks it as Check does.
func (d *bodyDecoder) body(tag uint64, b []byte) (Body, error) {
	switch tag {
	case packetSend:
		return d.send(b)
	case packetPromise:
		return d.promises.get(promise, nil, b)
	case packetAdvance:
		return d.advances.get(advance, advanceWork, b)
	case packetPollWait:
		return d.polls.get(pollWait, pollWaitWork, b)
	case packetLeave:
		return d.leave(b)
	case packetDeliver:
		return d.deliver(b)
	case packetAuthorize:
		return d.authorizations.get(authorize, nil, b)
	}
	return handshake(tag, b)
}

func (d *bodyDecoder) send(b []byte) (Body, error) {
	m := d.sends.Lend()
	var sent rawInstant
	var payload []byte
	c := read(b, "SendMessage")
	for c.more() {
		switch c.tag {
		case sendChannel:
			m.Channel = d.name(&c)
		case sendSent:
			c.instant(&sent)
		case sendPayload:
			payload = c.bytes()
		default:
			c.unknown("SendMessage")
		}
	}
	m.Sent = c.at(&sent)
	if c.fail(checkMessage(m.Channel, payload, m.Sent, m.Sent)); c.err != nil {
		return nil, c.err
	}
	m.Payload = d.payload(payload)
	return m, nil
}

func promise(m *metasim.Promise, b []byte) (same int, err error) {
	var bound rawInstant
	c := read(b, "PromiseNoSend")
	for c.more() {
		if c.tag == promiseNoSendBefore {
			c.instant(&bound)
		} else {
			c.unknown("PromiseNoSend")
		}
	}
	m.NoSendBefore = c.at(&bound)
	c.fail(checkTime("a promise", m.NoSendBefore.Time))
	return len(b), c.err
}

func advance(m *metasim.Advance, b []byte) (same int, err error) {
	var report rawReport
	var w rawWork
	c := read(b, "NotifyAdvance")
	for c.more() {
		switch c.tag {
		case advanceReport:
			c.report(&report)
		case advanceComputed:
			w.computed = c.number()
		case advanceCPU:
			w.cpu = c.number()
		case advanceCoreWait:
			w.coreWait = c.number()
		default:
			c.unknown("NotifyAdvance")
		}
		w.passed(&c, advanceComputed)
	}
	m.Report = c.reported(&report)
	w.put(&m.Report)
	c.fail(checkReport(&m.Report))
	return w.same, c.err
}

func advanceWork(m *metasim.Advance, b []byte) error {
	return work(&m.Report, b, advanceComputed)
}

func pollWait(m *metasim.PollWait, b []byte) (same int, err error) {
	var report rawReport
	var want rawInstant
	var w rawWork
	c := read(b, "PollWait")
	for c.more() {
		switch c.tag {
		case pollWaitReport:
			c.report(&report)
		case pollWaitWant:
			c.instant(&want)
		case pollWaitMessages:
			m.Messages = c.number() != 0
		case pollWaitComputed:
			w.computed = c.number()
		case pollWaitCPU:
			w.cpu = c.number()
		case pollWaitCoreWait:
			w.coreWait = c.number()
		default:
			c.unknown("PollWait")
		}
		w.passed(&c, pollWaitComputed)
	}
	m.Report, m.Want = c.reported(&report), c.at(&want)
	w.put(&m.Report)
	c.fail(checkPollWait(m))
	return w.same, c.err
}

func pollWaitWork(m *metasim.PollWait, b []byte) error {
	return work(&m.Report, b, pollWaitComputed)
}

func (d *bodyDecoder) leave(b []byte) (Body, error) {
	m := new(metasim.Leave)
	var now rawInstant
	var result []byte
	c := read(b, "Leave")
	for c.more() {
		switch c.tag {
		case leaveNow:
			c.instant(&now)
		case leaveAcked:
			m.Acked = c.number()
		case leaveResult:
			result = c.bytes()
		default:
			c.unknown("Leave")
		}
	}
	m.Now, m.Result = c.at(&now), result
	if c.fail(checkLeave(m)); c.err != nil {
		return nil, c.err
	}
	m.Result = d.payload(result)
	return m, nil
}

func (d *bodyDecoder) deliver(b []byte) (Body, error) {
	m := d.deliveries.Lend()
	var from uint64
	var sent, due rawInstant
	var payload []byte
	c := read(b, "DeliveredMessage")
	for c.more() {
		switch c.tag {
		case deliverNumber:
			m.Number = c.number()
		case deliverFrom:
			from = c.number()
		case deliverSeq:
			m.Message.Seq = c.number()
		case deliverChannel:
			m.Message.Channel = d.name(&c)
		case deliverSent:
			c.instant(&sent)
		case deliverDue:
			c.instant(&due)
		case deliverPayload:
			payload = c.bytes()
		default:
			c.unknown("DeliveredMessage")
		}
	}
	if from > math.MaxUint32 {
		c.fail(tooLarge("a sender", from))
	}
	m.Message.From, m.Message.Sent, m.Message.Due = metasim.ClientID(from), c.at(&sent), c.at(&due)
	if c.fail(checkMessage(m.Message.Channel, payload, m.Message.Sent, m.Message.Due)); c.err != nil {
		return nil, c.err
	}
	m.Message.Payload = d.payload(payload)
	return m, nil
}

func authorize(m *metasim.Authorize, b []byte) (same int, err error) {
	var until, quiet rawInstant
	c := read(b, "AuthorizeAdvance")
	for c.more() {
		switch c.tag {
		case authorizeUntil:
			c.instant(&until)
		case authorizeQuiet:
			c.instant(&quiet)
		default:
			c.unknown("AuthorizeAdvance")
		}
	}
	m.Until, m.QuietUntil = c.at(&until), c.at(&quiet)
	c.fail(checkAuthorize(m))
	return len(b), c.err
}
