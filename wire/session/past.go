package session

import (
	"bytes"
	"fmt"
	"slices"

	"metasim/internal/fifo"
	"metasim/metasim"
)

// A Past is a part of what a client was given and of what it said, as a journal has it, and as far as it was not gone through again. Who
// reads the journal adds to it with Observe; who goes through it takes from Given and Sends.
type Past struct {
	Client metasim.ClientID
	Begin  *Saved                    // of the first part: the checkpoint that it follows; nil: it is all of the past
	Joined *metasim.Join             // nil: it has not joined in this part
	Given  fifo.Queue[Given]         // what it was given, up to an authorization each
	Sends  fifo.Queue[*metasim.Send] //
	Clock  metasim.Instant           // how far it has come: its last report, or its last send
	Last   struct {                  // what its reports said
		Acked        uint64          // the last delivery that it has handled
		NoSendBefore metasim.Instant // what it has promised
	}
	part []*metasim.Deliver // given, and no authorization has followed
}

// Given is what a client was given up to an authorization.
type Given struct {
	Messages []*metasim.Deliver
	Until    metasim.Instant
}

// Observe adds an event of a run with its effects, as far as they concern the client. It keeps them.
func (p *Past) Observe(ev metasim.Event, effects []metasim.Effect) {
	if id, of := metasim.ClientOf(ev); of && id == p.Client {
		p.event(ev)
	}
	for _, e := range effects {
		switch e := e.(type) {
		case *metasim.Deliver:
			p.deliver(e)
		case *metasim.Authorize:
			p.authorize(e)
		}
	}
}

func (p *Past) event(ev metasim.Event) {
	switch ev := ev.(type) {
	case *metasim.Join:
		p.Joined = ev
	case *metasim.Send:
		p.Sends.Push(ev)
		p.Clock = metasim.Later(p.Clock, ev.Sent)
	case *metasim.Promise:
		p.Last.NoSendBefore = metasim.Later(p.Last.NoSendBefore, ev.NoSendBefore)
	case *metasim.Advance:
		p.report(&ev.Report)
	case *metasim.PollWait:
		p.report(&ev.Report)
	}
}

func (p *Past) report(r *metasim.Report) {
	p.Clock = metasim.Later(p.Clock, r.Now)
	p.Last.NoSendBefore = metasim.Later(p.Last.NoSendBefore, r.NoSendBefore)
	p.Last.Acked = max(p.Last.Acked, r.Acked)
}

func (p *Past) deliver(e *metasim.Deliver) {
	if e.To == p.Client {
		p.part = append(p.part, e)
	}
}

func (p *Past) authorize(e *metasim.Authorize) {
	if e.To == p.Client {
		p.Given.Push(Given{p.part, e.Until})
		p.part = nil
	}
}

// Append adds the part that follows.
func (p *Past) Append(next *Past) {
	if next.Joined != nil {
		p.Joined = next.Joined
	}
	for i, g := range next.Given.All() {
		if i == 0 {
			g.Messages, p.part = slices.Concat(p.part, g.Messages), nil
		}
		p.Given.Push(g)
	}
	p.part = append(p.part, next.part...)
	for _, send := range next.Sends.All() {
		p.Sends.Push(send)
	}
	p.Clock = metasim.Later(p.Clock, next.Clock)
	p.Last.NoSendBefore = metasim.Later(p.Last.NoSendBefore, next.Last.NoSendBefore)
	p.Last.Acked = max(p.Last.Acked, next.Last.Acked)
}

// A Feed gives a client again what it was given, ahead of need but within bounds.
type Feed struct {
	Delivered uint64          // deliveries that it was given again
	Granted   metasim.Instant // how far it is authorized
	waiting   bool            // it has waited once: before that no client is authorized
	window    metasim.Window  // what it was given
}

// What a client is given ahead: as much as a dispatcher gives by default; and, if the client only sends, this many sends.
const (
	aheadBytes = metasim.DefaultAhead
	aheadSends = 1024
)

// skip begins after the delivery of this number.
func (f *Feed) skip(acked uint64) { f.window.Skip(acked) }

// Report takes a report; poll is the wait that it belongs to, nil if the client goes on computing. It returns an error if the client
// handled what it was not given.
func (f *Feed) Report(r *metasim.Report, poll *metasim.PollWait) error {
	if !f.window.Acknowledge(r.Acked) {
		return fmt.Errorf("it acknowledged delivery %d, of %d to %d; mend the client", r.Acked, f.window.Acked(), f.window.Last())
	}
	f.waiting = f.waiting || poll != nil
	return nil
}

// Waited reports whether the client has waited once, so that it may be given something.
func (f *Feed) Waited() bool { return f.waiting }

// IsAhead reports whether the client has as much ahead as it should, if it has still to repeat so many sends.
func (f *Feed) IsAhead(sends int) bool { return f.window.Size() >= aheadBytes || sends >= aheadSends }

// Answers reports whether the client needs no further authorization. One that computes needs none.
func (f *Feed) Answers(poll *metasim.PollWait, end metasim.Instant) bool {
	return poll == nil || f.window.Answers(poll, f.Granted, end)
}

// Give gives the client the next part with deliver. The authorization follows when all is given that is to be given now.
func (f *Feed) Give(next Given, deliver func(*metasim.Deliver)) {
	for _, d := range next.Messages {
		deliver(d)
		f.window.Give(d.Message.Due, len(d.Message.Payload))
		f.Delivered++
	}
	f.Granted = metasim.Later(f.Granted, next.Until)
}

// A Difference is the first place at which what is done again is not what was recorded.
type Difference struct {
	Where string // "entry 17 (3.2ms after the run began, poll of \"b\")", "message 3 of \"b\""
	Then  string // what was recorded
	Now   string // what is done now
}

func (d *Difference) Error() string {
	return fmt.Sprintf("%s is not what it was: then %s; now %s", d.Where, d.Then, d.Now)
}

// CompareJoins compares what a client declares. The order of channels does not matter.
func CompareJoins(name string, then, now *metasim.Join) *Difference {
	if a, b := declared(then), declared(now); a != b {
		return &Difference{fmt.Sprintf("what %q declares", name), a, b}
	}
	return nil
}

func declared(j *metasim.Join) string {
	sorted := func(s []string) []string { return slices.Compact(slices.Sorted(slices.Values(s))) }
	return fmt.Sprintf("publications %q, subscriptions %q, reaction %v", sorted(j.Publications), sorted(j.Subscriptions), j.Reaction)
}

// CompareSends compares a client's send of this number, from 0.
func CompareSends(name string, number uint64, then, now *metasim.Send) *Difference {
	if now.Channel == then.Channel && now.Sent == then.Sent && bytes.Equal(now.Payload, then.Payload) {
		return nil
	}
	at := firstDifference(then.Payload, now.Payload)
	return &Difference{WhereSent(name, number), SendText(then, at), SendText(now, at)}
}

// WhereSent names the place of a send.
func WhereSent(name string, number uint64) string {
	return fmt.Sprintf("message %d of %q", number, name)
}

// WhereEnds names the place where a client ends.
func WhereEnds(name string) string { return fmt.Sprintf("the end of %q", name) }

// OnwardText says that a client had sent nothing more then.
func OnwardText(clock metasim.Instant) string {
	return fmt.Sprintf("it sent nothing before it came to %v", clock)
}

// WaitText says for what a client waits.
func WaitText(poll *metasim.PollWait) string {
	return fmt.Sprintf("it waits at %v for %v", poll.Now, poll.Want)
}

// shown is how many bytes of a payload are shown.
const shown = 32

// SendText says what a send is; its payload is shown from a byte on.
func SendText(ev *metasim.Send, from int) string {
	text := fmt.Sprintf("%d bytes on %q at %v", len(ev.Payload), ev.Channel, ev.Sent)
	if from == 0 && len(ev.Payload) <= shown {
		return fmt.Sprintf("%s: %q", text, ev.Payload)
	}
	return fmt.Sprintf("%s, from byte %d on: %q", text, from, ev.Payload[min(from, len(ev.Payload)):min(from+shown, len(ev.Payload))])
}

// firstDifference returns the first byte at which two payloads differ, and 0 if they are short: then they are shown whole.
func firstDifference(p, q []byte) int {
	if max(len(p), len(q)) <= shown {
		return 0
	}
	i := 0
	for i < min(len(p), len(q)) && p[i] == q[i] {
		i++
	}
	return i
}
