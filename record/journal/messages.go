package journal

import (
	"google.golang.org/protobuf/encoding/protowire"

	"metasim/metasim"
)

// This file maps events and effects to messages of journalpb/journal.proto. Both writing and reading use this one table.
//
// A row is for one type. It has the name of the type for errors, and pointers to its fields. The field at index i has the number i+1.

// The numbers of the fields of a Record. An event's number tells its type; likewise an effect's in an Effect.
const (
	recordKind, recordWall, recordEffects = 1, 2, 15

	joinField, beginField, sendField, promiseField       = 3, 4, 5, 6
	advanceField, pollWaitField, leaveField, permitField = 7, 8, 9, 10
	creditField                                          = 11

	queueField, loseField, deliverField, authorizeField = 1, 2, 3, 4
	evictField, reachedField, finishField               = 5, 6, 7
)

// maxFields is how many fields a row has at most: room for them is on the stack.
const maxFields = 10

// eventRow returns the row of an event, and its field number in a Record: 0 for a type that is no event of metasim. It appends the fields
// to room.
func eventRow(ev metasim.Event, room []any) (num protowire.Number, name string, fields []any) {
	switch ev := ev.(type) {
	case *metasim.Join:
		return joinField, "a Join", append(room, &ev.Client, &ev.Publications, &ev.Subscriptions, &ev.Reaction)
	case *metasim.Begin:
		return beginField, "a Begin", room
	case *metasim.Send:
		return sendField, "a Send", append(room, &ev.Client, &ev.Channel, &ev.Sent, &ev.Payload)
	case *metasim.Promise:
		return promiseField, "a Promise", append(room, &ev.Client, &ev.NoSendBefore)
	case *metasim.Advance:
		return advanceField, "an Advance", append(room, &ev.Client, &ev.Now, &ev.NoSendBefore, &ev.NextEvent, &ev.Acked,
			&ev.Computed, &ev.CPU, &ev.CoreWait)
	case *metasim.PollWait:
		return pollWaitField, "a PollWait", append(room, &ev.Client, &ev.Now, &ev.NoSendBefore, &ev.NextEvent, &ev.Acked,
			&ev.Want, &ev.Messages, &ev.Computed, &ev.CPU, &ev.CoreWait)
	case *metasim.Leave:
		return leaveField, "a Leave", append(room, &ev.Client, &ev.Now, &ev.Acked, &ev.Result, &ev.Cut)
	case *metasim.Permit:
		return permitField, "a Permit", append(room, &ev.Until)
	case *metasim.Credit:
		return creditField, "a Credit", append(room, &ev.Client, &ev.Until)
	}
	return 0, "", nil
}

// newEvent has for the number of each event what makes an empty one.
var newEvent = [...]func() metasim.Event{
	joinField:     func() metasim.Event { return new(metasim.Join) },
	beginField:    func() metasim.Event { return new(metasim.Begin) },
	sendField:     func() metasim.Event { return new(metasim.Send) },
	promiseField:  func() metasim.Event { return new(metasim.Promise) },
	advanceField:  func() metasim.Event { return new(metasim.Advance) },
	pollWaitField: func() metasim.Event { return new(metasim.PollWait) },
	leaveField:    func() metasim.Event { return new(metasim.Leave) },
	permitField:   func() metasim.Event { return new(metasim.Permit) },
	creditField:   func() metasim.Event { return new(metasim.Credit) },
}

// effectRow returns the row of an effect, and its field number in an Effect: 0 for a type that is no effect of metasim. A payload is in
// the journal once, in its Send. So the row of a message has only the recipient, the number of the send, and the due time.
func effectRow(e metasim.Effect, room []any) (num protowire.Number, name string, fields []any) {
	switch e := e.(type) {
	case *metasim.Queue:
		return queueField, "a Queue", append(room, &e.To, &e.Message.From, &e.Message.Seq, &e.Message.Due)
	case *metasim.Lose:
		return loseField, "a Lose", append(room, &e.To, &e.Message.From, &e.Message.Seq)
	case *metasim.Deliver:
		return deliverField, "a Deliver", append(room, &e.To, &e.Message.From, &e.Message.Seq, &e.Message.Due, &e.Number)
	case *metasim.Authorize:
		return authorizeField, "an Authorize", append(room, &e.To, &e.Until)
	case *metasim.Evict:
		return evictField, "an Evict", append(room, &e.Client, &e.Err)
	case *metasim.Reached:
		return reachedField, "a Reached", append(room, &e.Until, &e.Next)
	case *metasim.Finish:
		return finishField, "a Finish", append(room, &e.Err)
	}
	return 0, "", nil
}

// newEffect has for the number of each effect what makes an empty one.
var newEffect = [...]func() metasim.Effect{
	queueField:     func() metasim.Effect { return new(metasim.Queue) },
	loseField:      func() metasim.Effect { return new(metasim.Lose) },
	deliverField:   func() metasim.Effect { return new(metasim.Deliver) },
	authorizeField: func() metasim.Effect { return new(metasim.Authorize) },
	evictField:     func() metasim.Effect { return new(metasim.Evict) },
	reachedField:   func() metasim.Effect { return new(metasim.Reached) },
	finishField:    func() metasim.Effect { return new(metasim.Finish) },
}

func violationRow(v *metasim.Violation) (name string, fields []any) {
	return "a Violation", []any{&v.Rule, &v.Client, &v.Channel, &v.At, &v.Bound}
}

func stepsRow(e *metasim.StepsError) (name string, fields []any) {
	return "a StepsError", []any{&e.At, &e.MaxSteps, &e.Cycle}
}
