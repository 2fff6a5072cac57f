package metasim

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A thicket is a random graph whose bounds change as those of a run do, and now and then as they never would.
type thicket struct {
	r      *rand.Rand
	out    [][]edge
	last   []Instant // of each link that keeps the order: what it delivered last
	alarms []Instant
	forest *forest
}

func newThicket(r *rand.Rand) *thicket {
	n := 1 + r.IntN(12)
	t := &thicket{r: r, out: make([][]edge, n), alarms: make([]Instant, n)}
	bounds := make([]bound, n)
	for i := range bounds {
		bounds[i] = bound{floor: t.instant(8), known: t.instant(8), reaction: []Time{0, 0, 1, 5}[r.IntN(4)]}
		bounds[i].known = Later(bounds[i].floor, bounds[i].known)
	}
	firmly := r.IntN(4) > 0 // most links are
	if r.IntN(3) == 0 {
		t.share(r.IntN(n), bounds)
	}
	for range r.IntN(3*n + 1) {
		t.link(r.IntN(n), r.IntN(n), firmly)
	}
	for i := n; i > 0 && r.IntN(3) > 0; i-- { // more of them at the ends of stars
		bounds = append(bounds, bounds[r.IntN(n)])
		t.out, t.alarms = append(t.out, nil), append(t.alarms, Start)
		hub, pendant := r.IntN(n), len(bounds)-1
		for range 1 + r.IntN(3) {
			if r.IntN(2) == 0 {
				hub, pendant = pendant, hub
			}
			t.link(hub, pendant, firmly)
		}
	}
	t.forest = newForest(bounds, t.out)
	return t
}

// share makes a client the hub of a channel that some have in common.
func (t *thicket) share(hub int, bounds []bound) {
	bounds[hub] = hubBound
	d := []Time{0, 1, 7}[t.r.IntN(3)]
	for i := range t.out {
		if i != hub && t.r.IntN(3) > 0 {
			t.out[i] = append(t.out[i], edge{to: ClientID(hub)})
		}
		if i != hub && t.r.IntN(3) > 0 {
			t.out[hub] = append(t.out[hub], edge{to: ClientID(i), link: constant(d)})
		}
	}
}

func (t *thicket) link(from, to int, firmly bool) {
	d := []Time{0, 0, 1, 2, 5, 20, Forever}[t.r.IntN(7)]
	var link Link = constant(d)
	if !firmly || t.r.IntN(8) == 0 {
		k := len(t.last)
		t.last = append(t.last, Start)
		link = bough{oneStep{}, func(x Instant) Instant { return Later(x.Add(d), t.last[k]) }}
	}
	t.out[from] = append(t.out[from], edge{to: ClientID(to), link: link})
}

func (t *thicket) instant(most int) Instant {
	if t.r.IntN(15) == 0 {
		return Infinity
	}
	return Instant{Time: Time(t.r.IntN(most)), Step: uint32(t.r.IntN(6) / 5)}
}

// later draws an instant at i or after it.
func (t *thicket) later(i Instant) Instant {
	if i == Infinity || t.r.IntN(20) == 0 {
		return Infinity
	}
	return Later(i, Instant{Time: i.Time + Time(t.r.IntN(10)), Step: uint32(t.r.IntN(6) / 5)})
}

// change changes one client's bound: a report raises it, a message lowers what is known to what is safe, or, where
// wild is set, anything happens.
func (t *thicket) change(wild bool) ClientID {
	id := ClientID(t.r.IntN(len(t.forest.bounds)))
	b := &t.forest.bounds[id]
	switch {
	case wild && t.r.IntN(8) == 0:
		b.floor, b.known = t.instant(40), t.instant(40)
	case t.r.IntN(4) == 0:
		b.known = Earlier(b.known, t.later(t.forest.safeTime(id)).React(b.reaction))
	case t.r.IntN(3) == 0:
		b.floor = t.later(b.floor)
	default:
		b.known = t.later(b.known)
	}
	b.known = Later(b.floor, b.known)
	return id
}

// relink raises a link, and returns whom it leads to.
func (t *thicket) relink() []ClientID {
	if len(t.last) == 0 || t.r.IntN(3) > 0 {
		return nil
	}
	k := t.r.IntN(len(t.last))
	t.last[k] = t.later(t.last[k])
	var all []ClientID // the machine knows which; here it is enough that none is left out
	for i := range t.forest.bounds {
		if t.forest.places[i].hub == nobody { // links to pendants do not rise
			all = append(all, ClientID(i))
		}
	}
	return all
}

// watch lets a client wait for some safe time.
func (t *thicket) watch(id ClientID) {
	t.alarms[id] = t.later(t.forest.safeTime(id))
	t.forest.watch(id, t.alarms[id])
}

// update changes bounds and links, and checks who is named.
func (t *thicket) update(tt *testing.T, seed, step int, wild bool) {
	before := t.forest.all()
	var changed []ClientID
	for range 1 + t.r.IntN(3) {
		changed = append(changed, t.change(wild))
	}
	rose := t.forest.update(changed, t.relink())
	after := t.forest.all()
	require.Equal(tt, safeTimes(t.forest.bounds, t.out), after, "seed %d step %d", seed, step)
	t.checkParents(tt, after, seed, step)
	told := map[ClientID]bool{}
	for _, id := range rose {
		told[id] = true
	}
	for i := range after {
		reached := before[i].Before(t.alarms[i]) && !after[i].Before(t.alarms[i])
		require.False(tt, reached && !told[ClientID(i)], "seed %d step %d: client %d has what it waits for", seed, step, i)
		early := after[i].Before(t.alarms[i]) || after[i] == before[i]
		require.False(tt, early && told[ClientID(i)] && !wild, "seed %d step %d: client %d was told for nothing", seed, step, i)
	}
	for _, id := range append(changed, rose...) {
		t.watch(id)
	}
}

// checkParents follows every E one link up: it is what the parent may send, pushed along the link.
func (t *thicket) checkParents(tt *testing.T, safe []Instant, seed, step int) {
	for i := range safe {
		from, held := t.forest.parent(ClientID(i))
		require.Equal(tt, safe[i] != Infinity, held, "seed %d step %d: client %d", seed, step, i)
		if !held {
			continue
		}
		best := Infinity
		for _, e := range t.out[from] {
			if e.to == ClientID(i) {
				best = Earlier(best, e.earliest(t.forest.bounds[from].send(safe[from])))
			}
		}
		require.Equal(tt, safe[i], best, "seed %d step %d: %d is no parent of client %d", seed, step, from, i)
	}
}

// all returns every E.
func (f *forest) all() []Instant {
	var all []Instant
	for i := range f.bounds {
		all = append(all, f.safeTime(ClientID(i)))
	}
	return all
}

// Random graphs of all kinds, with bounds that change in random order: 50,000 states unless -short.
func TestForestAgainstThePlainComputation(t *testing.T) {
	rounds := 2000
	if testing.Short() {
		rounds = 400
	}
	pendants := 0
	for seed := range rounds {
		th := newThicket(rand.New(rand.NewPCG(uint64(seed), 7)))
		f := th.forest
		require.Equal(t, safeTimes(f.bounds, th.out), f.all(), "seed %d", seed)
		for i := range f.bounds {
			th.watch(ClientID(i))
			if f.places[i].hub != nobody {
				pendants++
			}
		}
		for step := range 25 {
			th.update(t, seed, step, seed%4 == 0)
		}
	}
	require.Greater(t, pendants, rounds, "too few of them to show anything")
}

// A bough is a link of which only Earliest matters.
type bough struct {
	Link
	earliest func(x Instant) Instant
}

func (b bough) Earliest(x Instant) Instant { return b.earliest(x) }
