package metasim

import (
	"math"

	"metasim/metasim/safetime"
)

// A foresight answers what a gateway promises for the clients of a nested run: when each may send if nobody outside sends again. That is
// the earliest send of the same graph of safe times, in which the clients that are outside are silent.
//
// Without it a gateway could only promise what holds whatever comes from outside. Then two dispatchers whose clients only answer would
// lead one another through simulated time by one delay for each exchange; and not at all, where there is no delay.
type foresight struct {
	forest  *safetime.Forest
	behind  bool              // the forest has been told of changes since its last Update
	changed []safetime.Node   // whose earliest send may have changed since Foreseen was last called
	listed  []bool            // by client: it is in changed
	ids     []ClientID        // scratch of Foreseen
	bounds  []safetime.Bounds // scratch of newForesight
}

func (d *Dispatcher) newForesight() *foresight {
	f := &foresight{listed: make([]bool, len(d.clients))}
	for i := range d.clients {
		f.bounds = append(f.bounds, d.clients[i].foreseenBounds())
	}
	f.forest = safetime.New(d.graph, f.bounds)
	for i := range d.clients {
		f.list(ClientID(i).node())
	}
	f.watch(f.changed)
	return f
}

// foreseenBounds are the bounds of a client if nobody outside sends again.
func (c *client) foreseenBounds() safetime.Bounds {
	if c.outside {
		return safetime.Silent()
	}
	return c.bounds()
}

// foresee tells the foresight of the clients whose bounds may have changed. The safe times are known.
func (d *Dispatcher) foresee() {
	if len(d.outside) == 0 && !d.credited {
		return
	}
	if d.foresight == nil {
		d.foresight = d.newForesight()
		return
	}
	f := d.foresight
	for _, node := range d.touched {
		if c := &d.clients[node]; !c.outside {
			f.forest.SetBounds(node, c.bounds())
			f.list(node)
			f.behind = true
		}
	}
}

func (f *foresight) list(node safetime.Node) {
	if !f.listed[node] {
		f.listed[node] = true
		f.changed = append(f.changed, node)
	}
}

// update computes the safe times without the outside, and lists the clients for which they have changed.
func (f *foresight) update() {
	if !f.behind {
		return
	}
	f.behind = false
	rose := f.forest.Update()
	for _, node := range rose {
		f.list(node)
	}
	f.watch(f.changed)
}

// watch has the forest name each node again whose earliest send follows what may come: when that rises at all.
func (f *foresight) watch(nodes []safetime.Node) {
	for _, node := range nodes {
		alarm := Infinity
		if send := f.forest.EarliestSend(node); send.Before(f.forest.Bounds(node).Known) {
			alarm = f.forest.SafeTime(node).Add(0)
		}
		f.forest.Watch(node, alarm)
	}
}

// EarliestSend returns the first instant at which a client may still send: by all that is known, and if the clients of Config.Outside
// never send again. The second is not before the first. Neither falls, but for a send from outside the second may: it does not fall
// below when that arrives. A gateway promises the first unconditionally and the second conditionally in the outer run.
//
// It holds as of the last Settle. Before the first client is authorized both are Start.
func (d *Dispatcher) EarliestSend(id ClientID) (whatever, alone Instant) {
	if d.forest == nil || d.foresight == nil {
		return Start, Start
	}
	d.foresight.update()
	return d.forest.EarliestSend(id.node()), d.foresight.forest.EarliestSend(id.node())
}

// Foreseen returns the clients for which EarliestSend may say something else than when Foreseen was last called: those that have spoken
// or were sent something, and those whose earliest send without the outside has changed. What it says for others whatever comes from
// outside may have risen too; they need not promise that. The result is valid until the next call.
func (d *Dispatcher) Foreseen() []ClientID {
	f := d.foresight
	if f == nil {
		return nil
	}
	f.update()
	f.ids = f.ids[:0]
	for _, node := range f.changed {
		f.listed[node] = false
		f.ids = append(f.ids, ClientID(node))
	}
	f.changed = f.changed[:0]
	return f.ids
}

// OutsideReaction returns, by client, the least time from a send of an outside client to a send that it may cause, by the least
// delays on all ways and the reaction times that clients have declared. It is the reaction time of the client's proxy in the outer run.
// Forever: nothing from outside reaches it. It holds from Begin on, and looks at every link.
func (d *Dispatcher) OutsideReaction() []Time {
	reactions := make([]Time, len(d.clients))
	if len(d.outside) == 0 || d.graph == nil {
		return reactions
	}
	bounds := make([]safetime.Bounds, len(d.clients))
	for i := range d.clients {
		c := &d.clients[i]
		bounds[i] = safetime.Bounds{Known: Infinity, Reaction: c.reaction}
		if c.outside {
			bounds[i].Known = Start
		}
	}
	ways := safetime.New(d.leastDelays(), bounds)
	for i := range d.clients {
		reactions[i] = ways.EarliestSend(ClientID(i).node()).Time
	}
	return reactions
}

// leastDelays returns the graph of safe times as it would be if each message took the least delay of its link.
func (d *Dispatcher) leastDelays() *safetime.Graph {
	return d.graph.Map(func(l safetime.Link) safetime.Link { return least(l.Min()) })
}

// A least is a link of which only the least delay counts.
type least Time

func (l least) Min() Time                  { return Time(l) }
func (l least) Steady() bool               { return true }
func (l least) Earliest(x Instant) Instant { return x.Add(Time(l)) }

// Waits returns the instant at which a client that waits has something to do, as far as is known; false if it does not wait.
func (d *Dispatcher) Waits(id ClientID) (need Instant, waits bool) {
	c := &d.clients[id]
	return c.need(), c.waiting
}

// OutsideNeed returns what a gateway asks the outer run for: a client waits here that may go on only if nobody outside sends before that
// instant. Infinity: nobody waits for the outside alone. It looks at every client.
func (d *Dispatcher) OutsideNeed() Instant {
	if d.phase != running || d.foresight == nil {
		return Infinity
	}
	d.foresight.update()
	promised := Infinity
	for _, id := range d.outside {
		promised = Earlier(promised, d.forest.EarliestSend(id.node()))
	}
	if promised.Step == math.MaxUint32 {
		promised = At(promised.Time.Add(1)) // the last step of a time is as good as the next time
	}
	earliest := Infinity
	for i := range d.clients {
		c := &d.clients[i]
		need, node := c.need(), c.id.node()
		if !c.waiting || c.use.short || !need.Before(d.end) {
			continue
		}
		if safe := d.forest.SafeTime(node); need.Before(safe) || !need.Before(d.foresight.forest.SafeTime(node)) {
			continue
		} else if ahead := safe.Time - promised.Time; ahead > 0 { // what is promised later reaches it that much later, at most
			need = At(max(0, need.Time-ahead))
		} else {
			need = At(need.Time)
		}
		earliest = Earlier(earliest, need)
	}
	return earliest
}
