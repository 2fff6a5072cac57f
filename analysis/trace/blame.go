package trace

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"metasim/metasim"
)

// maxPaths is how many different paths are stored, and maxHops how long they are in total.
const (
	maxPaths = 1 << 16
	maxHops  = 1 << 20
)

// A blame finds out which client holds each waiting client back, and when that changes.
//
// The dispatcher can return the path from a waiting client to the root of its safe time. Its cost is the length of the path. A path
// changes only when a client on it sends an event. So each waiting client is noted with all clients on its path, and its path is
// looked up again after one of them has sent an event.
type blame struct {
	t            *tracer
	watchers     [][]watcher      // by client; the last list watches a pause and the run around this one
	initializing int              // the number of clients that have not initialized: before that no client goes on
	paths        map[string]int32 // index in Timeline.Paths; looked up, never iterated
	times        []int64          // waited, by path
	shortfalls   [][]ShortWait    // by path, in any order; a path has few different ones
	pairs        map[[2]metasim.ClientID]int64
	chain        []metasim.Hold
	key          []byte
	hops         int   // of all paths
	walked       int64 // hops that were looked up
	resolution   int64 // a path is not looked up again within this time, where that would cost too much
}

// A watcher is a waiting client with another client on its path. It is void when the epoch of the wait has changed.
type watcher struct {
	id    metasim.ClientID
	epoch uint32
}

func newBlame(t *tracer) *blame {
	return &blame{
		t: t, watchers: make([][]watcher, len(t.clients)+1), paths: map[string]int32{},
		pairs: map[[2]metasim.ClientID]int64{},
	}
}

// lastSpeaker returns the client, other than id, that sent the last event of this pass. If there is none it returns id.
func (b *blame) lastSpeaker(id metasim.ClientID) metasim.ClientID {
	for i := len(b.t.spoke) - 1; i >= 0; i-- {
		if speaker := b.t.spoke[i]; speaker != id && int(speaker) < len(b.t.clients) {
			return speaker
		}
	}
	return id
}

// cause returns the client whose report led to the authorization of a waiting client: of the clients that sent an event in this pass,
// the one on its path that is nearest to the root. It returns id itself if the client did not wait.
func (b *blame) cause(id metasim.ClientID) metasim.ClientID {
	w := &b.t.clients[id].wait
	if w.polled == b.t.wall {
		return id
	}
	if w.path >= 0 {
		path := b.t.tl.Paths[w.path]
		for i := len(path) - 1; i >= 0; i-- {
			if from := path[i].From; from != id && b.t.clients[from].spoke == b.t.pass {
				return from
			}
		}
	}
	return b.lastSpeaker(id)
}

// refresh looks up the paths of all clients that wait for those that spoke, and of those that asked.
func (b *blame) refresh(spoke, asked []metasim.ClientID) {
	for _, p := range spoke {
		list := b.watchers[p]
		kept := list[:0]
		b.watchers[p] = nil
		for _, w := range list {
			if !b.void(w) && (b.tooSoon(&b.t.clients[w.id]) || !b.look(w.id)) {
				kept = append(kept, w)
			}
		}
		b.watchers[p] = append(kept, b.watchers[p]...)
	}
	for _, id := range asked {
		if b.t.clients[id].waiting {
			b.look(id)
		}
	}
}

func (b *blame) void(w watcher) bool {
	c := &b.t.clients[w.id]
	return !c.waiting || c.wait.epoch != w.epoch
}

// tooSoon reports whether the path of a client need not be looked up yet. In a long ring of clients every report changes every path.
// There the paths are looked up at intervals.
func (b *blame) tooSoon(c *client) bool {
	if b.walked > 1_000_000+8*int64(b.t.entries) {
		b.walked -= 500_000
		b.resolution = max(1000, 2*b.resolution)
	}
	return b.t.wall-c.wait.looked < b.resolution
}

// look looks up the path of a waiting client. It returns true if the path has changed; then the client watches all clients on it.
func (b *blame) look(id metasim.ClientID) bool {
	w := &b.t.clients[id].wait
	w.looked = b.t.wall
	b.chain = b.t.d.Blame(b.chain[:0], id)
	b.walked += int64(len(b.chain)) + 1
	b.countShort(w)
	if len(b.chain) > 0 {
		b.measure(id, b.chain[0].Due)
	}
	starves := len(b.chain) > 0 && b.chain[0].Reason == metasim.Memory
	path, root := b.store(b.chain)
	if w.known && path == w.path && root == w.root && (path != noPath || root == NoClient) {
		return false
	}
	b.endPart(id, b.lastSpeaker(id))
	w.known, w.path, w.root, w.starve = true, path, root, starves
	w.epoch++
	note := watcher{id, w.epoch}
	if root == NoClient {
		b.watch(len(b.t.clients), note)
		return true
	}
	for i := range b.chain {
		b.watch(int(b.chain[i].From), note)
	}
	return true
}

// watch adds a watcher of a client. It drops void watchers when there are many.
func (b *blame) watch(client int, note watcher) {
	list := b.watchers[client]
	if len(list) == cap(list) && len(list) > 64 {
		list = slices.DeleteFunc(list, b.void)
	}
	b.watchers[client] = append(list, note)
}

// store returns the index of a path, which it stores if it is new, and its root. A client that waits for memory waits behind no link:
// the path ends there, and the root is still the last client of the chain.
func (b *blame) store(chain []metasim.Hold) (path int32, root metasim.ClientID) {
	if len(chain) == 0 || chain[0].From == chain[0].To {
		return noPath, NoClient
	}
	root = chain[len(chain)-1].From
	if last := len(chain) - 1; chain[last].Reason == metasim.NoCredit {
		chain = chain[:last]
	}
	if k := slices.IndexFunc(chain, func(h metasim.Hold) bool { return h.Reason == metasim.Memory }); k >= 0 {
		if chain = chain[:k]; len(chain) == 0 {
			return noPath, root
		}
	}
	b.key = b.key[:0]
	for i := range chain {
		b.key = binary.LittleEndian.AppendUint32(b.key, uint32(chain[i].To))
		b.key = binary.LittleEndian.AppendUint32(b.key, b.t.channel(chain[i].Channel))
	}
	b.key = binary.LittleEndian.AppendUint32(b.key, uint32(root))
	path, known := b.paths[string(b.key)]
	if known {
		return path, root
	}
	path = int32(len(b.t.tl.Paths))
	if path >= maxPaths || b.hops+len(chain) > maxHops {
		return noPath, root
	}
	b.hops += len(chain)
	hops := make([]metasim.Hop, len(chain))
	for i := range chain {
		hops[i] = chain[i].Hop
	}
	b.paths[string(b.key)] = path
	b.t.tl.Paths = append(b.t.tl.Paths, hops)
	b.times = append(b.times, 0)
	b.shortfalls = append(b.shortfalls, nil)
	return path, root
}

// measure computes the shortfall of a waiting client.
func (b *blame) measure(id metasim.ClientID, safe metasim.Instant) {
	w := &b.t.clients[id].wait
	w.need, w.safe = w.want, safe
	if w.eager {
		w.need = b.t.d.Status(id).Need
	}
	w.short = shortfall(w.need, w.safe)
}

// expect updates the shortfall of a client that may wait for a message that was queued now. One that is due at the end of the run or
// later is never delivered: nobody waits for it.
func (b *blame) expect(id metasim.ClientID, due metasim.Instant) {
	c := &b.t.clients[id]
	if w := &c.wait; c.waiting && w.eager && due.Before(w.need) && due.Before(b.t.d.End()) {
		b.countShort(w)
		w.need = due
		w.short = shortfall(w.need, w.safe)
	}
}

// endPart ends the current part of a wait. It blames the root; if that was never looked up, it blames cause, whose report ended the
// part. In the epsilon tick that is the last client to initialize.
func (b *blame) endPart(id, cause metasim.ClientID) {
	w := &b.t.clients[id].wait
	if w.known {
		cause = w.root
	}
	b.countShort(w)
	took := b.t.wall - w.since
	if took <= 0 {
		return
	}
	w.parts = append(w.parts, Hold{Begin: w.since, End: b.t.wall, Root: cause, Path: w.path})
	w.since = b.t.wall
	if w.path >= 0 {
		b.times[w.path] += took
	}
	if w.starve {
		b.t.tl.Totals.Clients[id].Starved += took
	}
	b.pairs[[2]metasim.ClientID{id, cause}] += took
}

// shortfall returns the simulated time by which the safe time of a waiting client is less than what the client needs. If the least delay of
// a link on the path to the root were longer by the shortfall, that path would hold the client no longer. Summed over a run this gives a
// curve for each link: how much waiting ends if the link's delay is longer by x. The gain is smaller than that where another path holds the
// client too.
//
// A shortfall is rounded up to four binary digits, so that there are few different ones. That of a client that waits for no particular
// instant is Forever: no delay ends its wait.
func shortfall(need, safe metasim.Instant) metasim.Time {
	if need.Time == metasim.Forever {
		return metasim.Forever
	}
	x := uint64(max(0, need.Time-safe.Time)) // one nanosecond less than what is missing: the bound is exclusive
	if n := bits.Len64(x); n > 4 {
		x |= 1<<(n-4) - 1
	}
	return metasim.Time(x).Add(1)
}

// countShort counts a wait until now, with the shortfall that it has had so far.
func (b *blame) countShort(w *wait) {
	took := b.t.wall - w.counted
	w.counted = b.t.wall
	if took <= 0 || !w.known || w.path < 0 || w.short == metasim.Forever {
		return
	}
	sums := b.shortfalls[w.path]
	for i := range sums {
		if sums[i].More == w.short {
			sums[i].Took += took
			return
		}
	}
	b.shortfalls[w.path] = append(sums, ShortWait{w.short, took})
}

// shortPerLink returns the waits behind each link of the run's paths, ordered by shortfall.
func (b *blame) shortPerLink() map[LinkID][]ShortWait {
	links := map[LinkID][]ShortWait{}
	for path, sums := range b.shortfalls {
		for _, hop := range b.t.tl.Paths[path] {
			id := b.t.linkOf(&hop)
			links[id] = append(links[id], sums...)
		}
	}
	for id, waits := range links { // each link by itself: the order does not matter
		slices.SortFunc(waits, func(a, b ShortWait) int { return cmp.Compare(a.More, b.More) })
		var sums []ShortWait
		for _, w := range waits {
			if n := len(sums); n > 0 && sums[n-1].More == w.More {
				sums[n-1].Took += w.Took
			} else {
				sums = append(sums, w)
			}
		}
		links[id] = sums
	}
	return links
}
