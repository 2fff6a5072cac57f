package lockstep

import (
	"errors"
	"slices"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/levels"
	"metasim/federates/sdf"
	"metasim/federates/world"
	"metasim/metasim"
)

// addLevels gives a world the system that loads and unloads its levels, if it is to have one, behind the systems of its file, and its secondaries. Orders are where what those
// are asked for is published.
func (l *link) addLevels(w *sdf.World, in *catalog.Instance, placed []Placed, orders []*client.Publication, c *world.Config) error {
	policy := levels.Policy(catalog.Get[string](in, "policy"))
	asks := catalog.Get[bool](in, "set_performer")
	secondaries, _ := catalog.Find[[]string](in, "secondaries")
	plan, _, err := levels.Read(w) // who starts a run was shown its warnings
	switch {
	case policy == levels.None && !asks && len(secondaries) == 0 && catalog.Get[metasim.Time](in, "map") == 0:
		return nil
	case policy == levels.None:
		plan = &levels.Plan{}
	case err != nil:
		return err
	}
	topic := ""
	if asks {
		l.performers, topic = catalog.PerformerChannels(in.Name)
	}
	made := func() (any, error) {
		l.levels = levels.NewSystem(w, plan, policy, topic)
		return l.levels, nil
	}
	system, err := made()
	c.Slots = append(c.Slots, &world.Slot{Name: "levels", Plugin: &sdf.Plugin{Place: w.Place, Name: "gz::sim"}, Priority: levels.Priority, System: system, Anew: made})
	if err != nil {
		return err
	}
	if err := l.addSecondaries(w, in, secondaries, orders, placed); err != nil {
		return err
	}
	return l.addMapper(w, in, c)
}

// addMapper gives a world the system that draws it up from above, if it is to have one.
func (l *link) addMapper(w *sdf.World, in *catalog.Instance, c *world.Config) error {
	every := catalog.Get[metasim.Time](in, "map")
	if every == 0 {
		return nil
	}
	made := func() (any, error) {
		return levels.NewMapper(in.Name, catalog.MapChannel(in.Name), every, l.levels, l.primary), nil
	}
	system, err := made()
	c.Slots = append(c.Slots, &world.Slot{Name: "map", Plugin: &sdf.Plugin{Place: w.Place, Name: "gz::sim"}, Priority: levels.Last, System: system, Anew: made})
	return err
}

// addSecondaries lets secondaries do the work of physics.
func (l *link) addSecondaries(w *sdf.World, in *catalog.Instance, names []string, orders []*client.Publication, placed []Placed) error {
	if len(names) == 0 {
		return nil
	}
	i, err := Mover(w, placed)
	if err != nil {
		return err
	}
	c := &carrier{link: l, names: names, orders: orders}
	for _, name := range names {
		_, ack := catalog.SecondaryChannels(in.Name, name)
		l.acks[ack] = &acked{from: name}
	}
	auto := catalog.Get[bool](in, "auto")
	steps := 1 + int(catalog.Get[metasim.Time](in, "run_ahead")/w.Physics.Step)
	placed[i].Anew = func() (any, error) {
		l.primary = levels.NewPrimary(names, c, l.levels, steps, auto)
		l.primary.Measures = l.meter.asks != nil
		return l.primary, nil
	}
	placed[i].System, err = placed[i].Anew()
	return err
}

// Mover returns the place of physics among the systems that run in a world: the one whose work secondaries do.
func Mover(w *sdf.World, here []Placed) (int, error) {
	i := slices.IndexFunc(here, func(p Placed) bool {
		_, moves := p.System.(world.Physics)
		return moves
	})
	if i < 0 {
		return 0, at(w.Place, errors.New("the world has no system that moves models here, so its secondaries have nothing to do; leave them out, or let gz::sim::systems::Physics run in the world"))
	}
	return i, nil
}

// fillLevels says what became of the levels of a world.
func (l *link) fillLevels(r *worldResult, in *catalog.Instance, step metasim.Time) {
	if l.levels == nil {
		return
	}
	if policy := catalog.Get[string](in, "policy"); policy != string(levels.None) {
		r.Levels = &levelsResult{Policy: policy, Loads: l.levels.Stats.Loads, Unloads: l.levels.Stats.Unloads}
	}
	if l.primary == nil {
		performers, loaded := l.levels.Report()
		r.Runners = []runnerResult{{in.Name, r.Iterations, performers, loaded}}
		return
	}
	for _, s := range l.primary.Shares() {
		r.Runners = append(r.Runners, runnerResult(s))
	}
	r.Handovers, r.Merges, r.Splits = l.primary.Counts()
	r.Starts, r.Retires = l.primary.Started()
	l.fillBalance(r)
	r.RunAheadS = float64(l.primary.Ahead()) * step.Seconds()
}

// fillBalance says what became of measurements.
func (l *link) fillBalance(r *worldResult) {
	if l.meter.asks == nil {
		return
	}
	b := &balanceResult{BeforeNS: []int64{}, AfterNS: []int64{}, Moves: []moveResult{}}
	before, after, moves := l.primary.Balanced()
	for _, ns := range before {
		b.BeforeNS = append(b.BeforeNS, int64(ns))
	}
	for _, ns := range after {
		b.AfterNS = append(b.AfterNS, int64(ns))
	}
	for _, m := range moves {
		b.Moves = append(b.Moves, moveResult{m.Iteration, int64(m.Time), m.Level, m.Model, m.From, m.To})
	}
	r.Balance = b
}
