package transfer

import (
	"maps"
	"slices"

	"metasim/metasim"
)

// A Checkpoint is all that decides what a simulation server will do and leaves with. A Saved is the part of it that nobody else must see lost: a server that is made
// of that alone may say some things twice.
type Checkpoint struct {
	Saved
	Waits    []Wait      `json:"waits,omitempty"` // of Saved.Unsure
	Lent     []string    `json:"lent,omitempty"`
	Effects  []Effective `json:"effects,omitempty"`
	Given    []string    `json:"given,omitempty"`
	Refusals []Refused   `json:"refusals,omitempty"`
	Late     uint64      `json:"late,omitempty"`
}

// A Wait is for how long a message that may have been lost is waited for.
type Wait struct {
	Next  metasim.Time `json:"next"`
	Until metasim.Time `json:"until"`
}

// Checkpoint returns all that decides what the server will do.
func (s *Simserver) Checkpoint() Checkpoint {
	c := Checkpoint{
		Saved: s.Save(), Lent: slices.Sorted(maps.Keys(s.lent)), Effects: s.Effects, Given: s.Given, Refusals: s.Refusals, Late: s.Late,
	}
	for i := range s.unsure {
		c.Waits = append(c.Waits, Wait{s.unsure[i].next, s.unsure[i].until})
	}
	return c
}

// Resume makes a simulation server that goes on where Checkpoint was called.
func Resume(cfg SimConfig, c *Checkpoint) *Simserver {
	s := Restore(cfg, &c.Saved)
	for i := range min(len(s.unsure), len(c.Waits)) {
		s.unsure[i].next, s.unsure[i].until = c.Waits[i].Next, c.Waits[i].Until
	}
	for _, entity := range c.Lent {
		s.lent[entity] = true
	}
	s.Effects, s.Given, s.Refusals, s.Late = c.Effects, c.Given, c.Refusals, c.Late
	return s
}

// A HomeCheckpoint is all that decides what a homeserver will do.
type HomeCheckpoint struct {
	Entities map[string]Kept `json:"entities"`
	Asked    []Asked         `json:"asked,omitempty"` // of all entities, in the order in which they were asked
}

// Checkpoint returns all that decides what the homeserver will do.
func (h *Homeserver) Checkpoint() HomeCheckpoint {
	c := HomeCheckpoint{Entities: map[string]Kept{}}
	for _, entity := range slices.Sorted(maps.Keys(h.records)) {
		kept, _ := h.Keep(entity)
		kept.Asked = nil
		c.Entities[entity] = kept
	}
	for _, q := range h.asked {
		c.Asked = append(c.Asked, Asked{q.request, q.out, q.until})
	}
	return c
}

// ResumeHome makes a homeserver that goes on where Checkpoint was called.
func ResumeHome(cfg HomeConfig, c *HomeCheckpoint) *Homeserver {
	h := NewHomeserver(cfg)
	for _, entity := range slices.Sorted(maps.Keys(c.Entities)) {
		h.Restore(entity, c.Entities[entity])
	}
	for _, a := range c.Asked {
		h.asked = append(h.asked, question{a.Request, a.Out, a.Until})
	}
	return h
}
