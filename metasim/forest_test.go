package metasim

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A thicket is a random graph whose bounds change as those of a run do, and now and then as they never would.
type thicket struct {
	r      *rand.Rand
	last   []Instant // of each link: what a link that keeps the order delivered last
	forest *forest
}

func newThicket(r *rand.Rand) *thicket {
	n := 1 + r.IntN(12)
	t := &thicket{r: r}
	bounds := make([]bound, n)
	for i := range bounds {
		bounds[i] = bound{floor: t.instant(8), known: t.instant(8), reaction: []Time{0, 0, 1, 5}[r.IntN(4)]}
		bounds[i].known = Later(bounds[i].floor, bounds[i].known)
	}
	out := make([][]edge, n)
	for range r.IntN(4*n + 1) {
		k := len(t.last)
		t.last = append(t.last, Start)
		d := []Time{0, 0, 1, 2, 5, 20, Forever}[r.IntN(7)]
		from := r.IntN(n)
		out[from] = append(out[from], edge{to: ClientID(r.IntN(n)), link: bough{oneStep{}, func(x Instant) Instant {
			return Later(x.Add(d), t.last[k])
		}}})
	}
	t.forest = newForest(bounds, out)
	return t
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
		b.known = Earlier(b.known, t.later(t.forest.safe[id]).React(b.reaction))
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
		all = append(all, ClientID(i))
	}
	return all
}

func TestForestAgainstThePlainComputation(t *testing.T) {
	rounds := 4000
	if testing.Short() {
		rounds = 400
	}
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		th := newThicket(r)
		f := th.forest
		require.Equal(t, safeTimes(f.bounds, f.out), f.safe, "seed %d", seed)
		wild := seed%4 == 0
		for step := range 25 {
			before := append([]Instant(nil), f.safe...)
			var changed []ClientID
			for range 1 + r.IntN(3) {
				changed = append(changed, th.change(wild))
			}
			rose := f.update(changed, th.relink())
			require.Equal(t, safeTimes(f.bounds, f.out), f.safe, "seed %d step %d", seed, step)
			told := map[ClientID]bool{}
			for _, id := range rose {
				told[id] = true
			}
			for i := range f.safe {
				require.False(t, f.safe[i] != before[i] && !told[ClientID(i)], "seed %d step %d: client %d moved", seed, step, i)
			}
		}
	}
}

// A bough is a link of which only Earliest matters.
type bough struct {
	Link
	earliest func(x Instant) Instant
}

func (b bough) Earliest(x Instant) Instant { return b.earliest(x) }
