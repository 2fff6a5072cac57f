package world

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"metasim/federates/ecm"
	"metasim/metasim"
)

// New makes the state of a world. Errors name what of it cannot be.
func New(c Config) (*Server, error) {
	s := &Server{config: c, step: c.World.Physics.Step}
	if s.step <= 0 {
		return nil, fmt.Errorf("world %s: a step of %v; write a positive max_step_size", c.World.Name, s.step)
	}
	for i, slot := range c.Slots {
		slot.number = uint32(i + 1)
		if slot.System == nil {
			if c.Runtimes == nil {
				return nil, fmt.Errorf("system %s has no runtime", slot.Name)
			}
			continue
		}
		if slot.phases = PhasesOf(slot.System); slot.phases == 0 {
			return nil, fmt.Errorf("system %s takes part in no phase", slot.Name)
		}
	}
	s.order = slices.Clone(c.Slots)
	slices.SortStableFunc(s.order, func(a, b *Slot) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Name, b.Name))
	})
	if err := s.begin(); err != nil {
		return nil, err
	}
	return s, nil
}

// begin makes the state that the file has.
func (s *Server) begin() error {
	s.store, s.encoded, s.info, s.speeds = ecm.NewStore(schema), nil, Info{Step: s.step}, speeds{}
	for _, slot := range s.order {
		slot.seen, slot.fresh, slot.last, slot.periods = 0, true, 0, 0
	}
	return s.load()
}

// PhasesOf returns the phases that a system takes part in, as bits.
func PhasesOf(system any) (bits uint8) {
	if p, says := system.(Phaser); says {
		return p.Phases()
	}
	has := func(p Phase, ok bool) {
		if ok {
			bits |= 1 << p
		}
	}
	_, ok := system.(Configurer)
	has(Configure, ok)
	_, ok = system.(PreUpdater)
	has(PreUpdate, ok)
	_, ok = system.(Updater)
	has(Update, ok)
	_, ok = system.(PostUpdater)
	has(PostUpdate, ok)
	_, ok = system.(Resetter)
	has(Reset, ok)
	return bits
}

// Hash returns the SHA-256 of the state.
func (s *Server) Hash() [32]byte { return s.store.Hash() }

// AppendState appends the whole state to b, as changes from nothing: what Hash is the SHA-256 of.
func (s *Server) AppendState(b []byte) []byte {
	c := s.store.Full()
	return c.Append(b)
}

// Entities returns how many there are.
func (s *Server) Entities() int { return s.store.Len() }

// Info returns what the latest step was.
func (s *Server) Info() Info { return s.info }

// Number returns the number under which a system creates entities.
func (s *Slot) Number() uint32 { return s.number }

// NextTime returns the time at the end of the next step.
func (s *Server) NextTime() metasim.Time { return s.info.Time.Add(s.step) }

// Calls returns in how many steps a system was called.
func (s *Slot) Calls() uint64 { return s.calls }

// Configure calls all systems once, with the whole state.
func (s *Server) Configure() error {
	for _, slot := range s.order {
		slot.called = true
		if slot.System == nil {
			slot.phases = 1<<Configure | slot.Reads // else its reply says the others
		}
	}
	return s.phase(Configure)
}

// Reset takes the world back to its start: what follows is what followed Configure. What systems have to tell is not forgotten.
func (s *Server) Reset() error {
	for _, slot := range s.order {
		if slot.called = !slot.gone; slot.System == nil || slot.phases&(1<<Reset) != 0 {
			continue
		}
		if slot.Anew == nil {
			return &StepError{slot.Name, Reset, 0, errors.New("it has no Reset, and cannot be made anew")}
		}
		var err error
		if slot.System, err = slot.Anew(); err != nil {
			return &StepError{slot.Name, Reset, 0, err}
		}
	}
	if err := s.begin(); err != nil {
		return err
	}
	s.again = true
	defer func() { s.again = false }()
	if err := s.phase(Configure); err != nil {
		return err
	}
	return s.phase(Reset)
}

// kept reports whether what a system wrote in Configure is put in again, instead of a call.
func (s *Server) kept(p Phase, slot *Slot) bool {
	return s.again && p == Configure && slot.phases&(1<<Reset) != 0
}

// Step goes on by one step.
func (s *Server) Step() error {
	s.info = Info{s.info.Iteration + 1, s.NextTime(), s.step}
	for _, slot := range s.order {
		if slot.called = !slot.gone && slot.due(s.info.Time); slot.called {
			slot.calls++
		}
	}
	for p := PreUpdate; p <= PostUpdate; p++ {
		if err := s.phase(p); err != nil {
			return err
		}
	}
	s.speeds.look(s.info, s.store.ReadOnly(), &s.Stats)
	s.forget()
	return nil
}

// Told returns what the systems that run here have to tell since it was asked last, in the order of their calls.
func (s *Server) Told() (all []Told) {
	for _, slot := range s.order {
		if teller, tells := slot.System.(Teller); tells {
			all = append(all, teller.Told()...)
		}
	}
	return all
}

// GoOnWithout has the world call a system no more: its runtime is gone, and has not replied to this call.
func (s *Server) GoOnWithout(slot *Slot, p Phase, iteration uint64) {
	slot.gone = true
	s.Stats.Without = append(s.Stats.Without, Gone{slot.Name, p, iteration})
}

// forget lets go of what every runtime has seen.
func (s *Server) forget() {
	oldest := s.store.Version()
	for _, slot := range s.order {
		if slot.System == nil && !slot.gone {
			oldest = min(oldest, slot.seen)
		}
		if r, reads := slot.System.(Reader); reads {
			oldest = min(oldest, r.Has())
		}
	}
	s.store.Forget(oldest)
}

// phase calls the systems that take part in a phase, those of one priority at once.
func (s *Server) phase(p Phase) error {
	var turn []*Slot
	for i, slot := range s.order {
		if slot.called && !slot.gone && slot.phases&(1<<p) != 0 {
			turn = append(turn, slot)
		}
		last := i+1 == len(s.order) || p != PostUpdate && s.order[i+1].Priority != slot.Priority
		if last && len(turn) > 0 {
			if err := s.turn(p, turn); err != nil {
				return err
			}
			turn = turn[:0]
		}
	}
	return nil
}

// turn calls systems that see the same state. Those that run elsewhere are called first: they work while those here do.
func (s *Server) turn(p Phase, turn []*Slot) error {
	var calls []Call
	waits := false
	for _, slot := range turn {
		if slot.System == nil && !s.kept(p, slot) {
			calls = append(calls, s.call(p, slot))
			waits = waits || slot.Behind == 0
		}
	}
	if calls != nil {
		if err := s.config.Runtimes.Begin(calls); err != nil {
			return err
		}
	}
	writers := make([]ecm.Writer, len(turn))
	for i, slot := range turn {
		writers[i] = ecm.Writer{Written: ecm.Written{By: slot.Name}, Number: slot.number}
		if s.kept(p, slot) {
			writers[i].Changes = slot.configured
			continue
		}
		if slot.System == nil {
			continue
		}
		setup := Setup{World: Root, Plugin: slot.Plugin, Seed: s.config.Seed, Topics: s.config.Topics}
		c, err := Run(slot.System, p, setup, s.info, s.store, slot.number)
		if err != nil {
			return &StepError{slot.Name, p, s.info.Iteration, err}
		}
		writers[i].Changes = c
	}
	if waits {
		if err := s.replies(p, turn, writers); err != nil {
			return err
		}
	}
	for i, slot := range turn {
		if p == Configure && slot.phases&(1<<Reset) != 0 {
			slot.configured = writers[i].Changes
		}
	}
	return s.merge(p, writers)
}

// Run calls one phase of a system, and returns what it wrote.
func Run(system any, p Phase, setup Setup, info Info, store *ecm.Store, number uint32) (ecm.Changes, error) {
	v := store.View(number)
	if p == PostUpdate {
		v = store.ReadOnly()
	}
	var err error
	switch p {
	case Configure:
		err = system.(Configurer).Configure(setup, v)
	case PreUpdate:
		err = system.(PreUpdater).PreUpdate(info, v)
	case Update:
		err = system.(Updater).Update(info, v)
	case PostUpdate:
		err = system.(PostUpdater).PostUpdate(info, v)
	case Reset:
		err = system.(Resetter).Reset(info, v)
	}
	return v.Changes(), cmp.Or(err, v.Err())
}

// call makes the call of a system that runs elsewhere.
func (s *Server) call(p Phase, slot *Slot) Call {
	c := Call{Slot: slot, Phase: p, Info: s.info, Fresh: slot.fresh, State: s.encode(slot), Next: s.info.Time, Seed: s.config.Seed}
	if p == slot.lastPhase() {
		if c.Next = slot.next(s.info.Time, s.step); s.config.Resets {
			c.Next = min(c.Next, s.NextTime())
		}
	}
	if p == Configure && s.again {
		c.Phase = Reset // a runtime is configured once; it makes its system anew
	}
	slot.seen, slot.fresh = s.store.Version(), false
	s.Stats.Sends++
	s.Stats.Bytes += uint64(len(c.State))
	return c
}

// lastPhase returns the last phase of a step that a system takes part in.
func (s *Slot) lastPhase() Phase {
	for p := PostUpdate; p > Configure; p-- {
		if s.phases&(1<<p) != 0 {
			return p
		}
	}
	return phases // not known yet
}

// encode returns what a runtime does not have yet. Those that have the same get the same bytes.
func (s *Server) encode(slot *Slot) []byte {
	i := slices.IndexFunc(s.encoded, func(e encoding) bool { return e.since == slot.seen && e.fresh == slot.fresh })
	if i >= 0 {
		return s.encoded[i].bytes
	}
	c := s.store.Since(slot.seen)
	if slot.fresh {
		c = s.store.Full()
	}
	s.Stats.Encodings++
	e := encoding{slot.seen, slot.fresh, c.Append(nil)}
	s.encoded = append(s.encoded, e)
	return e.bytes
}

// replies puts in what runtimes wrote.
func (s *Server) replies(p Phase, turn []*Slot, writers []ecm.Writer) error {
	all, err := s.config.Runtimes.Replies()
	if err != nil {
		return err
	}
	for i, slot := range turn {
		if slot.System != nil || slot.Behind > 0 || s.kept(p, slot) {
			continue
		}
		if all[0].Gone {
			s.GoOnWithout(slot, p, s.info.Iteration)
		}
		writers[i].Changes = all[0].Changes
		if p == Configure && !s.again {
			slot.phases = all[0].Phases | 1<<Configure
		}
		if p == PostUpdate && !all[0].Changes.Empty() {
			return &StepError{slot.Name, p, s.info.Iteration, errors.New("it wrote where it may only read")}
		}
		all = all[1:]
	}
	return nil
}

// merge makes what the systems of a turn wrote.
func (s *Server) merge(p Phase, writers []ecm.Writer) error {
	before := s.store.Version()
	conflicts, err := s.store.Merge(writers)
	if s.store.Version() != before {
		s.encoded = s.encoded[:0]
	}
	for i := range writers {
		s.speeds.see(s.step, &writers[i].Changes)
	}
	var writer *ecm.WriterError
	if errors.As(err, &writer) {
		return &StepError{writer.Writer, p, s.info.Iteration, writer.Err}
	}
	s.Stats.Conflicts += uint64(len(conflicts))
	if len(conflicts) > 0 && s.Stats.First == nil {
		s.Stats.First = &FirstConflict{s.info.Iteration, p, conflicts[0]}
	}
	return err
}

// due reports whether a system is called in the step that ends at t. The law of Gazebo: a step is left out while less than a period
// has passed since the last call, so that calls fall on whole steps and a rate of 60 Hz on steps of 5 ms makes 50 calls a second. The
// exact law: the n-th call is at the first step at or after n periods.
func (s *Slot) due(t metasim.Time) bool {
	if !s.wouldBeDue(t) {
		return false
	}
	s.last = t
	if s.Rate > 0 {
		s.periods = float64(int64(float64(t) * s.Rate / 1e9))
	}
	return true
}

func (s *Slot) wouldBeDue(t metasim.Time) bool {
	switch {
	case s.Rate <= 0:
		return true
	case s.Exact:
		return float64(t)*s.Rate >= (s.periods+1)*1e9
	}
	return float64(t-s.last)*s.Rate >= 1e9
}

// next returns the time of the next call after that at t.
func (s *Slot) next(t, step metasim.Time) metasim.Time {
	next := t + step
	if s.Rate > 0 {
		// A period before it would be due at the latest; from there the law itself decides.
		if whole := metasim.Time(1e9/s.Rate) / step * step; whole > 2*step {
			next = t + whole - 2*step
		}
	}
	for !s.wouldBeDue(next) {
		next += step
	}
	return next
}
