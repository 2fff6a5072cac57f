package shard

import (
	"metasim/federates/authority/claim"
	"metasim/metasim"
)

// handedOver takes notice of entities that came and went by transfers.
func (s *Shard) handedOver(now metasim.Time) {
	for _, effect := range s.sim.Effects[s.effects:] {
		n := s.number(effect.Entity)
		e := s.entities[n]
		e.claim.Holder = claim.Default // whoever held it has handed it over
		e.claim.Ownership = effect.Epoch - 1
		e.claim, _ = e.claim.Grab(s.self) // nobody holds it
		e.claim = e.claim.Release(s.self)
		e.owner, e.asked, e.kick, e.still, e.tell = s.self, false, [2]int64{}, 0, s.cfg.restTicks()
		e.work, e.since = 0, now
		if s.sim.Owns(e.name) {
			s.now(e, now)
		}
		s.activate(n)
	}
	s.effects = len(s.sim.Effects)
	for _, name := range s.sim.Given[s.given:] {
		n := s.number(name)
		if e := s.entities[n]; !s.sim.Owns(name) {
			e.owner, e.asked, e.claim.Authority, e.claim.Holder = 0, false, claim.Default, claim.Default
			s.retire(n)
		}
	}
	s.given = len(s.sim.Given)
	for _, r := range s.sim.Refusals[s.refused:] {
		e := s.entities[s.number(r.Entity)]
		e.asked, e.claim = false, e.claim.Release(s.self)
	}
	s.refused = len(s.sim.Refusals)
}
