package trace

import (
	"cmp"
	"slices"

	"metasim/metasim"
)

// newLog returns an empty log of clients, whose names are sorted.
func newLog(src Source, names []string) *Log {
	l := &Log{Config: src.Config, Clients: make([]ClientLog, len(names)), room: src.MaxGrants / 2}
	for _, name := range src.Inside {
		if i, known := slices.BinarySearch(names, name); known {
			l.Clients[i].Inside = true
		}
	}
	return l
}

// Beginning returns the first part of a log, with so many acts.
func (l *Log) Beginning(acts int) *Log {
	var all []int64
	for i := range l.Clients {
		for k := range l.Clients[i].Acts {
			all = append(all, l.Clients[i].Acts[k].Wall)
		}
	}
	if len(all) <= acts {
		return l
	}
	slices.Sort(all)
	part := *l
	part.cut, part.End, part.Clients = true, all[acts], slices.Clone(l.Clients)
	for i := range part.Clients {
		c := &part.Clients[i]
		n, _ := slices.BinarySearchFunc(c.Acts, part.End, func(a Act, wall int64) int { return cmp.Compare(a.Wall, wall) })
		c.Acts = c.Acts[:n]
	}
	return &part
}

// record adds an event of a client to its log. The client's work is up to date.
func (t *tracer) record(ev metasim.Event, id metasim.ClientID) {
	l := t.tl.Log
	if l.cut {
		return
	}
	l.End = t.wall
	c, worked := &l.Clients[id], t.clients[id].did
	if c.waited && l.Timed && !c.Inside {
		l.Answers = append(l.Answers, t.wall-t.clients[id].since)
	}
	switch ev := ev.(type) {
	case *metasim.Join:
		c.Join = *ev
	case *metasim.Send:
		worked = t.infer(id, ev.Sent, worked)
		t.act(id, ev.Sent).add(worked)
		c.Sends = append(c.Sends, Send{t.channel(ev.Channel), uint32(len(ev.Payload))})
		c.Acts[len(c.Acts)-1].Sends++
	case *metasim.Advance:
		worked = t.infer(id, ev.Now, worked)
		if n := len(c.Acts); n > 0 && c.Acts[n-1].At.Before(ev.Now) && !ev.Now.Before(ev.NextEvent) {
			// A client that calls Step says here that its act at Now begins. Until now it did the act before.
			last := &c.Acts[n-1]
			last.add(worked)
			last.Next, worked = ev.Now, stint{}
		}
		a := t.act(id, ev.Now)
		a.add(worked)
		if a.Floor = metasim.Later(ev.Now, ev.NoSendBefore); ev.Now.Before(ev.NextEvent) {
			a.Next = ev.NextEvent
		}
	case *metasim.PollWait:
		worked = t.infer(id, ev.Now, worked)
		a := t.act(id, ev.Now)
		a.add(worked)
		a.Next, a.Floor = metasim.Later(ev.Want, ev.NextEvent), metasim.Later(ev.Now, ev.NoSendBefore)
		c.Messages, c.waited = c.Messages || ev.Messages, true
	case *metasim.Leave:
		worked = t.infer(id, ev.Now, worked)
		c.waited = false // a client that learns that the run is over acts no more
		t.act(id, ev.Now).add(worked)
	}
}

// act returns the act of a client at an instant since it last waited. It adds one if there is none.
func (t *tracer) act(id metasim.ClientID, at metasim.Instant) *Act {
	l := t.tl.Log
	c := &l.Clients[id]
	n := len(c.Acts)
	if n > 0 && !c.Acts[n-1].At.Before(at) && (!c.waited || t.asksAgain(id, at)) {
		c.waited = false
		return &c.Acts[n-1]
	}
	c.waited = false
	a := Act{At: at, Wall: t.wall, Next: metasim.Infinity, Floor: at, Timed: true}
	if n > 0 {
		last := &c.Acts[n-1]
		a.Sends = last.Sends
		if me := &t.clients[id]; c.Messages && at != last.Next && me.heard && me.heardAt == at {
			a.Next, a.Timed, a.Cause = last.Next, false, me.last
		}
		if a.Timed {
			last.Next = at // so that every timed act is the next timer of the act before
		}
	}
	c.Acts = append(c.Acts, a)
	if l.room--; l.room <= 0 {
		l.cut = true
	}
	return &c.Acts[n]
}

// asksAgain reports whether a client that waits again has handled no message since its last act. A simple client of the protocol does so at
// each authorization. An act for it would have no message of its own to cause it, and no simulation would ever carry it out.
func (t *tracer) asksAgain(id metasim.ClientID, at metasim.Instant) bool {
	acts := t.tl.Log.Clients[id].Acts
	last := &acts[len(acts)-1]
	return last.At == at && !last.Timed && last.Cause == t.clients[id].last
}

// add adds what the client did to an act.
func (a *Act) add(did stint) { a.Work, a.Sleep = a.Work+did.work, a.Sleep+did.asleep }

// A client that goes on reports every instant at which it acts. But a later report replaces an earlier one that no other client needed yet.
// So there may be more acts between two reported instants, and a run with shorter delays would see their reports. The tracer infers
// these acts. It knows the next timer, as of the first of the two instants, and how far away this client's next timer is on average.

// maxInferred is how many acts between two reported ones are inferred at most.
const maxInferred = 100

// stepLengths are how far away a client's next timers are.
type stepLengths struct {
	// goesOn counts acts after which the client went on. waits counts acts after which it waited: these depend on other clients, so
	// they are used only if there are no others.
	goesOn, waits lengths
}

func (s *stepLengths) add(at, next metasim.Instant, waited bool) {
	if next == metasim.Infinity || !at.Before(next) {
		return
	}
	l := &s.goesOn
	if waited {
		l = &s.waits
	}
	d := float64(next.Time - at.Time)
	l.count, l.sum, l.squares = l.count+1, l.sum+d, l.squares+d*d
}

func (s *stepLengths) known() *lengths {
	if s.goesOn.sum > 0 {
		return &s.goesOn
	}
	return &s.waits
}

// lengths are sums over simulated times, in nanoseconds.
type lengths struct{ count, sum, squares float64 }

// after returns when a client that acts at an instant probably acts again. It returns Infinity if nothing is known.
func (l *lengths) after(at metasim.Instant) metasim.Instant {
	if l.sum == 0 {
		return metasim.Infinity
	}
	return metasim.At(at.Time.Add(metasim.Time(l.sum / l.count)))
}

// within returns how many acts there probably are between two acts with a distance of d. If all lengths are equal it is one less than
// the number of lengths in d. If they are as irregular as possible, the two acts say nothing about it.
func (l *lengths) within(d metasim.Time) int {
	if l.sum == 0 || d <= 1 {
		return 0
	}
	regular := max(0, 2-l.squares*l.count/(l.sum*l.sum)) // one minus the variance, in units of the squared mean
	return int(min(float64(d)*l.count/l.sum-regular+0.5, float64(d-1), maxInferred))
}

// infer adds the acts that a client probably did between the last reported instant and this one. It returns the rest of what the client did.
func (t *tracer) infer(id metasim.ClientID, at metasim.Instant, did stint) stint {
	c, me := &t.tl.Log.Clients[id], &t.clients[id]
	n := len(c.Acts)
	if n == 0 || !c.Acts[n-1].At.Before(at) {
		return did
	}
	last := c.Acts[n-1]
	c.steps.add(last.At, last.Next, c.waited)
	a := Act{At: last.Next, Wall: t.wall, Timed: true, Sends: last.Sends}
	switch {
	case c.Messages && me.heard && last.At.Before(me.heardAt) && me.heardAt.Before(last.Next):
		a.At, a.Timed, a.Cause, a.Next = me.heardAt, false, me.last, last.Next
	case !c.Messages && last.Next == metasim.Infinity: // the client calls Step
		a.At = c.steps.known().after(last.At)
	}
	if !last.At.Before(a.At) || !a.At.Before(at) {
		return did
	}
	rest := at.Time - a.At.Time
	more := max(0, c.steps.known().within(rest))
	a.Work, a.Sleep = did.work/int64(more+2), did.asleep/int64(more+2)
	for i := range more + 1 {
		if i > 0 {
			a.At, a.Timed = metasim.At(at.Time-rest+rest*metasim.Time(i)/metasim.Time(more+1)), true
		}
		if a.Timed {
			c.announce(a.At)
		}
		a.Floor = a.At
		c.Acts = append(c.Acts, a)
	}
	c.waited = false
	t.tl.Log.room -= more + 1
	did.work -= a.Work * int64(more+1)
	did.asleep -= a.Sleep * int64(more+1)
	return did
}

// announce makes an instant the next timer of the last act. A client that calls Step also promises to send nothing before.
func (c *ClientLog) announce(at metasim.Instant) {
	last := &c.Acts[len(c.Acts)-1]
	last.Next = at
	if !c.Messages {
		last.Floor = metasim.Later(last.Floor, at)
	}
}
