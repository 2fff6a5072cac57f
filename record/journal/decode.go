package journal

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"metasim/metasim"
)

// A decoder makes events and effects of the bodies of records.
type decoder struct {
	sent  inFlight
	names map[string]string // channels, so that each is allocated once
	err   error             // of the record being decoded
}

// maxNames bounds decoder.names.
const maxNames = 1 << 12

func newDecoder() decoder { return decoder{sent: newInFlight(), names: map[string]string{}} }

// kindOf returns the kind of a record, which is always the first field; 0 if the body does not begin with one.
func kindOf(body []byte) byte {
	if len(body) < 2 || body[0] != byte(protowire.EncodeTag(recordKind, protowire.VarintType)) {
		return 0
	}
	return body[1]
}

// record adds a record to an entry. It completes messages from the sends before.
func (d *decoder) record(body []byte, e *Entry) error {
	kind := kindOf(body)
	if kind != step && kind != settle && kind != more {
		return fmt.Errorf("a record has the kind %d, which this metasim does not know", kind)
	}
	d.err = nil
	for f := walk(body[2:], &d.err); f.next(); {
		switch {
		case f.num == recordWall:
			if wall := int64(f.uint64()); kind != more {
				e.Wall = wall
			}
		case f.num == recordEffects:
			e.Effects = append(e.Effects, d.effect(f.bytes()))
		case joinField <= f.num && f.num <= permitField:
			if kind != step || e.Event != nil {
				return fmt.Errorf("a record of kind %d has an event, but must not have it", kind)
			}
			e.Event = d.event(&f)
		default:
			f.unknown("a Record")
		}
	}
	if d.err == nil && kind == step && e.Event == nil {
		return fmt.Errorf("a record of kind %d has no event", kind)
	}
	return d.err
}

// name returns the name of a channel.
func (d *decoder) name(b []byte) string {
	if s, ok := d.names[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(d.names) < maxNames {
		d.names[s] = s
	}
	return s
}

// event decodes the field of a Record that holds an event.
func (d *decoder) event(f *fields) metasim.Event {
	body := f.bytes()
	switch f.num {
	case joinField:
		return d.join(body)
	case beginField:
		for g := walk(body, &d.err); g.next(); {
			g.unknown("a Begin")
		}
		return &metasim.Begin{}
	case sendField:
		ev := d.send(body)
		d.sent.send(ev)
		return ev
	case promiseField:
		return d.promise(body)
	case advanceField:
		return d.advance(body)
	case pollWaitField:
		return d.pollWait(body)
	case leaveField:
		return d.leave(body)
	default:
		return d.permit(body)
	}
}

func (d *decoder) join(body []byte) (ev *metasim.Join) {
	ev = new(metasim.Join)
	for f := walk(body, &d.err); f.next(); {
		switch f.num {
		case 1:
			ev.Client = f.client()
		case 2:
			ev.Publications = append(ev.Publications, f.text())
		case 3:
			ev.Subscriptions = append(ev.Subscriptions, f.text())
		case 4:
			ev.Reaction = f.time()
		default:
			f.unknown("a Join")
		}
	}
	return ev
}

func (d *decoder) send(body []byte) (ev *metasim.Send) {
	ev = new(metasim.Send)
	for f := walk(body, &d.err); f.next(); {
		switch f.num {
		case 1:
			ev.Client = f.client()
		case 2:
			ev.Channel = d.name(f.bytes())
		case 3:
			ev.Sent = f.instant()
		case 4:
			ev.Payload = f.copied()
		default:
			f.unknown("a Send")
		}
	}
	return ev
}

func (d *decoder) promise(body []byte) (ev *metasim.Promise) {
	ev = new(metasim.Promise)
	for f := walk(body, &d.err); f.next(); {
		switch f.num {
		case 1:
			ev.Client = f.client()
		case 2:
			ev.NoSendBefore = f.instant()
		default:
			f.unknown("a Promise")
		}
	}
	return ev
}

// report decodes a field of a report. It returns false if the field is not one of a report.
func report(f *fields, client *metasim.ClientID, r *metasim.Report) bool {
	switch f.num {
	case 1:
		*client = f.client()
	case 2:
		r.Now = f.instant()
	case 3:
		r.NoSendBefore = f.instant()
	case 4:
		r.NextEvent = f.instant()
	case 5:
		r.Acked = f.uint64()
	default:
		return false
	}
	return true
}

func (d *decoder) advance(body []byte) (ev *metasim.Advance) {
	ev = new(metasim.Advance)
	for f := walk(body, &d.err); f.next(); {
		switch {
		case report(&f, &ev.Client, &ev.Report):
		case f.num == 6:
			ev.Computed = f.int64()
		case f.num == 7:
			ev.CPU = f.int64()
		default:
			f.unknown("an Advance")
		}
	}
	return ev
}

func (d *decoder) pollWait(body []byte) (ev *metasim.PollWait) {
	ev = new(metasim.PollWait)
	for f := walk(body, &d.err); f.next(); {
		switch {
		case report(&f, &ev.Client, &ev.Report):
		case f.num == 6:
			ev.Want = f.instant()
		case f.num == 7:
			ev.Messages = f.bool()
		case f.num == 8:
			ev.Computed = f.int64()
		case f.num == 9:
			ev.CPU = f.int64()
		default:
			f.unknown("a PollWait")
		}
	}
	return ev
}

func (d *decoder) leave(body []byte) (ev *metasim.Leave) {
	ev = new(metasim.Leave)
	for f := walk(body, &d.err); f.next(); {
		switch f.num {
		case 1:
			ev.Client = f.client()
		case 2:
			ev.Now = f.instant()
		case 3:
			ev.Acked = f.uint64()
		case 4:
			ev.Result = f.copied()
		case 5:
			ev.Cut = f.bool()
		default:
			f.unknown("a Leave")
		}
	}
	return ev
}

func (d *decoder) permit(body []byte) (ev *metasim.Permit) {
	ev = new(metasim.Permit)
	for f := walk(body, &d.err); f.next(); {
		switch f.num {
		case 1:
			ev.Until = f.instant()
		default:
			f.unknown("a Permit")
		}
	}
	return ev
}

// effect decodes an Effect.
func (d *decoder) effect(body []byte) (e metasim.Effect) {
	for f := walk(body, &d.err); f.next(); {
		if e != nil {
			f.fail(errors.New("an effect of a record has two types at once"))
			break
		}
		switch inner := f.bytes(); f.num {
		case queueField, loseField, deliverField:
			e = d.copyOf(&f)
		case authorizeField:
			e = d.authorize(inner)
		case evictField:
			e = d.evict(inner)
		case reachedField:
			e = d.reached(inner)
		case finishField:
			e = d.finish(inner)
		default:
			f.unknown("an Effect")
		}
	}
	if e == nil && d.err == nil {
		d.err = errors.New("an effect of a record is empty")
	}
	return e
}

// copyOf decodes a Queue, a Lose or a Deliver: what happens to the copy of a message for one recipient. Their fields have the same
// numbers.
func (d *decoder) copyOf(outer *fields) metasim.Effect {
	var (
		to     metasim.ClientID
		r      ref
		due    metasim.Instant
		number uint64
	)
	for f := walk(outer.bytes(), &d.err); f.next(); {
		switch {
		case f.num == 1:
			to = f.client()
		case f.num == 2:
			r.from = f.client()
		case f.num == 3:
			r.seq = f.uint64()
		case f.num == 4 && outer.num != loseField:
			due = f.instant()
		case f.num == 5 && outer.num == deliverField:
			number = f.uint64()
		default:
			f.unknown("a Queue, Lose or Deliver")
		}
	}
	if d.err != nil {
		return nil
	}
	var m metasim.Message
	switch outer.num {
	case queueField:
		m, d.err = d.sent.queue(to, r)
		m.Due = due
		return &metasim.Queue{To: to, Message: m}
	case loseField:
		m, d.err = d.sent.lose(to, r)
		return &metasim.Lose{To: to, Message: m}
	default:
		m, d.err = d.sent.deliver(to, r)
		m.Due = due
		return &metasim.Deliver{To: to, Number: number, Message: m}
	}
}

func (d *decoder) authorize(body []byte) (e *metasim.Authorize) {
	e = new(metasim.Authorize)
	for f := walk(body, &d.err); f.next(); {
		switch f.num {
		case 1:
			e.To = f.client()
		case 2:
			e.Until = f.instant()
		default:
			f.unknown("an Authorize")
		}
	}
	return e
}

func (d *decoder) evict(body []byte) (e *metasim.Evict) {
	e = new(metasim.Evict)
	for f := walk(body, &d.err); f.next(); {
		switch f.num {
		case 1:
			e.Client = f.client()
		case 2:
			e.Err = decodeViolation(f.bytes(), &d.err)
		default:
			f.unknown("an Evict")
		}
	}
	return e
}

func (d *decoder) reached(body []byte) (e *metasim.Reached) {
	e = new(metasim.Reached)
	for f := walk(body, &d.err); f.next(); {
		switch f.num {
		case 1:
			e.Until = f.instant()
		case 2:
			e.Next = f.instant()
		default:
			f.unknown("a Reached")
		}
	}
	return e
}

func (d *decoder) finish(body []byte) (e *metasim.Finish) {
	e = new(metasim.Finish)
	for f := walk(body, &d.err); f.next(); {
		switch f.num {
		case 1:
			e.Err = decodeError(f.bytes(), &d.err)
		default:
			f.unknown("a Finish")
		}
	}
	return e
}
