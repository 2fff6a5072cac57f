package journal

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"metasim/metasim"
)

// The functions of this file append messages of journalpb by hand: a fifth of the cost of the generated code, and
// nothing is allocated. Zeros are left out, as proto3 has it.

// appendEvent appends the field of a Record that an event is.
func appendEvent(b []byte, ev metasim.Event) ([]byte, error) {
	var at int
	switch ev := ev.(type) {
	case *metasim.Join:
		b, at = open(b, joinField)
		b = appendJoin(b, ev)
	case *metasim.Begin:
		b, at = open(b, beginField)
	case *metasim.Send:
		b, at = open(b, sendField)
		b = appendVarint(b, 1, uint64(ev.Client))
		b = appendText(b, 2, ev.Channel)
		b = appendInstant(b, 3, ev.Sent)
		b = appendBytes(b, 4, ev.Payload)
	case *metasim.Promise:
		b, at = open(b, promiseField)
		b = appendVarint(b, 1, uint64(ev.Client))
		b = appendInstant(b, 2, ev.NoSendBefore)
	case *metasim.Advance:
		b, at = open(b, advanceField)
		b = appendReport(b, ev.Client, &ev.Report)
		b = appendWork(b, 6, &ev.Report)
	case *metasim.PollWait:
		b, at = open(b, pollWaitField)
		b = appendReport(b, ev.Client, &ev.Report)
		b = appendInstant(b, 6, ev.Want)
		b = appendBool(b, 7, ev.Messages)
		b = appendWork(b, 8, &ev.Report)
	case *metasim.Leave:
		b, at = open(b, leaveField)
		b = appendLeave(b, ev)
	case *metasim.Permit:
		b, at = open(b, permitField)
		b = appendInstant(b, 1, ev.Until)
	default:
		return b, fmt.Errorf("journal: an event of type %T cannot be written; it is none of metasim's", ev)
	}
	return shut(b, at), nil
}

func appendJoin(b []byte, ev *metasim.Join) []byte {
	b = appendVarint(b, 1, uint64(ev.Client))
	for _, p := range ev.Publications {
		b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), p)
	}
	for _, s := range ev.Subscriptions {
		b = protowire.AppendString(protowire.AppendTag(b, 3, protowire.BytesType), s)
	}
	return appendVarint(b, 4, uint64(ev.Reaction))
}

func appendReport(b []byte, client metasim.ClientID, r *metasim.Report) []byte {
	b = appendVarint(b, 1, uint64(client))
	b = appendInstant(b, 2, r.Now)
	b = appendInstant(b, 3, r.NoSendBefore)
	b = appendInstant(b, 4, r.NextEvent)
	return appendVarint(b, 5, r.Acked)
}

// appendWork appends what a report says of the client's work, from field num on.
func appendWork(b []byte, num protowire.Number, r *metasim.Report) []byte {
	return appendVarint(appendVarint(b, num, uint64(r.Computed)), num+1, uint64(r.CPU))
}

func appendLeave(b []byte, ev *metasim.Leave) []byte {
	b = appendVarint(b, 1, uint64(ev.Client))
	b = appendInstant(b, 2, ev.Now)
	b = appendVarint(b, 3, ev.Acked)
	b = appendBytes(b, 4, ev.Result)
	return appendBool(b, 5, ev.Cut)
}

// AppendEffects appends effects as a record has them. Two lists of effects of the same sends are the same if these bytes
// are: payloads lie with their sends.
func AppendEffects(b []byte, effs []metasim.Effect) ([]byte, error) {
	for _, e := range effs {
		var err error
		if b, err = appendEffect(b, e); err != nil {
			return b, err
		}
	}
	return b, nil
}

// appendEffect appends one more effect to a Record.
func appendEffect(b []byte, e metasim.Effect) ([]byte, error) {
	b, outer := open(b, recordEffects)
	var at int
	switch e := e.(type) {
	case *metasim.Queue:
		b, at = open(b, queueField)
		b = appendRef(b, e.To, &e.Message)
		b = appendInstant(b, 4, e.Message.Due)
	case *metasim.Lose:
		b, at = open(b, loseField)
		b = appendRef(b, e.To, &e.Message)
	case *metasim.Deliver:
		b, at = open(b, deliverField)
		b = appendRef(b, e.To, &e.Message)
		b = appendInstant(b, 4, e.Message.Due)
		b = appendVarint(b, 5, e.Number)
	case *metasim.Authorize:
		b, at = open(b, authorizeField)
		b = appendVarint(b, 1, uint64(e.To))
		b = appendInstant(b, 2, e.Until)
	case *metasim.Evict:
		b, at = open(b, evictField)
		b = appendVarint(b, 1, uint64(e.Client))
		b = appendViolation(b, 2, e.Err)
	case *metasim.Reached:
		b, at = open(b, reachedField)
		b = appendInstant(b, 1, e.Until)
		b = appendInstant(b, 2, e.Next)
	case *metasim.Finish:
		b, at = open(b, finishField)
		b = appendError(b, 1, e.Err)
	default:
		return b, fmt.Errorf("journal: an effect of type %T cannot be written; it is none of metasim's", e)
	}
	return shut(shut(b, at), outer), nil
}

// appendRef appends who gets which send.
func appendRef(b []byte, to metasim.ClientID, m *metasim.Message) []byte {
	b = appendVarint(b, 1, uint64(to))
	b = appendVarint(b, 2, uint64(m.From))
	return appendVarint(b, 3, m.Seq)
}

// appendError appends the text of err, and what of metasim's own errors it is or wraps.
func appendError(b []byte, num protowire.Number, err error) []byte {
	if err == nil {
		return b
	}
	b, at := open(b, num)
	b = appendText(b, 1, err.Error())
	var violation *metasim.Violation
	var steps *metasim.StepsError
	switch {
	case errors.As(err, &violation):
		b = appendViolation(b, 2, violation)
	case errors.As(err, &steps):
		var inner int
		b, inner = open(b, 3)
		b = appendInstant(b, 1, steps.At)
		b = appendVarint(b, 2, uint64(steps.MaxSteps))
		b = shut(appendText(b, 3, steps.Cycle), inner)
	}
	return shut(b, at)
}

func appendViolation(b []byte, num protowire.Number, v *metasim.Violation) []byte {
	if v == nil {
		return b
	}
	b, at := open(b, num)
	b = appendVarint(b, 1, uint64(v.Rule))
	b = appendText(b, 2, v.Client)
	b = appendText(b, 3, v.Channel)
	b = appendInstant(b, 4, v.At)
	return shut(appendInstant(b, 5, v.Bound), at)
}
