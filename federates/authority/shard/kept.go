package shard

import (
	"slices"

	"metasim/federates/authority/claim"
	"metasim/federates/authority/credit"
	"metasim/federates/authority/transfer"
	"metasim/metasim"
)

// A Kept is what a shard must not forget of an entity when its process dies. Without it the numbers of its touches would begin again, and the others would refuse what
// it tells; and who has claimed an entity would not know that it is to move it.
type Kept struct {
	Entity    string          `json:"entity"`
	Ownership claim.Sequence  `json:"ownership"`
	Touches   claim.Sequence  `json:"touches"`
	Owner     string          `json:"owner"`
	Authority string          `json:"authority,omitempty"` // empty: nobody
	Confirmed bool            `json:"confirmed,omitempty"`
	Pending   bool            `json:"pending,omitempty"`
	Kick      [2]int64        `json:"kick"`            // the speed that it gets when the claim is confirmed
	State     *transfer.State `json:"state,omitempty"` // of an entity of another server: that of its own is with the Simserver
}

// Claims returns what is to be written down before the packets of the last Tick are sent, where not all is (Save), in the order in which the shard heard of the entities first.
func (s *Shard) Claims() (all []Kept) {
	for _, e := range s.entities {
		own := e.owner == s.self && s.sim.Owns(e.name)
		if !own && (e.owner == s.self || e.claim.Authority != s.self && !e.claim.Pending) {
			continue // it was handed over, or its owner tells of it
		}
		k := Kept{
			Entity: e.name, Ownership: e.claim.Ownership, Touches: e.claim.Touches, Owner: s.serverOf(e.owner), Authority: s.serverOf(e.claim.Authority),
			Confirmed: e.claim.Confirmed, Pending: e.claim.Pending, Kick: e.kick,
		}
		if !own {
			state := e.state
			k.State = &state
		}
		all = append(all, k)
	}
	return all
}

// Reclaim has a new shard go on with claims that were written down. What the Simserver owns it takes notice of first; what was written down of another ownership is left out.
func (s *Shard) Reclaim(now metasim.Time, all []Kept) {
	s.handedOver(now)
	for i := range all {
		k := &all[i]
		owner, authority := s.indexOf(k.Owner), s.indexOf(k.Authority)
		own := owner == s.self && s.sim.Owns(k.Entity)
		if own && s.sim.Epoch(k.Entity) != k.Ownership || !own && (owner == s.self || k.State == nil || k.State.Body == nil) {
			continue
		}
		n := s.number(k.Entity)
		e := s.entities[n]
		e.owner, e.kick, e.still, e.tell = owner, k.Kick, 0, s.cfg.restTicks()
		e.claim = claim.Claim{Ownership: k.Ownership, Touches: k.Touches, Authority: authority, Confirmed: k.Confirmed, Pending: k.Pending}
		if own {
			if authority != s.self && authority != claim.Default {
				s.sim.Lend(now, e.name, true)
			}
		} else {
			e.state, e.heard = *k.State, k.State.Steps
		}
		s.activate(n)
	}
}

// serverOf returns the name of a server; empty: it is nobody.
func (s *Shard) serverOf(i claim.Index) string {
	if i == claim.Default || int(i) > len(s.cfg.Servers) {
		return ""
	}
	return s.cfg.Servers[i-1]
}

// indexOf returns the index of a server; claim.Default: there is none of that name any more.
func (s *Shard) indexOf(name string) claim.Index {
	return claim.Index(slices.Index(s.cfg.Servers, name) + 1)
}

// Renew begins the credit for what another server sends anew: that counts from 0 again. died: that server has begun again itself, and has forgotten what it was sent, so
// what is sent to it counts from 0 too, and the caller lets it know so.
func (s *Shard) Renew(name string, died bool) {
	at, found := slices.BinarySearch(s.cfg.Servers, name)
	if !found || s.peers[at] == nil {
		return
	}
	p := s.peers[at]
	p.in, p.inbox = credit.NewReceiver(s.cfg.Window), nil
	if died {
		p.out, p.probe, p.known = credit.NewSender(s.cfg.Window), 0, false
	}
}

// Forget drops what was noted for who reads it in the end, as far as the shard has seen it: a server that is no part of a run may go on for months.
func (s *Shard) Forget() {
	s.sim.Effects = slices.Delete(s.sim.Effects, 0, s.effects)
	s.sim.Given = slices.Delete(s.sim.Given, 0, s.given)
	s.sim.Refusals = slices.Delete(s.sim.Refusals, 0, s.refused)
	s.effects, s.given, s.refused = 0, 0, 0
	s.Moves, s.Work = s.Moves[:0], s.Work[:0]
}
