package levels

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/ecm"
	"metasim/federates/spatial"
	"metasim/federates/world"
	"metasim/metasim"
)

// flying returns the first order for models that fly about.
func flying(t *testing.T) order {
	t.Helper()
	w, _, speeds := arena(6)
	s, err := world.New(world.Config{World: w, Slots: []*world.Slot{{Name: "throw", System: start{speeds}}}})
	require.NoError(t, err)
	require.NoError(t, s.Configure())
	state, err := ecm.Decode(s.AppendState(nil))
	require.NoError(t, err)
	o := order{steps: 2, fresh: true, info: world.Info{Iteration: 1, Time: 10 * metasim.Millisecond, Step: 10 * metasim.Millisecond}, changes: state}
	store := ecm.NewStore(world.Schema())
	require.NoError(t, store.Apply(state))
	for e := range store.View(0).With(world.Velocity) {
		o.move = append(o.move, e)
	}
	require.NotEmpty(t, o.move)
	return o
}

// do has a secondary carry out an order, and returns what it did.
func do(t *testing.T, s *Secondary, number uint64, o order) acknowledgement {
	t.Helper()
	b, err := o.append(nil)
	require.NoError(t, err)
	ack, _, err := s.Do(number, b)
	require.NoError(t, err)
	a, err := decodeAcknowledgement(ack, new(ecm.Memory))
	require.NoError(t, err)
	return a
}

// A secondary that goes ahead from its own state does the next steps before it is asked, and what it acknowledges is what one would that does nothing before, whatever the next order says.
func TestWhatIsDoneBefore(t *testing.T) {
	first := flying(t)
	wall := first.changes.Edits[len(first.changes.Edits)-1].Entity
	stands := ecm.Component{Type: world.Velocity, Value: world.PairBytes(spatial.Vector{}, spatial.Vector{}), Kind: ecm.OneTime}
	for name, c := range map[string]struct {
		kept   bool // it goes on doing steps before
		change func(o *order)
	}{
		"as expected":          {true, func(*order) {}},
		"of many steps":        {true, func(o *order) { o.steps = 40 }},
		"of one step":          {false, func(o *order) { o.steps = 1 }},
		"after other edits":    {false, func(o *order) { o.changes.Edits = []ecm.Edit{{Entity: o.move[0], Set: []ecm.Component{stands}}} }},
		"of fewer models":      {false, func(o *order) { o.move = o.move[:1] }},
		"of a later step":      {false, func(o *order) { o.info = after(o.info) }},
		"of another length":    {false, func(o *order) { o.info.Step *= 2 }},
		"of a removal":         {false, func(o *order) { o.changes.Removed = []ecm.Entity{wall} }},
		"of what is elsewhere": {true, func(o *order) { o.changes.Removed = []ecm.Entity{1 << 30} }},
		"of a new state":       {false, func(o *order) { o.fresh, o.changes = true, first.changes }},
		"that is measured":     {false, func(o *order) { o.measured = true }},
	} {
		t.Run(name, func(t *testing.T) {
			var early, plain Secondary
			o := first
			for number := range uint64(6) {
				if number == 4 {
					require.NotNil(t, early.before)
					c.change(&o)
				}
				before := early.before
				plain.Stop() // it does nothing before
				want, got := do(t, &plain, number, o), do(t, &early, number, o)
				require.Equal(t, want, got, "order %d", number)
				require.Empty(t, got.failed)
				if number == 4 {
					assert.Equal(t, c.kept, early.before != nil && early.before == before)
				}
				saved, err := plain.Save()
				require.NoError(t, err)
				also, err := early.Save()
				require.NoError(t, err)
				require.Equal(t, saved, also, "a checkpoint says nothing of what was done before")
				o.info.Iteration, o.info.Time = o.info.Iteration+uint64(o.steps), o.info.Time.Add(metasim.Time(o.steps)*o.info.Step)
				o.fresh, o.changes = false, ecm.Changes{Edits: got.changes[len(got.changes)-1].Edits}
			}
		})
	}
}

// What is done before has a bound: as many steps as the primary asks for next, if all of them stand.
func TestHowMuchIsDoneBefore(t *testing.T) {
	o := flying(t)
	var s Secondary
	for number, steps := range []int{2, 4, 8, 8} {
		o.steps = steps
		a := do(t, &s, uint64(number), o)
		o.info.Iteration, o.info.Time = o.info.Iteration+uint64(steps), o.info.Time.Add(metasim.Time(steps)*o.info.Step)
		o.fresh, o.changes = false, ecm.Changes{Edits: a.changes[steps-1].Edits}
		if number == 0 {
			require.Nil(t, s.before, "it has not gone on from its own state")
			continue
		}
		b := s.before
		b.mu.Lock()
		for b.works {
			b.changed.Wait()
		}
		assert.Len(t, b.done, []int{0, 8, 16, 8}[number], "behind %d steps", steps)
		b.mu.Unlock()
	}
	assert.EqualValues(t, 1+22+8, s.before.next.Iteration)
}
