package journal

import (
	"errors"
	"math"

	"metasim/metasim"
)

// effect decodes an Effect.
func (d *decoder) effect(body []byte) (e metasim.Effect) {
	for f := walk(body, &d.err); f.next(); {
		if e != nil {
			f.fail(errors.New("an effect of a record is two at once"))
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

// copyOf decodes what happens to the copy of a message for one client. The three effects have the same fields as far
// as they have them.
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
		m, d.err = d.book.queue(to, r)
		m.Due = due
		return &metasim.Queue{To: to, Message: m}
	case loseField:
		m, d.err = d.book.lose(to, r)
		return &metasim.Lose{To: to, Message: m}
	default:
		m, d.err = d.book.deliver(to, r)
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
			e.Err = d.violation(f.bytes())
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
			e.Err = d.error(f.bytes())
		default:
			f.unknown("a Finish")
		}
	}
	return e
}

func (d *decoder) error(body []byte) error {
	var (
		text      string
		violation *metasim.Violation
		steps     *metasim.StepsError
	)
	for f := walk(body, &d.err); f.next(); {
		switch f.num {
		case 1:
			text = f.text()
		case 2:
			violation = d.violation(f.bytes())
		case 3:
			steps = d.steps(f.bytes())
		default:
			f.unknown("an Error")
		}
	}
	return restore(text, violation, steps)
}

func (d *decoder) violation(body []byte) *metasim.Violation {
	var v metasim.Violation
	for f := walk(body, &d.err); f.next(); {
		switch f.num {
		case 1:
			v.Rule = metasim.Rule(f.limited(math.MaxUint8))
		case 2:
			v.Client = f.text()
		case 3:
			v.Channel = f.text()
		case 4:
			v.At = f.instant()
		case 5:
			v.Bound = f.instant()
		default:
			f.unknown("a Violation")
		}
	}
	return &v
}

func (d *decoder) steps(body []byte) *metasim.StepsError {
	var s metasim.StepsError
	for f := walk(body, &d.err); f.next(); {
		switch f.num {
		case 1:
			s.At = f.instant()
		case 2:
			s.MaxSteps = f.uint32()
		case 3:
			s.Cycle = f.text()
		default:
			f.unknown("a StepsError")
		}
	}
	return &s
}
