package trace

import (
	"cmp"
	"slices"

	"metasim/metasim"
)

func newLog(src Source, names []string) *Log {
	l := &Log{Config: src.Config, Clients: make([]ClientLog, len(names)), Cores: src.Cores, room: src.MaxGrants / 2}
	inside := map[string]bool{}
	for _, name := range src.Inside {
		inside[name] = true
	}
	for i, name := range names {
		l.Clients[i].Inside = inside[name]
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
	c, worked := &l.Clients[id], t.clients[id].worked
	if c.waited && l.Timed && !c.Inside {
		l.Answers = append(l.Answers, t.wall-t.clients[id].since)
	}
	switch ev := ev.(type) {
	case *metasim.Join:
		c.Join = *ev
	case *metasim.Send:
		worked -= t.infer(id, ev.Sent, worked)
		t.act(id, ev.Sent).Work += worked
		c.Sends = append(c.Sends, Send{t.channel(ev.Channel), uint32(len(ev.Payload))})
		c.Acts[len(c.Acts)-1].Sends++
	case *metasim.Advance:
		worked -= t.infer(id, ev.Now, worked)
		if n := len(c.Acts); n > 0 && c.Acts[n-1].At.Before(ev.Now) && !ev.Now.Before(ev.NextEvent) {
			// A client that calls Step says here that its act at Now begins. Until now it did the act before.
			last := &c.Acts[n-1]
			last.Work += worked
			last.Next, worked = ev.Now, 0
		}
		a := t.act(id, ev.Now)
		a.Work += worked
		if a.Floor = metasim.Later(ev.Now, ev.NoSendBefore); ev.Now.Before(ev.NextEvent) {
			a.Next = ev.NextEvent
		}
	case *metasim.PollWait:
		worked -= t.infer(id, ev.Now, worked)
		a := t.act(id, ev.Now)
		a.Work += worked
		a.Next, a.Floor = metasim.Later(ev.Want, ev.NextEvent), metasim.Later(ev.Now, ev.NoSendBefore)
		c.Messages, c.waited = c.Messages || ev.Messages, true
	case *metasim.Leave:
		worked -= t.infer(id, ev.Now, worked)
		c.waited = false // a client that learns that the run is over acts no more
		t.act(id, ev.Now).Work += worked
	}
}

// act returns the act of a client at an instant since it last waited. It adds one if there is none.
func (t *tracer) act(id metasim.ClientID, at metasim.Instant) *Act {
	l := t.tl.Log
	c := &l.Clients[id]
	n := len(c.Acts)
	if n > 0 && !c.Acts[n-1].At.Before(at) && !c.waited {
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
