package trace

import (
	"slices"

	"metasim/metasim"
)

// event handles what a client says, before the dispatcher does.
func (t *tracer) event(ev metasim.Event) {
	switch ev := ev.(type) {
	case *metasim.Join:
		s := &t.tl.Totals.Clients[ev.Client]
		s.Reaction, s.Publications, s.Subscriptions = max(0, ev.Reaction), ev.Publications, ev.Subscriptions
		t.record(ev, ev.Client)
	case *metasim.Begin:
		t.begin()
	case *metasim.Permit, *metasim.Credit:
		if pause := metasim.ClientID(len(t.clients)); !slices.Contains(t.spoke, pause) {
			t.spoke = append(t.spoke, pause) // for the watchers of a pause, and of credit
		}
	case *metasim.Send:
		t.work(ev.Client, ev.Sent)
		t.record(ev, ev.Client)
		c := &t.clients[ev.Client]
		for c.sends.Len() > 0 && c.sends.First().copies == 0 {
			c.sends.Pop()
			c.settled++
		}
		c.sends.Push(sent{clock: c.clock})
		t.countSend(ev)
	case *metasim.Promise:
		c := &t.clients[ev.Client]
		t.work(ev.Client, c.now)
		c.accuracy.raise(ev.NoSendBefore.Time)
		t.tl.Totals.Clients[ev.Client].Reports++
	case *metasim.Advance:
		t.report(ev.Client, &ev.Report)
		t.record(ev, ev.Client)
	case *metasim.PollWait:
		t.report(ev.Client, &ev.Report)
		t.record(ev, ev.Client)
		t.poll(ev)
	case *metasim.Leave:
		t.leave(ev)
	}
}

// effect handles what the dispatcher decided.
func (t *tracer) effect(e metasim.Effect) {
	switch e := e.(type) {
	case *metasim.Queue:
		t.queue(e.To, &e.Message, false)
	case *metasim.Lose:
		t.queue(e.To, &e.Message, true)
	case *metasim.Deliver:
		t.deliver(e)
	case *metasim.Authorize:
		t.authorize(e)
	}
}

// begin starts the clients: all have joined and compute from now on.
func (t *tracer) begin() {
	t.began = true
	t.tl.Begin = t.wall
	for i := range t.tl.Starts {
		t.tl.Starts[i].End = t.wall
	}
	t.profile.begin(t.wall)
	for i := range t.clients {
		if c := &t.clients[i]; !c.gone {
			t.run(c)
			t.blame.initializing++
		}
	}
}

// run notes that a client may compute.
func (t *tracer) run(c *client) {
	if t.began && !c.running {
		c.running, c.since, c.fresh = true, t.wall, c.polled
		t.profile.change(t.wall, +1)
		c.cores.begin(t.profile.crowded)
	}
}

// rest notes that a client computes no more: its initialization or its grant ends.
func (t *tracer) rest(id metasim.ClientID) {
	c := &t.clients[id]
	if c.running {
		c.running = false
		t.profile.change(t.wall, -1)
		if !c.polled {
			s := &t.tl.Totals.Clients[id]
			t.tl.Starts[id] = Start{End: t.wall, Work: s.Work, CoreWait: s.CoreWait}
		}
	}
	if c.grant >= 0 {
		t.tl.Grants[c.grant].Reported = t.wall
		c.grant = -1
	}
}

// report handles the report of an Advance or a PollWait.
func (t *tracer) report(id metasim.ClientID, r *metasim.Report) {
	t.work(id, r.Now)
	c := &t.clients[id]
	c.endLap()
	c.steps.end()
	t.tl.Totals.Clients[id].Reports++
	c.accuracy.add(promise{at: r.Now.Time, floor: r.NoSendBefore.Time, next: r.NextEvent.Time})
}

// poll starts a blocked interval. The dispatcher may end it at once.
func (t *tracer) poll(ev *metasim.PollWait) {
	c := &t.clients[ev.Client]
	t.rest(ev.Client)
	if !c.polled {
		c.polled = true
		t.blame.initializing--
	}
	if !ev.Messages {
		c.accuracy.raise(ev.Want.Time)
	}
	c.waiting = true
	c.wait = wait{
		since: t.wall, polled: t.wall, counted: t.wall, from: ev.Now, want: ev.Want, eager: ev.Messages, path: noPath,
		parts: c.wait.parts[:0], epoch: c.wait.epoch + 1,
	}
	t.asked = append(t.asked, ev.Client)
}

func (t *tracer) leave(ev *metasim.Leave) {
	c := &t.clients[ev.Client]
	if c.gone {
		return
	}
	if ev.Cut {
		t.tl.Cut = append(t.tl.Cut, Cut{ev.Client, ev.Now})
	} else {
		t.work(ev.Client, ev.Now)
		c.endLap()
		t.record(ev, ev.Client)
	}
	if c.waiting {
		t.endWait(ev.Client, ev.Client, c.granted)
	}
	if t.began && !c.polled {
		t.blame.initializing--
	}
	t.rest(ev.Client)
	c.gone, c.left = true, t.wall
}

// queue handles a message that is on its way to a client, or was lost.
func (t *tracer) queue(to metasim.ClientID, m *metasim.Message, lost bool) {
	id := LinkID{From: m.From, To: to, Channel: t.channel(m.Channel)}
	t.countMessage(id, m, lost)
	if lost {
		return
	}
	t.blame.expect(to, m.Due)
	if s := t.clients[m.From].sent(m.Seq); s != nil && !t.clients[to].gone {
		s.copies++
	}
	if len(t.tl.Messages) >= t.src.MaxMessages {
		t.tl.DroppedMessages++
		return
	}
	t.inFlight[MessageID{m.From, to, m.Seq}] = int32(len(t.tl.Messages))
	t.tl.Messages = append(t.tl.Messages, Message{
		LinkID: id, Size: uint32(len(m.Payload)), Sent: m.Sent, Due: m.Due, Queued: t.wall,
	})
}

func (t *tracer) deliver(e *metasim.Deliver) {
	m := &e.Message
	t.tl.Totals.Clients[e.To].Delivered++
	key := MessageID{m.From, e.To, m.Seq}
	if i, stored := t.inFlight[key]; stored {
		t.tl.Messages[i].Delivered = t.wall
		delete(t.inFlight, key) // the second copy of a duplicated message is not marked
	}
	d := delivery{due: m.Due, from: m.From, channel: t.channel(m.Channel), seq: m.Seq}
	if s := t.clients[m.From].sent(m.Seq); s != nil {
		d.clock = s.clock
		s.copies--
	}
	d.wall = t.wall
	t.clients[e.To].inbox.Push(d)
}

// authorize handles an authorization: of a client that waited, or of a running client ahead of need.
func (t *tracer) authorize(e *metasim.Authorize) {
	c := &t.clients[e.To]
	switch {
	case c.waiting:
		cause := t.blame.cause(e.To)
		t.endWait(e.To, cause, e.Until)
		t.run(c)
		if cause != e.To {
			t.release(e.To, cause)
			t.tl.Totals.Clients[cause].Released++
		}
	case c.running:
		if cause := t.blame.lastSpeaker(e.To); cause != e.To {
			c.permits.Push(permit{stamp{t.clients[cause].clock, t.wall}, c.granted, cause})
		}
		t.tl.Totals.Clients[e.To].Ahead++
		if c.grant >= 0 {
			t.tl.Grants[c.grant].Until = e.Until
		}
	}
	c.granted = e.Until
}

// endWait ends a blocked interval and starts the computing part of the grant.
func (t *tracer) endWait(id, cause metasim.ClientID, until metasim.Instant) {
	c := &t.clients[id]
	t.blame.endPart(id, cause)
	c.waiting = false
	s := &t.tl.Totals.Clients[id]
	s.Grants++
	s.Blocked += t.wall - c.wait.polled
	if len(t.tl.Grants) >= t.src.MaxGrants {
		t.tl.DroppedGrants++
		return
	}
	first := int32(len(t.tl.Holds))
	t.tl.Holds = append(t.tl.Holds, c.wait.parts...)
	c.grant = int32(len(t.tl.Grants))
	t.tl.Grants = append(t.tl.Grants, Grant{
		Client: id, Cause: cause, Polled: c.wait.polled, Granted: t.wall, Reported: t.wall, From: c.wait.from, Until: until,
		Holds: [2]int32{first, int32(len(t.tl.Holds))},
	})
}
