package journal

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"metasim/metasim"
)

// A decoder makes events and effects of the bodies of records.
type decoder struct {
	sent  inFlight
	names map[string]string // strings that were read, so that each is allocated once
	err   error             // of the record being decoded
	after uint64            // every client of the entry being decoded is before this one

	inputs   bool   // effects are not decoded: see SkipEffects
	recorded []byte // those of the entry being decoded, as they were written
	kept     []byte // memory that they share with those before
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
	for f := walk(body[2:], &d.err); !d.keep(&f) && f.next(); {
		switch {
		case f.num == recordWall:
			if wall := int64(f.uint64()); kind != more {
				e.Wall = wall
			}
		case f.num == recordEffects:
			e.Effects = append(e.Effects, d.effect(f.bytes()))
		case joinField <= f.num && f.num <= creditField:
			if kind != step || e.Event != nil {
				return fmt.Errorf("a record of kind %d has an event, but must not have it", kind)
			}
			e.Event = d.event(&f)
			if send, ok := e.Event.(*metasim.Send); ok && !d.inputs {
				d.sent.send(send)
			}
		default:
			f.unknown("a Record")
		}
	}
	if d.err == nil && kind == step && e.Event == nil {
		return fmt.Errorf("a record of kind %d has no event", kind)
	}
	return d.err
}

// keptAtOnce is how much memory effects that are not decoded share.
const keptAtOnce = 1 << 16

// keep adds what a record still has, from its first effect on, to recorded. It returns false if no effect follows, or effects are decoded.
func (d *decoder) keep(f *fields) bool {
	if !d.inputs || len(f.rest) == 0 || f.rest[0] != bytesTag(recordEffects) {
		return false
	}
	if d.recorded != nil { // of the records before this one
		d.recorded = append(d.recorded, f.rest...)
		return true
	}
	if len(f.rest) > cap(d.kept)-len(d.kept) {
		d.kept = make([]byte, 0, max(keptAtOnce, len(f.rest)))
	}
	n := len(d.kept)
	d.kept = append(d.kept, f.rest...)
	d.recorded = d.kept[n:len(d.kept):len(d.kept)]
	return true
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
			*t = metasim.ClientID(f.limited(math.MaxUint32))
			d.after = max(d.after, uint64(*t)+1)
		case *metasim.Instant:
			*t = f.instant()
		case *uint64:
			*t = f.uint64()
		case *int64:
			*t = int64(f.uint64())
		case *uint32:
			*t = uint32(f.limited(math.MaxUint32))
		case *bool:
			*t = f.limited(1) == 1
		case *metasim.Time:
			*t = metasim.Time(f.uint64())
		case *metasim.Rule:
			*t = metasim.Rule(f.limited(math.MaxUint8))
		case *string:
			*t = d.name(f.bytes())
		case *[]string:
			*t = append(*t, d.name(f.bytes()))
		case *[]byte:
			*t = append([]byte(nil), f.bytes()...) // nil if it is empty
		case **metasim.Violation:
			*t = new(metasim.Violation)
			what, fields := violationRow(*t)
			d.fill(f.bytes(), what, fields...)
		case **metasim.StepsError:
			*t = new(metasim.StepsError)
			what, fields := stepsRow(*t)
			d.fill(f.bytes(), what, fields...)
		case *error:
			*t = d.failure(f.bytes())
		}
	}
}

// event decodes the field of a Record that holds an event.
func (d *decoder) event(f *fields) metasim.Event {
	var room [maxFields]any
	ev := newEvent[f.num]()
	_, what, fields := eventRow(ev, room[:0])
	d.fill(f.bytes(), what, fields...)
	return ev
}

// effect decodes an Effect, and completes its message from the sends before.
func (d *decoder) effect(body []byte) (e metasim.Effect) {
	for f := walk(body, &d.err); f.next(); {
		if e != nil {
			f.fail(errors.New("an effect of a record has two types at once"))
			break
		}
		inner := f.bytes()
		if int(f.num) >= len(newEffect) {
			f.unknown("an Effect")
			break
		}
		e = newEffect[f.num]()
		var room [maxFields]any
		_, what, fields := effectRow(e, room[:0])
		if d.fill(inner, what, fields...); d.err == nil {
			d.complete(e)
		}
	}
	if e == nil && d.err == nil {
		d.err = errors.New("an effect of a record is empty")
	}
	return e
}

// complete fills in the message of an effect, which names only its send and when it is due.
func (d *decoder) complete(e metasim.Effect) {
	fill := func(m *metasim.Message, to metasim.ClientID, find func(metasim.ClientID, ref) (metasim.Message, error)) {
		due := m.Due
		*m, d.err = find(to, ref{m.From, m.Seq})
		m.Due = due
	}
	switch e := e.(type) {
	case *metasim.Queue:
		fill(&e.Message, e.To, d.sent.queue)
	case *metasim.Lose:
		fill(&e.Message, e.To, d.sent.lose)
	case *metasim.Deliver:
		fill(&e.Message, e.To, d.sent.deliver)
	}
}

// failure decodes an Error: the error of metasim that it has, if its text is the same, and otherwise one with that text.
func (d *decoder) failure(body []byte) error {
	var text string
	var violation *metasim.Violation
	var steps *metasim.StepsError
	d.fill(body, "an Error", &text, &violation, &steps)
	switch {
	case violation != nil:
		return restore(text, violation)
	case steps != nil:
		return restore(text, steps)
	}
	return restore(text, nil)
}

// A recordedError is an error that was read: its text, and the error of metasim that it wrapped, if any.
type recordedError struct {
	text  string
	cause error
}

func (e *recordedError) Error() string { return e.text }
func (e *recordedError) Unwrap() error { return e.cause }

// restore returns the error of a text and a typed cause, which may be nil: the cause itself where its text is the same.
func restore(text string, cause error) error {
	text = strings.TrimPrefix(text, "metasim: ") // journals of earlier versions have it
	if cause != nil && cause.Error() == text {
		return cause
	}
	return &recordedError{text: text, cause: cause}
}
