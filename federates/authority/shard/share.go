package shard

import (
	"math/bits"
	"slices"

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
		work := s.weigh(now, period)
		if s.unpriced, s.priced = s.cfg.Meter, false; !s.unpriced {
			return s.say(now, work), nil
		}
		return nil, nil
	}
	if s.unpriced && s.priced {
		s.unpriced = false
		s.price()
		return s.say(now, s.cost), nil
	}
	if s.unpriced || s.planned || now%period < period/2 {
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

// say says to all servers what this one has to do.
func (s *Shard) say(now metasim.Time, work uint64) (out []Packet) {
	leaves := s.spare(work)
	if s.cfg.Full > 0 && (leaves != s.said.leaving || s.round == 1) {
		s.Parts = append(s.Parts, Part{now, !leaves})
	}
	s.said = load{s.round, work, s.cfg.Look, leaves || now >= s.cfg.Leaves}
	for _, p := range s.peers {
		if p != nil {
			out = append(out, Packet{p.name, s.said.bytes()})
		}
	}
	return out
}

// Leave has the server give everything away from the next round on, and take part no more.
func (s *Shard) Leave(now metasim.Time) { s.cfg.Leaves = min(s.cfg.Leaves, now) }

// MovesAny reports whether the server moves an entity, its own or another's, or has not yet been confirmed that it rests.
func (s *Shard) MovesAny() bool {
	return slices.ContainsFunc(s.entities, func(e *entity) bool { return e.claim.Authority == s.self || e.claim.Pending })
}

// silence is after how many rounds what a server said of its work counts no more.
const silence = 3

// spare reports whether the world has too little work for this server: it gives its entities away then, and gets some when there is more. Who takes part stays until
// there is a fifth less than it needs, so servers do not come and go.
func (s *Shard) spare(work uint64) bool {
	for _, p := range s.peers {
		if p != nil && p.known && p.said.round+silence >= s.round {
			work += p.said.work
		}
	}
	needed := s.cfg.Full * uint64(s.self-1)
	if s.said.leaving {
		return work <= needed
	}
	return work < needed-needed/5
}

// Cost says how much processor time this server took, in ns, from one round to the next. It counts once in a round: what comes twice or late changes nothing.
func (s *Shard) Cost(ns uint64) {
	if s.unpriced && !s.priced {
		s.priced, s.cost = true, ns
	}
}

// price gives each entity its part of what the server took, by the steps that it had.
func (s *Shard) price() {
	s.Work[len(s.Work)-1].Cost = s.cost
	total := uint64(0)
	for i := range s.weighed {
		total += s.weighed[i].Work
	}
	for i := range s.weighed {
		w := &s.weighed[i].Work
		if hi, lo := bits.Mul64(*w, s.cost); total > 0 {
			*w, _ = bits.Div64(hi%total, lo, total)
		}
	}
}

// weigh notes what each owned entity would take of a whole round, from what it took since it came, and returns the sum. Then the next round begins.
func (s *Shard) weigh(now, period metasim.Time) (sum uint64) {
	s.Work = append(s.Work, Busy{Round: s.round - 1, Work: s.busy})
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
