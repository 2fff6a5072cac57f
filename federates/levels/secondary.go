package levels

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"metasim/federates/ecm"
	"metasim/federates/world"
	"metasim/metasim"
)

// A Secondary moves a part of the models of a world, step by step, as its primary orders. It has a copy of what they may touch, and of performers in the
// buffers of its levels, which it does not move. Its state changes only by what orders bring: what it moved comes back with the next one, if nobody changed it since.
type Secondary struct {
	store     *ecm.Store
	iteration uint64 // of the last order
	orders    uint64 // the number behind that of the last order
	steps     uint64
	failed    bool
	expected  expected
	before    *speculation // what it does before it is asked; nil: nothing
	scratch   []byte       // memory of an acknowledgement
}

// Steps returns how many steps it has done.
func (s *Secondary) Steps() uint64 { return s.steps }

// Failed reports whether it does nothing any more.
func (s *Secondary) Failed() bool { return s.failed }

// Do carries out an order, and returns the acknowledgement and when the next order comes at the earliest. Orders have numbers that rise; one that comes again, as links may deliver
// a message twice, has no acknowledgement. A secondary that fails says why in the acknowledgement. The error is of bytes that are no order.
func (s *Secondary) Do(number uint64, payload []byte) (ack []byte, next metasim.Time, err error) {
	if number < s.orders {
		return nil, 0, nil
	}
	o, err := decodeOrder(payload)
	if err != nil {
		return nil, 0, err
	}
	s.orders = number + 1
	a := acknowledgement{iteration: o.info.Iteration, moved: uint64(len(o.move))}
	goesOn := s.expected.is(o) && len(s.removed(o)) == 0
	if !goesOn {
		s.Stop()
	}
	if err := s.begin(o); err != nil {
		s.failed, a.failed = true, err.Error()
	}
	for n := 0; n < o.steps && !s.failed; n++ {
		c, err := s.carryOut(o)
		if err == nil && n+1 < o.steps { // nobody else changes it meanwhile
			err = s.store.Apply(c)
		}
		if err != nil {
			s.failed, a.failed = true, err.Error()
		}
		a.changes = append(a.changes, c)
		o.info = after(o.info)
	}
	if !s.failed {
		likely := 2 * o.steps
		if o.steps == s.expected.steps {
			likely = o.steps
		}
		s.expected = expected{o.info, o.steps, o.move, a.changes[len(a.changes)-1].Edits}
		if err := s.speculate(o, goesOn, likely); err != nil {
			s.failed, a.failed = true, err.Error()
		}
	}
	s.scratch, err = a.append(s.scratch[:0])
	return bytes.Clone(s.scratch), o.next, err
}

// speculate does steps before it is asked for them, where it has gone ahead from its own state: it is mostly asked for twice as many the next time, or for as many, if these were as many as the time before. What
// is measured has to be what was asked for, so then it does nothing before.
func (s *Secondary) speculate(o *order, goesOn bool, likely int) (err error) {
	if !goesOn || o.steps == 1 || o.measured {
		s.Stop()
		return nil
	}
	if s.before == nil {
		if s.before, err = newSpeculation(s.store, &s.expected); err != nil {
			return err
		}
	}
	s.before.work(likely)
	return nil
}

// Stop ends what it does before it is asked.
func (s *Secondary) Stop() {
	if s.before != nil {
		s.before.stop()
		s.before = nil
	}
}

// begin makes the state in which an order is carried out.
func (s *Secondary) begin(o *order) error {
	switch {
	case s.failed:
		return fmt.Errorf("it was asked for iteration %d, and has failed before", o.info.Iteration)
	case s.store == nil && !o.fresh:
		return fmt.Errorf("it was asked for iteration %d without the state that was before", o.info.Iteration)
	case !o.fresh && o.info.Iteration <= s.iteration:
		return fmt.Errorf("it was asked for iteration %d after iteration %d", o.info.Iteration, s.iteration)
	}
	if o.fresh {
		s.store = ecm.NewStore(world.Schema())
	}
	o.changes.Removed = s.removed(o)
	return s.store.Apply(o.changes)
}

// carryOut does one step.
func (s *Secondary) carryOut(o *order) (c ecm.Changes, err error) {
	s.iteration = o.info.Iteration
	s.store.Forget(s.store.Version())
	if s.before != nil {
		c, err = s.before.take()
	} else {
		c, err = moveIn(s.store, o.info, o.move)
	}
	s.steps++
	return c, err
}

// removed returns the entities that go: of those that the world removed the ones that are here, and what is dropped, with all below it.
func (s *Secondary) removed(o *order) []ecm.Entity {
	v := s.store.View(0)
	for _, e := range o.changes.Removed {
		v.Remove(e)
	}
	for _, e := range o.drop {
		v.Remove(e)
	}
	return v.Changes().Removed
}

// A saved secondary begins its checkpoint, little-endian. Then comes its state, as changes from nothing, if it has one.
type saved struct {
	Version                  uint8
	Stored, Failed           bool
	_                        uint8
	Iteration, Orders, Steps uint64
}

// Save implements client.Saver.
func (s *Secondary) Save() ([]byte, error) {
	b, err := binary.Append(nil, binary.LittleEndian, saved{Version: protocolVersion, Stored: s.store != nil, Failed: s.failed, Iteration: s.iteration, Orders: s.orders, Steps: s.steps})
	if s.store != nil {
		state := s.store.Full()
		b = state.Append(b)
	}
	return b, err
}

// Restore implements client.Saver.
func (s *Secondary) Restore(b []byte) error {
	var h saved
	n, err := binary.Decode(b, binary.LittleEndian, &h)
	if err != nil {
		return fmt.Errorf("a checkpoint of %d bytes is none of a secondary", len(b))
	}
	if err := checkVersion(h.Version); err != nil {
		return err
	}
	s.Stop()
	*s = Secondary{iteration: h.Iteration, orders: h.Orders, steps: h.Steps, failed: h.Failed}
	if !h.Stored {
		return nil
	}
	state, err := ecm.Decode(bytes.Clone(b[n:]))
	if err != nil {
		return err
	}
	s.store = ecm.NewStore(world.Schema())
	return s.store.Apply(state)
}

// unitOf returns the entity below the world itself that an entity belongs to: a model, mostly. Of the world it is the world.
func unitOf(v *ecm.View, e ecm.Entity) ecm.Entity {
	for {
		up := v.Parent(e)
		if up == 0 || up == world.Root {
			return e
		}
		e = up
	}
}
