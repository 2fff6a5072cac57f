package world

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
	"metasim/metasim"
)

// How often a system is called in the first second of steps of 5 ms, by both laws, and when for the first time. That nothing may come
// before Next is what its runtime promises.
func TestUpdateRates(t *testing.T) {
	for _, c := range []struct {
		rate         float64
		gazebo, firm int
		first        metasim.Time
	}{
		{0, 200, 200, 5 * ms}, {200, 200, 200, 5 * ms}, {60, 50, 60, 20 * ms}, {30, 28, 30, 35 * ms},
		{144, 100, 144, 10 * ms}, {100, 100, 100, 10 * ms}, {10, 10, 10, 100 * ms}, {300, 200, 200, 5 * ms}, {0.4, 0, 0, 0},
	} {
		for _, exact := range []bool{false, true} {
			slot := &Slot{Rate: c.rate, Exact: exact}
			calls, next, first := 0, metasim.Time(0), metasim.Time(0)
			for at := 5 * ms; at <= 1000*ms; at += 5 * ms {
				due := slot.due(at)
				require.False(t, due && at < next, "rate %v: a call at %v, and the next was to be at %v", c.rate, at, next)
				require.False(t, !due && at == next, "rate %v: no call at %v", c.rate, at)
				if due {
					calls, next = calls+1, slot.next(at, 5*ms)
					if first == 0 {
						first = at
					}
				}
			}
			want := c.gazebo
			if exact {
				want = c.firm
			}
			assert.Equal(t, want, calls, "rate %v, exact %v", c.rate, exact)
			if !exact {
				assert.Equal(t, c.first, first, "rate %v", c.rate)
			}
		}
	}
}

// A recorder is a system that notes how it is called, and writes what it is told to.
type recorder struct {
	name  string
	notes *[]string
	write func(v *ecm.View)
}

func (r *recorder) note(what string) { *r.notes = append(*r.notes, r.name+" "+what) }

func (r *recorder) Configure(Setup, *ecm.View) error { r.note("Configure"); return nil }
func (r *recorder) PreUpdate(_ Info, v *ecm.View) error {
	r.note("PreUpdate")
	if r.write != nil {
		r.write(v)
	}
	return nil
}
func (r *recorder) Update(Info, *ecm.View) error     { r.note("Update"); return nil }
func (r *recorder) PostUpdate(Info, *ecm.View) error { r.note("PostUpdate"); return nil }

func TestSystemsAreCalledInOrderOfPriority(t *testing.T) {
	var notes []string
	slot := func(name string, priority int) *Slot {
		return &Slot{Name: name, Priority: priority, System: &recorder{name: name, notes: &notes}}
	}
	s := serve(t, worldOf(ms), slot("c", 0), slot("late", 10), slot("a", 0), slot("early", -10))
	require.NoError(t, s.Step())
	var want []string
	for _, phase := range []string{"Configure", "PreUpdate", "Update", "PostUpdate"} {
		for _, name := range []string{"early", "a", "c", "late"} {
			want = append(want, name+" "+phase)
		}
	}
	assert.Equal(t, want, notes)
}

// Of two systems of one priority the one with the later name stands, and the conflict is told; a system of a greater priority sees what
// was written before, and that is none.
func TestTwoWriters(t *testing.T) {
	var notes []string
	writer := func(name string, priority int, value byte) *Slot {
		return &Slot{Name: name, Priority: priority, System: &recorder{name, &notes, func(v *ecm.View) {
			old, _ := v.Get(Root, "x")
			v.Set(Root, "x", append(old[:len(old):len(old)], value), ecm.OneTime)
		}}}
	}
	s := serve(t, worldOf(ms), writer("b", 0, 'b'), writer("a", 0, 'a'), writer("last", 5, 'c'))
	require.NoError(t, s.Step())
	x, _ := s.store.ReadOnly().Get(Root, "x")
	assert.Equal(t, "bc", string(x))
	assert.EqualValues(t, 1, s.Stats.Conflicts)
	assert.Equal(t, &FirstConflict{1, PreUpdate, ecm.Conflict{Entity: Root, Type: "x", By: "b", Over: "a"}}, s.Stats.First)
}

// What a system wants to happen happens in the same step.
func TestAForceActsInItsStep(t *testing.T) {
	var notes []string
	push := &Slot{Name: "push", System: &recorder{"push", &notes, func(v *ecm.View) {
		for e := range v.With(Velocity) {
			v.Set(e, Force, PairBytes(spatial.Vector{X: 10}, spatial.Vector{}), ecm.Periodic)
		}
	}}}
	s := serve(t, worldOf(ms, thing("m", sphere(1), spatial.Vector{}, 1, 0, 0)), push)
	require.NoError(t, s.Step())
	_, v, _ := state(t, s, "m")
	assert.InDelta(t, 0.01, v.X, 1e-12)
	for range s.store.ReadOnly().With(Force) {
		t.Error("physics takes forces away")
	}
}

func TestASystemThatFails(t *testing.T) {
	var notes []string
	for _, c := range []struct {
		write func(v *ecm.View)
		want  string
	}{
		{func(v *ecm.View) { v.Set(Root, Pose, Numbers(math.NaN(), 0, 0, 1, 0, 0, 0), ecm.OneTime) },
			"system s, in PreUpdate of iteration 1: it sets pose of entity 1: number 1 is NaN"},
		{func(v *ecm.View) { v.Set(Root, Pose, []byte("pose"), ecm.OneTime) },
			"system s, in PreUpdate of iteration 1: it sets pose of entity 1: 4 bytes, not 7 numbers"},
	} {
		s := serve(t, worldOf(ms), &Slot{Name: "s", System: &recorder{"s", &notes, c.write}})
		before := s.Hash()
		err := s.Step()
		assert.EqualError(t, err, c.want)
		assert.ErrorAs(t, err, new(*StepError))
		assert.Equal(t, before, s.Hash(), "the state is untouched")
	}
	_, err := New(Config{World: worldOf(ms), Slots: []*Slot{{Name: "s", System: 7}}})
	assert.EqualError(t, err, "system s takes part in no phase")
	_, err = New(Config{World: worldOf(ms), Slots: []*Slot{{Name: "s"}}})
	assert.EqualError(t, err, "system s has no runtime")
}

// Echoes are runtimes that write nothing, and keep what they were sent.
type echoes struct {
	calls []Call
	last  int
	seen  map[string]*ecm.Store
	fail  error
}

func (e *echoes) Begin(calls []Call) error {
	e.calls, e.last = append(e.calls, calls...), len(calls)
	for _, c := range calls {
		changes, err := ecm.Decode(c.State)
		if err != nil {
			return err
		}
		if c.Fresh {
			e.seen[c.Slot.Name] = ecm.NewStore(nil)
		}
		if err := e.seen[c.Slot.Name].Apply(changes); err != nil {
			return err
		}
	}
	return nil
}

func (e *echoes) Replies() ([]Reply, error) {
	replies := make([]Reply, e.last)
	for i := range replies {
		replies[i].Phases = 1<<PreUpdate | 1<<PostUpdate
	}
	return replies, e.fail
}

// One encoding serves all runtimes that have seen the same, and a runtime that is called seldom has all that happened in between.
func TestOneEncodingServesAll(t *testing.T) {
	e := &echoes{seen: map[string]*ecm.Store{}}
	slots := []*Slot{{Name: "physics", System: Physics{}, Priority: -64}, {Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "slow", Rate: 10}}
	s, err := New(Config{World: worldOf(5*ms, ground(0, 1, 1), thing("m", sphere(1), spatial.Vector{Z: 3}, 1, 1, 1)), Slots: slots, Runtimes: e})
	require.NoError(t, err)
	require.NoError(t, s.Configure())
	assert.EqualValues(t, 1, s.Stats.Encodings)
	assert.EqualValues(t, 4, s.Stats.Sends)
	for range 19 {
		require.NoError(t, s.Step())
	}
	assert.EqualValues(t, 1+2*19, s.Stats.Encodings)
	assert.EqualValues(t, 4+2*3*19, s.Stats.Sends)
	assert.NotEqual(t, s.Hash(), e.seen["slow"].Hash())
	require.NoError(t, s.Step())
	assert.Equal(t, uint64(1), slots[4].Calls())
	for _, slot := range slots[1:] {
		assert.Equal(t, s.Hash(), e.seen[slot.Name].Hash(), slot.Name)
	}
	for _, c := range e.calls {
		if c.Slot.Name == "slow" && c.Phase == PostUpdate {
			assert.Equal(t, 200*ms, c.Next)
		}
	}
	e.fail = errors.New("gone")
	assert.EqualError(t, s.Step(), "gone")
}

func TestPhasesHaveNames(t *testing.T) {
	assert.Equal(t, "PostUpdate", PostUpdate.String())
	assert.Equal(t, "phase 9", Phase(9).String())
	_, err := New(Config{World: &sdf.World{Name: "w"}})
	assert.Error(t, err)
}

// A counter counts steps, of which it writes the number. It is a Resetter if it is asked to be one.
type counter struct{ n float64 }

func (c *counter) Configure(_ Setup, v *ecm.View) error {
	c.n = 100
	v.Set(v.Create(Root), Name, []byte("of the counter"), ecm.OneTime)
	return nil
}

func (c *counter) PreUpdate(_ Info, v *ecm.View) error {
	c.n++
	v.Set(Root, "count", Numbers(c.n), ecm.Periodic)
	return nil
}

type resetter struct{ *counter }

func (r resetter) Reset(i Info, v *ecm.View) error {
	if i.Iteration != 0 || i.Time != 0 {
		return errors.New("time goes on")
	}
	r.n = 100
	v.Set(Root, "was", []byte("reset"), ecm.OneTime)
	v.Unset(Root, "was")
	return nil
}

// After a reset the states are those of a fresh start: of systems that have Reset, of those that are made anew, and with calls at a rate.
func TestAResetIsAFreshStart(t *testing.T) {
	anew := func() (any, error) { return &counter{}, nil }
	for _, system := range []any{&counter{}, resetter{&counter{}}} {
		s := serve(t, worldOf(5*ms, ground(0, 1, 1), thing("ball", sphere(0.2), spatial.Vector{Z: 1}, 1, 0.9, 1)),
			&Slot{Name: "counter", System: system, Anew: anew, Rate: 60}, &Slot{Name: "late", System: &counter{}, Anew: anew, Priority: 3})
		s.order[0].Anew = func() (any, error) { return Physics{}, nil }
		start := s.Hash()
		var want, got [][32]byte
		for _, hashes := range []*[][32]byte{&want, &got} {
			for range 70 {
				require.NoError(t, s.Step())
				*hashes = append(*hashes, s.Hash())
			}
			require.EqualValues(t, 70, s.Info().Iteration)
			require.NoError(t, s.Reset())
			require.Equal(t, start, s.Hash())
		}
		require.Equal(t, want, got)
	}
	s := serve(t, worldOf(ms), &Slot{Name: "counter", System: &counter{}})
	s.order[0].Anew = func() (any, error) { return nil, errors.New("it is lost") }
	assert.EqualError(t, s.Reset(), "system physics, in Reset: it is lost")
	s.order[0].Anew = func() (any, error) { return Physics{}, nil }
	assert.EqualError(t, s.Reset(), "system counter, in Reset: it has no Reset, and cannot be made anew")
}
