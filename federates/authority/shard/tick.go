package shard

import (
	"slices"

	"metasim/federates/authority/claim"
	"metasim/federates/authority/transfer"
	"metasim/metasim"
)

// Tick does the steps since the last one, and returns what is to be sent.
func (s *Shard) Tick(now metasim.Time) ([]Packet, []transfer.Envelope, error) {
	if now < s.Wake() {
		return nil, nil, nil
	}
	s.next = (now/s.cfg.tick() + 1) * s.cfg.tick()
	s.handedOver(now)
	out, err := s.readAll(now)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range slices.Clone(s.active) {
		s.integrate(now, n)
	}
	if s.resting != nil {
		for _, n := range slices.Clone(s.active) {
			s.touch(now, n)
		}
	}
	loads, asked := s.share(now)
	s.handedOver(now)
	told, err := s.tellAll(now)
	asked = append(s.overdue, asked...)
	s.overdue = nil
	return slices.Concat(out, loads, told), asked, err
}

// integrate moves an entity that this server may move, and gives back what has been at rest for long enough.
func (s *Shard) integrate(now metasim.Time, n int) {
	e := s.entities[n]
	owner := e.owner == s.self
	if owner || e.claim.Integrates(s.self) {
		before := e.state.Steps
		moved := e.state.Body == nil || e.state.Body.Moves()
		st := s.now(e, now)
		if moved && s.integrates(e) {
			e.work += st.Steps - before
			s.busy += st.Steps - before
		}
	}
	body := e.state.Body
	if s.resting != nil {
		if e.claim.Authority == claim.Default {
			s.resting.Put(n, body.X, body.Y)
		} else {
			s.resting.Remove(n)
		}
	}
	if e.tell > 0 {
		e.tell--
	}
	if e.claim.Integrates(s.self) {
		e.still++
		if body.Moves() {
			e.still = 0
		} else if c, ok := e.claim.Rest(s.self, owner); ok && e.still >= s.cfg.restTicks() {
			e.claim, e.tell = c, s.cfg.restTicks()
			s.Counts.Rested++
		}
	}
	switch {
	case e.claim.Authority == s.self || e.claim.Pending || owner && (e.claim.Authority != claim.Default || e.tell > 0):
		if owner {
			s.moving.Put(n, body.X, body.Y)
		}
	default:
		s.retire(n)
	}
}

// touch claims the entities at rest that a body touches which this server moves.
func (s *Shard) touch(now metasim.Time, n int) {
	e := s.entities[n]
	if !e.claim.Integrates(s.self) || !e.state.Body.Moves() || e.asked {
		return
	}
	hit := s.resting.Due(nil, 0, e.state.Body.X, e.state.Body.Y)
	slices.Sort(hit)
	for _, other := range hit {
		t := s.entities[other]
		if t.owner == 0 || t.asked {
			continue
		}
		c, ok := t.claim.Touch(s.self, t.owner == s.self)
		if !ok {
			continue
		}
		s.Counts.Touched++
		t.claim, t.still = c, 0
		t.kick = [2]int64{e.state.Body.VX, e.state.Body.VY}
		s.resting.Remove(other)
		s.activate(other)
		if t.claim.Confirmed {
			s.push(t, now)
		}
	}
}
