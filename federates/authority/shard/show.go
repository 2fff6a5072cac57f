package shard

import (
	"cmp"
	"slices"

	"metasim/federates/authority/claim"
	"metasim/metasim"
)

// A Picture is what a server shows of itself.
type Picture struct {
	Server string       `json:"server"`
	NS     metasim.Time `json:"ns"`
	Side   int64        `json:"side"` // of the world, in micrometres
	Look   [2]int64     `json:"look"` // where the server looks from
	Work   uint64       `json:"work"` // in the last round of the balance
	Leaves bool         `json:"leaves"`
	Owns   []Shown      `json:"owns"`
	Copies int          `json:"copies"` // entities of others that it knows
}

// A Shown is an entity in a Picture.
type Shown struct {
	Entity string `json:"entity"`
	X      int64  `json:"x"` // micrometres
	Y      int64  `json:"y"`
	// Integrator is who moves it; empty: nobody, as it rests.
	Integrator string         `json:"integrator"`
	Epoch      claim.Sequence `json:"epoch"`
}

// Show returns what the server owns, in the order of names.
func (s *Shard) Show(now metasim.Time) *Picture {
	p := &Picture{Server: s.cfg.Name, NS: now, Side: s.cfg.Side, Look: s.cfg.Look, Work: s.said.work, Leaves: s.said.leaving, Owns: []Shown{}}
	for _, e := range s.entities {
		if e.owner != s.self || !s.sim.Owns(e.name) {
			if e.owner != s.self && e.owner != 0 {
				p.Copies++
			}
			continue
		}
		body := s.now(e, now).Body
		shown := Shown{Entity: e.name, X: body.X, Y: body.Y, Epoch: e.claim.Ownership}
		if e.claim.Authority != claim.Default {
			shown.Integrator = s.cfg.Servers[e.claim.Authority-1]
		}
		p.Owns = append(p.Owns, shown)
	}
	slices.SortFunc(p.Owns, func(a, b Shown) int { return cmp.Compare(a.Entity, b.Entity) })
	return p
}
