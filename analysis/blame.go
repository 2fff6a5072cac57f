package analysis

import (
	"encoding/binary"

	"metasim/metasim"
)

// A wait is a client's present blocked interval.
type wait struct {
	polled  int64 // when it began
	since   int64 // when the present piece of it began
	from    metasim.Instant
	pieces  []Hold // those before, in order
	path    int32  // who holds it, and how; noPath where that is not known
	who     metasim.ClientID
	known   bool   // it was found out
	epoch   uint32 // counts what it waited for: an older note of who watches whom is void
	looked  int64  // when it was last found out
	short   deficit
	want    metasim.Instant // what it waits for
	eager   bool            // or for a message before that
	need    metasim.Instant // ... as it was when it was last looked at
	safe    metasim.Instant // likewise
	counted int64           // up to when shortfalls has it
}

const noPath int32 = -1

// maxPaths is how many different paths are told apart, and maxHops how long they are in all.
const (
	maxPaths = 1 << 16
	maxHops  = 1 << 20
)

// A blame finds out who holds whom back, and when that changes.
//
// The dispatcher knows the path from each client that waits to the root of its safe time, at a cost that follows its
// length. What is on a path changes only when somebody on it says something: so each client that waits is noted with all
// on its path, and is looked after when one of them has spoken.
type blame struct {
	t            *tracer
	watchers     [][]watcher      // of each client; behind them, of those who are paused
	initializing int              // clients that have not initialized: before that nobody goes on
	paths        map[string]int32 // looked up, never iterated
	times        []int64          // by path
	shortfalls   shortfalls
	pairs        map[[2]metasim.ClientID]int64
	chain        []metasim.Hold
	key          []byte
	hops         int   // of all paths
	walked       int64 // hops that were looked at
	resolution   int64 // how long a client is not looked after again, where that would cost too much
}

// A watcher is a client that waits, with somebody on its path.
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

// speaker returns who has spoken last in this pass; a client itself where nobody else has.
func (b *blame) speaker(id metasim.ClientID) metasim.ClientID {
	for i := len(b.t.spoke) - 1; i >= 0; i-- {
		if who := b.t.spoke[i]; who != id && int(who) < len(b.t.clients) {
			return who
		}
	}
	return id
}

// cause returns whose report led to the authorization of a client that waited: of those who have spoken in this pass,
// the one on its path that is nearest to the root. It is the client itself where it did not wait for anybody.
func (b *blame) cause(id metasim.ClientID) metasim.ClientID {
	w := &b.t.clients[id].wait
	if w.polled == b.t.wall {
		return id
	}
	if w.path >= 0 {
		path := b.t.tl.Paths[w.path]
		for i := len(path) - 1; i >= 0; i-- {
			if who := path[i].From; who != id && b.t.clients[who].spoke == b.t.pass {
				return who
			}
		}
	}
	return b.speaker(id)
}

// refresh looks after all who wait for those who have spoken, and for those who wait since.
func (b *blame) refresh(spoke, asked []metasim.ClientID) {
	for _, p := range spoke {
		list := b.watchers[p]
		kept := list[:0]
		b.watchers[p] = nil
		for _, w := range list {
			c := &b.t.clients[w.id]
			if !c.waiting || c.wait.epoch != w.epoch {
				continue
			}
			if b.throttled(c) || !b.look(w.id) {
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

// throttled reports whether a client is not to be looked after yet. In a long ring of clients every report changes every
// path: there it is enough to look at times.
func (b *blame) throttled(c *trace) bool {
	if b.walked > 1_000_000+8*int64(b.t.entries) {
		b.walked -= 500_000
		b.resolution = max(1000, 2*b.resolution)
	}
	return b.t.wall-c.wait.looked < b.resolution
}

// look finds out who holds a client that waits. It returns true when that has changed; then those on its path have been
// given notes.
func (b *blame) look(id metasim.ClientID) bool {
	w := &b.t.clients[id].wait
	w.looked = b.t.wall
	b.chain = b.t.d.Blame(b.chain[:0], id)
	b.walked += int64(len(b.chain)) + 1
	b.shortfalls.add(w, b.t.wall)
	if len(b.chain) > 0 {
		b.measure(id, b.chain[0].Due)
	}
	path, who := b.intern(b.chain)
	if w.known && path == w.path && who == w.who && (path != noPath || who == Nobody) {
		return false
	}
	b.end(id, b.speaker(id))
	w.known, w.path, w.who = true, path, who
	w.epoch++
	note := watcher{id, w.epoch}
	if who == Nobody {
		b.watch(len(b.t.clients), note)
		return true
	}
	for i := range b.chain {
		b.watch(int(b.chain[i].From), note)
	}
	return true
}

// watch notes that a client waits for another. Notes that are void are dropped when there are many.
func (b *blame) watch(who int, note watcher) {
	list := b.watchers[who]
	if len(list) == cap(list) && len(list) > 64 {
		kept := list[:0]
		for _, w := range list {
			if c := &b.t.clients[w.id]; c.waiting && c.wait.epoch == w.epoch {
				kept = append(kept, w)
			}
		}
		list = kept
	}
	b.watchers[who] = append(list, note)
}

// intern returns the number of a path, and its root.
func (b *blame) intern(chain []metasim.Hold) (int32, metasim.ClientID) {
	if len(chain) == 0 || chain[0].Reason == metasim.Paused {
		return noPath, Nobody
	}
	who := chain[len(chain)-1].From
	b.key = b.key[:0]
	for i := range chain {
		b.key = binary.LittleEndian.AppendUint32(b.key, uint32(chain[i].To))
		b.key = binary.LittleEndian.AppendUint32(b.key, b.t.channel(chain[i].Channel))
	}
	b.key = binary.LittleEndian.AppendUint32(b.key, uint32(who))
	n, known := b.paths[string(b.key)]
	if known {
		return n, who
	}
	n = int32(len(b.t.tl.Paths))
	if n >= maxPaths || b.hops+len(chain) > maxHops {
		return noPath, who
	}
	b.hops += len(chain)
	path := make([]metasim.Hop, len(chain))
	for i := range chain {
		path[i] = chain[i].Hop
	}
	b.paths[string(b.key)] = n
	b.t.tl.Paths = append(b.t.tl.Paths, path)
	b.times = append(b.times, 0)
	b.shortfalls = append(b.shortfalls, nil)
	return n, who
}

// cut ends the present piece of a blocked interval.
func (b *blame) cut(id, who metasim.ClientID) {
	w := &b.t.clients[id].wait
	b.shortfalls.add(w, b.t.wall)
	took := b.t.wall - w.since
	if took <= 0 {
		return
	}
	w.pieces = append(w.pieces, Hold{Begin: w.since, End: b.t.wall, Root: who, Path: w.path})
	w.since = b.t.wall
	if w.path >= 0 {
		b.times[w.path] += took
	}
	b.pairs[[2]metasim.ClientID{id, who}] += took
}

// end ends the present piece of a blocked interval, and puts it down to whom it is known to be put down to. Where that
// was never found out it is the one whose report ended it: in the epsilon tick, who was the last to initialize.
func (b *blame) end(id, cause metasim.ClientID) {
	if w := &b.t.clients[id].wait; w.known {
		cause = w.who
	}
	b.cut(id, cause)
}
