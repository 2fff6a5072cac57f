package shard

import (
	"metasim/federates/authority/balance"
	"metasim/federates/authority/transfer"
	"metasim/metasim"
)

// share says at the beginning of each round to all servers what this one computed in the last one, and gives entities away in the middle of it, when
// all have heard of each other.
func (s *Shard) share(now metasim.Time) (out []Packet, asked []transfer.Envelope) {
	period := s.cfg.Balance
	if period == 0 {
		period = metasim.Second // others have to know where it looks from
	}
	if round := uint64(now/period) + 1; round != s.round {
		s.round, s.planned = round, s.cfg.Balance == 0
		s.said = load{round, s.weigh(now, period), s.cfg.Look, now >= s.cfg.Leaves}
		for _, p := range s.peers {
			if p != nil {
				out = append(out, Packet{p.name, s.said.bytes()})
			}
		}
		return out, nil
	}
	if s.planned || now%period < period/2 {
		return nil, nil
	}
	s.planned = true
	loads := []balance.Load{{Server: s.cfg.Name, Work: s.said.work, Leaving: s.said.leaving}}
	for _, p := range s.peers {
		if p != nil && p.known && p.said.round == s.round {
			loads = append(loads, balance.Load{Server: p.name, Work: p.said.work, Leaving: p.said.leaving})
		}
	}
	for _, m := range balance.Plan(s.cfg.Name, loads, s.weighed) {
		e := s.entities[s.number(m.Entity)]
		if e.owner != s.self || e.asked {
			continue // somebody has taken it
		}
		envelopes, err := s.sim.Give(now, m.Entity, m.To)
		if err != nil {
			continue // it is asked for already, or another server moves it
		}
		e.asked, e.claim.Holder = true, s.self // from here on nobody touches it
		s.Moves = append(s.Moves, Moved{now, m.Entity, m.To})
		asked = append(asked, envelopes...)
	}
	return out, asked
}

// weigh notes what each owned entity would take of a whole round, from what it took since it came, and returns the sum. Then the next round begins.
func (s *Shard) weigh(now, period metasim.Time) (sum uint64) {
	s.Work = append(s.Work, Busy{s.round - 1, s.busy})
	s.busy, s.weighed = 0, nil
	for _, e := range s.entities {
		if e.owner == s.self {
			w := balance.Weight{Entity: e.name}
			if here := now - e.since; here > 0 {
				w.Work = e.work * uint64(period) / uint64(here)
			}
			sum += w.Work
			s.weighed = append(s.weighed, w)
		}
		e.work, e.since = 0, now
	}
	return sum
}
