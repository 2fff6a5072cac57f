package journal

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"metasim/metasim"
)

// A decoder makes events and effects of the bodies of records.
type decoder struct {
	sent  inFlight
	names map[string]string // strings that were read, so that each is allocated once
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

// name returns a string. The same name is allocated once.
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

// raw is the body of a message in a field, valid as long as the body of the record; nil: the field is absent.
type raw []byte

// fill decodes a message. Its fields are numbered from 1, in the order of targets; what is for its name in an error. A field that is not
// in the message leaves its target as it is.
func (d *decoder) fill(body []byte, what string, targets ...any) {
	for f := walk(body, &d.err); f.next(); {
		if int(f.num) > len(targets) {
			f.unknown(what)
			return
		}
		switch t := targets[f.num-1].(type) {
		case *metasim.ClientID:
			*t = f.client()
		case *metasim.Instant:
			*t = f.instant()
		case *uint64:
			*t = f.uint64()
		case *int64:
			*t = f.int64()
		case *uint32:
			*t = f.uint32()
		case *bool:
			*t = f.bool()
		case *metasim.Time:
			*t = f.time()
		case *metasim.Rule:
			*t = metasim.Rule(f.limited(math.MaxUint8))
		case *string:
			*t = d.name(f.bytes())
		case *[]string:
			*t = append(*t, d.name(f.bytes()))
		case *[]byte:
			*t = f.copied()
		case *raw:
			*t = f.bytes()
		}
	}
}

// event decodes the field of a Record that holds an event.
func (d *decoder) event(f *fields) metasim.Event {
	body := f.bytes()
	switch f.num {
	case joinField:
		ev := new(metasim.Join)
		d.fill(body, "a Join", &ev.Client, &ev.Publications, &ev.Subscriptions, &ev.Reaction)
		return ev
	case beginField:
		d.fill(body, "a Begin")
		return &metasim.Begin{}
	case sendField:
		ev := d.send(body)
		d.sent.send(ev)
		return ev
	case promiseField:
		ev := new(metasim.Promise)
		d.fill(body, "a Promise", &ev.Client, &ev.NoSendBefore)
		return ev
	case advanceField:
		ev := new(metasim.Advance)
		d.fill(body, "an Advance", &ev.Client, &ev.Now, &ev.NoSendBefore, &ev.NextEvent, &ev.Acked, &ev.Computed, &ev.CPU)
		return ev
	case pollWaitField:
		ev := new(metasim.PollWait)
		d.fill(body, "a PollWait", &ev.Client, &ev.Now, &ev.NoSendBefore, &ev.NextEvent, &ev.Acked, &ev.Want, &ev.Messages,
			&ev.Computed, &ev.CPU)
		return ev
	case leaveField:
		return d.leave(body)
	default:
		ev := new(metasim.Permit)
		d.fill(body, "a Permit", &ev.Until)
		return ev
	}
}

func (d *decoder) send(body []byte) *metasim.Send {
	ev := new(metasim.Send)
	d.fill(body, "a Send", &ev.Client, &ev.Channel, &ev.Sent, &ev.Payload)
	return ev
}

func (d *decoder) leave(body []byte) *metasim.Leave {
	ev := new(metasim.Leave)
	d.fill(body, "a Leave", &ev.Client, &ev.Now, &ev.Acked, &ev.Result, &ev.Cut)
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
			e = d.copyOf(f.num, inner)
		case authorizeField:
			a := new(metasim.Authorize)
			d.fill(inner, "an Authorize", &a.To, &a.Until)
			e = a
		case evictField:
			v, err := new(metasim.Evict), raw(nil)
			d.fill(inner, "an Evict", &v.Client, &err)
			v.Err = d.violation(err)
			e = v
		case reachedField:
			r := new(metasim.Reached)
			d.fill(inner, "a Reached", &r.Until, &r.Next)
			e = r
		case finishField:
			v, err := new(metasim.Finish), raw(nil)
			d.fill(inner, "a Finish", &err)
			v.Err = d.failure(err)
			e = v
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
func (d *decoder) copyOf(kind protowire.Number, body []byte) metasim.Effect {
	var (
		to     metasim.ClientID
		r      ref
		m      metasim.Message
		due    metasim.Instant
		number uint64
	)
	switch kind {
	case queueField:
		if d.fill(body, "a Queue", &to, &r.from, &r.seq, &due); d.err == nil {
			m, d.err = d.sent.queue(to, r)
		}
		m.Due = due
		return &metasim.Queue{To: to, Message: m}
	case loseField:
		if d.fill(body, "a Lose", &to, &r.from, &r.seq); d.err == nil {
			m, d.err = d.sent.lose(to, r)
		}
		return &metasim.Lose{To: to, Message: m}
	default:
		if d.fill(body, "a Deliver", &to, &r.from, &r.seq, &due, &number); d.err == nil {
			m, d.err = d.sent.deliver(to, r)
		}
		m.Due = due
		return &metasim.Deliver{To: to, Number: number, Message: m}
	}
}

// failure decodes what appendError writes; nil for an absent one.
func (d *decoder) failure(body raw) error {
	if body == nil {
		return nil
	}
	var text string
	var violation, steps raw
	d.fill(body, "an Error", &text, &violation, &steps)
	var cause error
	switch {
	case violation != nil:
		cause = d.violation(violation)
	case steps != nil:
		s := new(metasim.StepsError)
		d.fill(steps, "a StepsError", &s.At, &s.MaxSteps, &s.Cycle)
		cause = s
	}
	return restore(text, cause)
}

// violation decodes a Violation; nil for an absent one.
func (d *decoder) violation(body raw) *metasim.Violation {
	if body == nil {
		return nil
	}
	v := new(metasim.Violation)
	d.fill(body, "a Violation", &v.Rule, &v.Client, &v.Channel, &v.At, &v.Bound)
	return v
}
