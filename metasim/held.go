package metasim

// HeldTimes counts, in real time, for how long clients have waited for each client: always for the root of what holds them, see
// Dispatcher.Blame. It is for people: no event and no effect depends on it.
//
// The real time is divided into ticks, and at each tick every client that waits counts for its root. The length of a tick follows what
// a look at all clients costs, so that looks never take more than about one part in a hundred of the time. Between two events nothing
// changes: a wait that lasts is counted to within a tick, and the sum of many short ones is right on average.
type HeldTimes struct {
	d      *Dispatcher
	by     []int64    // by root, in nanoseconds
	ticked int64      // the real time up to which waits were counted
	tick   int64      // the length of a tick, in nanoseconds
	look   uint32     // the number of this look
	seen   []uint32   // by client: the last look that found its root
	roots  []ClientID // by client: its root in that look; noClient for none
	path   []ClientID // scratch of root
	walked int        // how many clients this look has walked over
}

// What a look costs and may cost, for the length of a tick.
const (
	perClient = 16   // clients that are looked at and do not wait cost as much as one that waits
	lookShare = 4000 // nanoseconds of a tick for each client that a look walks over, which takes about 20
)

// NewHeldTimes returns the counter of a dispatcher.
func NewHeldTimes(d *Dispatcher) *HeldTimes {
	n := len(d.clients)
	return &HeldTimes{d: d, by: make([]int64, n), tick: 1, seen: make([]uint32, n), roots: make([]ClientID, n)}
}

// By returns for how long clients have waited for one, in nanoseconds, summed over those that waited.
func (h *HeldTimes) By(id ClientID) int64 { return h.by[id] }

// Until counts waits until a real time, in nanoseconds. The caller calls it before the first event of that time: so far nothing has
// changed since the last Settle.
func (h *HeldTimes) Until(now int64) {
	if h.d.phase != running && h.d.phase != epsilon {
		h.ticked = now
		return
	}
	ticks := (now - h.ticked) / h.tick
	if ticks <= 0 {
		return
	}
	took := ticks * h.tick
	h.ticked += took
	h.look++
	h.walked = len(h.d.clients)/perClient + 1
	if h.d.phase == epsilon {
		h.countBeginning(took)
	} else {
		h.count(took)
	}
	h.tick = int64(h.walked) * lookShare
}

// countBeginning counts a time before the first client is authorized: all wait for the same one.
func (h *HeldTimes) countBeginning(took int64) {
	root, waiting := noClient, int64(0)
	for i := range h.d.clients {
		switch c := &h.d.clients[i]; {
		case c.state == gone:
		case c.polled:
			waiting++
		case root == noClient:
			root = c.id
		}
	}
	if root != noClient {
		h.by[root] += waiting * took
	}
}

func (h *HeldTimes) count(took int64) {
	h.d.updateSafeTimes()
	for i := range h.d.clients {
		c := &h.d.clients[i]
		if !c.waiting || c.state == gone {
			continue
		}
		if root := h.root(c.id); root != noClient {
			h.by[root] += took
		}
	}
}

// root returns the From of the last Hold that Blame returns, if that is another client. What is found for one client holds for all on its chain.
func (h *HeldTimes) root(id ClientID) ClientID {
	root := noClient
	if h.d.lacksCredit(&h.d.clients[id]) {
		return root
	}
	h.path = h.path[:0]
	for {
		if h.seen[id] == h.look {
			root = h.roots[id]
			break
		}
		h.seen[id], h.roots[id] = h.look, noClient
		h.path = append(h.path, id)
		from, ends := h.d.firstHolder(id)
		if ends {
			root = from
			break
		}
		id = from
	}
	for _, on := range h.path {
		h.roots[on] = root
	}
	h.walked += len(h.path) + 1
	return root
}

// firstHolder returns the From of the first Hold that Blame returns for a client, and whether it is the last, or waits for credit. The client itself is taken to
// have credit: on a chain that matters only where a Hold is not for what may be heard.
func (d *Dispatcher) firstHolder(id ClientID) (from ClientID, ends bool) {
	from, memory := d.holder(id)
	if from == noClient || !memory && !d.forest.SafeTime(id.node()).Before(Earlier(d.end, d.permit)) {
		return noClient, true
	}
	reason, _, blocked := d.reason(from)
	return from, (memory || reason != Heard) && (!blocked || d.lacksCredit(&d.clients[from]))
}
