package analysis

import (
	"cmp"
	"slices"

	"metasim/metasim"
)

// A worklog is what the clients of a run did, so that a player can do it again where something is different.
type worklog struct {
	config  metasim.Config
	clients []clientLog
	room    int     // how many more acts are kept
	cut     bool    // there were more
	end     int64   // wall clock of the last one that is kept
	cores   int     // that the run could use; 0: enough
	timed   bool    // clients told for how long they computed
	lags    []int64 // what clients took to answer, beside computing, since they were let go on
	prices  prices
	fitted  int64 // what it takes at these prices, in nanoseconds; 0: they are not known yet
}

// A clientLog is what one client did.
type clientLog struct {
	join     metasim.Join
	acts     []act // the first is its initialization
	sends    []sending
	messages bool // messages wake it
	waited   bool // it has, since the last act
	habit    habit
	inside   bool // it is in the server's process
}

// An act is all that a client did at one instant.
type act struct {
	at    metasim.Instant
	next  metasim.Instant // its next timer, afterwards
	floor metasim.Instant // what it promised, afterwards
	work  int64
	wall  int64  // when it was first heard of
	sends int32  // where in clientLog.sends its sends end
	timed bool   // its timer made it act; else a message did
	cause flight // which message
}

// A sending is one publish.
type sending struct {
	channel uint32
	size    uint32
}

func newWorklog(config metasim.Config, clients, room int) *worklog {
	return &worklog{config: config, clients: make([]clientLog, clients), room: room}
}

// note takes up an event of a client, after the work that led to it.
func (l *worklog) note(t *tracer, ev metasim.Event, id metasim.ClientID, worked int64) {
	if l.cut {
		return
	}
	l.end = t.wall
	c := &l.clients[id]
	if c.waited && l.timed && !c.inside {
		l.lags = append(l.lags, t.wall-t.clients[id].since)
	}
	switch ev := ev.(type) {
	case *metasim.Join:
		c.join = *ev
	case *metasim.Send:
		worked -= l.untold(t, id, ev.Sent, worked)
		l.act(t, id, ev.Sent).work += worked
		c.sends = append(c.sends, sending{t.channel(ev.Channel), uint32(len(ev.Payload))})
		c.acts[len(c.acts)-1].sends++
	case *metasim.Advance:
		worked -= l.untold(t, id, ev.Now, worked)
		if n := len(c.acts); n > 0 && c.acts[n-1].at.Before(ev.Now) && !ev.Now.Before(ev.NextEvent) {
			// It steps, and says that it now begins what it does at Now: until here it did what came before.
			last := &c.acts[n-1]
			last.work += worked
			last.next, worked = ev.Now, 0
		}
		a := l.act(t, id, ev.Now)
		a.work += worked
		if a.floor = metasim.Later(ev.Now, ev.NoSendBefore); ev.Now.Before(ev.NextEvent) {
			a.next = ev.NextEvent
		}
	case *metasim.PollWait:
		worked -= l.untold(t, id, ev.Now, worked)
		a := l.act(t, id, ev.Now)
		a.work += worked
		a.next, a.floor = metasim.Later(ev.Want, ev.NextEvent), metasim.Later(ev.Now, ev.NoSendBefore)
		c.messages, c.waited = c.messages || ev.Messages, true
	case *metasim.Leave:
		worked -= l.untold(t, id, ev.Now, worked)
		c.waited = false // who is told that the run is over does nothing more
		l.act(t, id, ev.Now).work += worked
	}
}

// live notes where clients live, and on how many cores.
func (l *worklog) live(src Source, names []string) {
	l.cores = src.Cores
	inside := map[string]bool{}
	for _, name := range src.Inside {
		inside[name] = true
	}
	for i, name := range names {
		l.clients[i].inside = inside[name]
	}
}

// free notes that what is said costs nothing, and that each client has a core, nor has to wait for its turn.
func (l *worklog) free() {
	l.cores = 0
	for i := range l.clients {
		l.clients[i].inside = false
	}
}

// act returns what a client does at an instant, since it last waited.
func (l *worklog) act(t *tracer, id metasim.ClientID, at metasim.Instant) *act {
	c := &l.clients[id]
	n := len(c.acts)
	if n > 0 && !c.acts[n-1].at.Before(at) && !c.waited {
		return &c.acts[n-1]
	}
	c.waited = false
	a := act{at: at, wall: t.wall, next: metasim.Infinity, floor: at, timed: true}
	if n > 0 {
		last := &c.acts[n-1]
		a.sends = last.sends
		if me := &t.clients[id]; c.messages && at != last.next && me.hears && me.heard == at {
			a.next, a.timed, a.cause = last.next, false, me.last
		}
		if a.timed {
			last.next = at // so that each is announced by the one before
		}
	}
	c.acts = append(c.acts, a)
	if l.room--; l.room <= 0 {
		l.cut = true
	}
	return &c.acts[n]
}

// beginning is the part of the log that happened first, of so many acts.
func (l *worklog) beginning(acts int) *worklog {
	var all []int64
	for i := range l.clients {
		for k := range l.clients[i].acts {
			all = append(all, l.clients[i].acts[k].wall)
		}
	}
	if len(all) <= acts {
		return l
	}
	slices.Sort(all)
	limit := all[acts]
	part := &worklog{config: l.config, cut: true, end: limit, clients: slices.Clone(l.clients), cores: l.cores, timed: l.timed, lags: l.lags}
	for i := range part.clients {
		c := &part.clients[i]
		n, _ := slices.BinarySearchFunc(c.acts, limit, func(a act, wall int64) int { return cmp.Compare(a.wall, wall) })
		c.acts = c.acts[:n]
	}
	return part
}
