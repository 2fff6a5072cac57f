package levels

import (
	"bytes"
	"slices"

	"metasim/federates/ecm"
)

// An ahead is what secondaries have done ahead of the world: steps that they were asked for at once, each without knowing what the others do in them. Whether a step is the one
// that they would have done in its turn is seen when the world comes to it: then the state says who may touch whom. If it is not, it is thrown away with all that follow, and
// the secondaries get the whole state anew. So how far they go is a guess, which costs time alone.
type ahead struct {
	limit int             // of steps, at once
	steps int             // asked for at once the next time
	early int             // so many steps go by in turn where a guess was wrong
	wait  int             // so many are left of them
	done  [][]ecm.Changes // by secondary: steps that the world has not come to
	last  []ecm.Edit      // what they did in the step before, in order; memory of the next step
	total uint64          // steps that were done ahead, and stood
}

const (
	mostAhead = 1 << 12 // steps at once
	mostMoves = 1 << 16 // of models, in all these steps: an acknowledgement has them all
	mostEarly = 256
)

// left reports whether secondaries are ahead.
func (a *ahead) left() bool { return len(a.done) > 0 && len(a.done[0]) > 0 }

// next returns how many steps are asked for at once of so many models.
func (a *ahead) next(models int) int {
	if a.wait > 0 {
		a.wait--
		return 1
	}
	return min(max(a.steps, 2), a.limit, 1+mostMoves/max(models, 1))
}

// took notes that a step that was done ahead is the one that would have been done in its turn. The last one of several at once has more of them asked for the next time.
func (a *ahead) took(steps uint64) {
	a.total += steps
	if len(a.done[0]) == 1 {
		a.steps, a.early = min(2*max(a.steps, 2), a.limit), 0
	}
}

// fell throws away what is left.
func (a *ahead) fell() {
	a.done, a.steps, a.early = nil, 2, min(max(2*a.early, 2), mostEarly)
	a.wait = a.early
}

// same reports whether two edits of an entity set and remove the same.
func same(a, b *ecm.Edit) bool {
	return a.Created == b.Created && slices.Equal(a.Removed, b.Removed) &&
		slices.EqualFunc(a.Set, b.Set, func(x, y ecm.Component) bool { return x.Type == y.Type && bytes.Equal(x.Value, y.Value) })
}
