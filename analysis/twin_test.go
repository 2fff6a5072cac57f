package analysis_test

import (
	"slices"

	"github.com/stretchr/testify/require"

	"metasim/analysis/trace"
	"metasim/metasim"
	"metasim/record/journal"
)

// A twin computes the formulas in the plain way: it stores every piece of work and every edge between two pieces, and then finds the longest
// path. It uses nothing of the analysis but the rules in the comment of package analysis.
type twin struct {
	t       require.TestingT
	d       *metasim.Dispatcher
	pieces  []piece
	clients []twinClient
	began   int64
	wall    int64
	working int  // clients that have not initialized
	settled bool // and that was seen to

	blocked, work []int64
	spoke         []metasim.ClientID              // in this pass, in order
	short         map[metasim.Hop]map[int64]int64 // how long clients waited behind a link, by how much longer the link had to be
	causes        []metasim.ClientID              // of the authorizations of waiting clients, in order, as the Timeline has them
}

// A piece of work begins after others, with so much left of it that comes after each.
type piece struct {
	client metasim.ClientID
	after  []edge
}

type edge struct {
	piece  int
	work   int64
	reason reason
}

// A reason says why a piece of work comes after another.
type reason int

const (
	byItself reason = iota
	byMessage
	byReport
)

type twinClient struct {
	last    int   // its latest piece; -1: none
	since   int64 // up to which its work is accounted for
	running bool  // it may act, and does not wait
	waiting bool
	gone    bool
	polled  int64
	need    metasim.Instant // what it waits for
	eager   bool            // a message is enough
	granted metasim.Instant
	now     metasim.Instant
	queue   []metasim.Message // on the way
	sends   []int             // the piece before each send, by number
	letters []dependency      // given to it, and not handled
	permits []dependency
	laps    []twinLap // what its reports told in this pass
	taken   bool      // the first of them is accounted for
	passing []int64   // how long its grants took beyond what they told
	timed   bool

	released bool // a report lets it go on
	releaser metasim.ClientID
}

// A twinLap is what a report tells: how long its client computed, and whether the client waits now. One that leaves tells nothing.
type twinLap struct {
	took          int64
	waits, leaves bool
}

// A dependency is something that is needed from an instant on.
type dependency struct {
	due   metasim.Instant
	wall  int64
	piece int
}

// newTwin does a run again, of which the analysis has made a timeline. Where two reports come at one moment and both are
// needed, either may be said to have let a client go on: there the twin takes over what the timeline has.
func newTwin(t require.TestingT, w *world, tl *trace.Timeline) *twin {
	d, err := metasim.New(w.config)
	require.NoError(t, err)
	n := len(w.config.Clients)
	tw := &twin{t: t, d: d, clients: make([]twinClient, n), blocked: make([]int64, n), work: make([]int64, n), short: map[metasim.Hop]map[int64]int64{}}
	for i := range tl.Grants {
		tw.causes = append(tw.causes, tl.Grants[i].Cause)
	}
	for i := range tw.clients {
		tw.clients[i].last = -1
	}
	for _, pass := range passes(w.entries) {
		tw.pass(pass)
	}
	require.Empty(t, tw.causes)
	return tw
}

// pass takes all that the server took at once.
func (tw *twin) pass(entries []journal.Entry) {
	tw.waits(entries[0].Wall - tw.wall)
	tw.wall, tw.spoke = entries[0].Wall, nil
	for i := range tw.clients {
		tw.clients[i].released, tw.clients[i].releaser = false, metasim.ClientID(i)
	}
	for _, e := range entries {
		if id, ok := metasim.ClientOf(e.Event); ok {
			c := &tw.clients[id]
			if r := reportOf(e.Event); r != nil {
				_, waits := e.Event.(*metasim.PollWait)
				c.laps = append(c.laps, twinLap{took: r.Computed, waits: waits})
				c.timed = c.timed || r.Computed > 0
			}
			if _, leaves := e.Event.(*metasim.Leave); leaves {
				c.laps = append(c.laps, twinLap{leaves: true})
			}
		}
	}
	for _, e := range entries {
		if e.Event == nil {
			tw.d.Settle()
			tw.settled = tw.working == 0
		} else {
			tw.event(e.Event)
			tw.d.Step(e.Event)
		}
		for _, effect := range e.Effects {
			tw.effect(effect)
		}
		if id, ok := metasim.ClientOf(e.Event); ok {
			tw.spoke = append(tw.spoke, id)
			tw.letGoOn(id)
		}
	}
}

func reportOf(ev metasim.Event) *metasim.Report {
	switch ev := ev.(type) {
	case *metasim.Advance:
		return &ev.Report
	case *metasim.PollWait:
		return &ev.Report
	}
	return nil
}

// letGoOn finds the clients that the report of a client lets go on.
func (tw *twin) letGoOn(speaker metasim.ClientID) {
	initialized := tw.working == 0 && !tw.settled
	for i := range tw.clients {
		c, id := &tw.clients[i], metasim.ClientID(i)
		if c.gone || tw.began == 0 || tw.working > 0 {
			continue
		}
		if initialized { // before that no client went on
			c.released, c.releaser = c.waiting, speaker
			continue
		}
		tw.d.Blame(nil, id) // so that the safe time takes in what was said
		safe := tw.d.Status(id).Safe
		if c.waiting && !c.released && (c.wants(tw.d.End()).Before(safe) || safe == tw.d.End()) {
			c.released, c.releaser = true, speaker
		}
	}
}

// waits counts how long clients wait, and how much more simulated time they needed to go on.
func (tw *twin) waits(took int64) {
	for i := range tw.clients {
		c := &tw.clients[i]
		if !c.waiting || c.gone || !tw.settled || took == 0 {
			continue
		}
		more := c.wants(tw.d.End()).Time - tw.d.Status(metasim.ClientID(i)).Safe.Time + 1
		for _, h := range tw.d.Blame(nil, metasim.ClientID(i)) {
			link := h.Hop
			if tw.short[link] == nil {
				tw.short[link] = map[int64]int64{}
			}
			if more < metasim.Forever/2 {
				tw.short[link][int64(more)] += took
			}
		}
	}
}

// wants is the earliest instant at which a client that waits has something to do. What is due at the end of the run or later is
// never delivered.
func (c *twinClient) wants(end metasim.Instant) metasim.Instant {
	need := c.need
	for _, m := range c.queue {
		if c.eager && m.Due.Before(end) {
			need = metasim.Earlier(need, m.Due)
		}
	}
	return need
}

func (tw *twin) event(ev metasim.Event) {
	switch ev := ev.(type) {
	case *metasim.Begin:
		tw.began, tw.working = tw.wall, len(tw.clients)
		for i := range tw.clients {
			tw.clients[i].running, tw.clients[i].since = true, tw.wall
		}
	case *metasim.Send:
		tw.act(ev.Client, ev.Sent)
		c := &tw.clients[ev.Client]
		c.sends = append(c.sends, c.last)
	case *metasim.Promise:
		tw.act(ev.Client, tw.clients[ev.Client].now)
	case *metasim.Advance:
		tw.act(ev.Client, ev.Now)
		tw.clients[ev.Client].lapped()
	case *metasim.PollWait:
		tw.act(ev.Client, ev.Now)
		c := &tw.clients[ev.Client]
		c.lapped()
		if c.need == (metasim.Instant{}) && c.granted == (metasim.Instant{}) && tw.working > 0 {
			tw.working--
		}
		c.running, c.waiting, c.polled, c.need, c.eager = false, true, tw.wall, ev.Want, ev.Messages
	case *metasim.Leave:
		c := &tw.clients[ev.Client]
		tw.act(ev.Client, ev.Now)
		c.lapped()
		c.gone = true
	}
}

func (c *twinClient) lapped() { c.laps, c.taken = c.laps[1:], false }

// act writes down what a client computed until it acts at an instant.
func (tw *twin) act(id metasim.ClientID, at metasim.Instant) {
	c := &tw.clients[id]
	begin := c.since
	took := int64(0)
	switch {
	case !c.running:
		begin = tw.wall
	case !c.timed:
		took = tw.wall - begin
	case len(c.laps) > 0 && !c.taken:
		l, most := c.laps[0], tw.wall-begin
		took, c.taken = min(l.took, most), true
		switch {
		case l.waits:
			c.passing = append(c.passing, max(0, most-l.took))
		case l.leaves && len(c.passing) > 0: // it does not tell
			took = max(0, most-slices.Min(c.passing))
		}
	}
	c.now = metasim.Later(c.now, at)
	p := piece{client: id, after: []edge{{c.last, took, byItself}}}
	c.since = begin + took
	for how, list := range map[reason]*[]dependency{byMessage: &c.letters, byReport: &c.permits} {
		*list = slices.DeleteFunc(*list, func(d dependency) bool {
			if c.now.Before(d.due) {
				return false
			}
			// What was computed before it came cannot have been caused by it.
			came := max(d.wall, begin)
			left := min(took, tw.wall-came)
			p.after = append(p.after, edge{d.piece, left, how})
			c.since = max(c.since, came+left)
			return true
		})
	}
	if !c.running {
		c.since = 0
	}
	c.last = tw.add(p)
	tw.work[id] += took
}

func (tw *twin) add(p piece) int {
	for _, e := range p.after {
		require.Less(tw.t, e.piece, len(tw.pieces), "what comes before is known before")
		require.GreaterOrEqual(tw.t, e.work, int64(0))
	}
	tw.pieces = append(tw.pieces, p)
	return len(tw.pieces) - 1
}

func (tw *twin) effect(e metasim.Effect) {
	switch e := e.(type) {
	case *metasim.Queue:
		c := &tw.clients[e.To]
		c.queue = append(c.queue, e.Message)
	case *metasim.Deliver:
		c, m := &tw.clients[e.To], &e.Message
		at := slices.IndexFunc(c.queue, func(q metasim.Message) bool { return q.From == m.From && q.Seq == m.Seq && q.Due == m.Due })
		c.queue = slices.Delete(c.queue, at, at+1)
		c.letters = append(c.letters, dependency{m.Due, tw.wall, tw.clients[m.From].sends[m.Seq]})
	case *metasim.Authorize:
		tw.authorize(e.To, e.Until)
	}
}

func (tw *twin) authorize(id metasim.ClientID, until metasim.Instant) {
	c := &tw.clients[id]
	switch {
	case c.waiting:
		by := c.releaser
		if c.polled == tw.wall {
			by = id // it did not wait
		}
		said := tw.causes[0]
		tw.causes = tw.causes[1:]
		if said != by {
			require.Contains(tw.t, tw.spoke, said)
			require.Contains(tw.t, tw.spoke, by)
			by = said
		}
		tw.blocked[id] += tw.wall - c.polled
		c.waiting, c.running, c.since = false, true, tw.wall
		if by != id {
			c.last = tw.add(piece{client: id, after: []edge{{c.last, 0, byItself}, {tw.clients[by].last, 0, byReport}}})
		}
	default: // ahead of need: because of the last event
		for i := len(tw.spoke) - 1; i >= 0; i-- {
			if by := tw.spoke[i]; by != id {
				c.permits = append(c.permits, dependency{c.granted, tw.wall, tw.clients[by].last})
				break
			}
		}
	}
	c.granted = until
}

// longest is the longest path: over messages alone, or over reports too.
func (tw *twin) longest(reports bool) int64 {
	path := make([]int64, len(tw.pieces)+1)
	longest := int64(0)
	for i, p := range tw.pieces { // an order in which each comes after those that it follows
		for _, e := range p.after {
			if e.reason != byReport || reports {
				path[1+i] = max(path[1+i], path[1+e.piece]+e.work)
			}
		}
		longest = max(longest, path[1+i])
	}
	return longest
}
