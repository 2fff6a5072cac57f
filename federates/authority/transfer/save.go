package transfer

import (
	"maps"
	"slices"

	"metasim/metasim"
)

// A Saved is what a simulation server must not forget when its process dies: what it owns, the newest epochs that it knows, and what it has said that may not
// have arrived.
type Saved struct {
	Counted uint64               `json:"counted"` // requests
	Held    map[string]State     `json:"held"`
	Known   map[string]Sequence  `json:"known"`
	Granted map[string][]Message `json:"granted,omitempty"`
	Unsure  []Envelope           `json:"unsure,omitempty"`
}

// Save returns what is to be written down before what the last call returned is sent: then a server that dies and is made again by Restore owns nothing
// that it has handed over.
func (s *Simserver) Save() Saved {
	saved := Saved{Counted: s.counted, Held: map[string]State{}, Known: maps.Clone(s.known), Granted: maps.Clone(s.granted)}
	for _, entity := range s.Held() {
		saved.Held[entity] = *s.held[entity].clone()
	}
	for i := range s.unsure {
		saved.Unsure = append(saved.Unsure, s.unsure[i].out)
	}
	return saved
}

// Restore makes a simulation server that goes on where Save was called. What may not have arrived is said again at once.
func Restore(cfg SimConfig, saved *Saved) *Simserver {
	s := NewSimserver(cfg)
	s.counted = saved.Counted
	maps.Copy(s.known, saved.Known)
	maps.Copy(s.granted, saved.Granted)
	for _, entity := range slices.Sorted(maps.Keys(saved.Held)) {
		state := saved.Held[entity]
		s.held[entity] = state.clone()
	}
	for _, out := range saved.Unsure {
		s.unsure = append(s.unsure, unsure{out, 0, metasim.Forever})
	}
	return s
}

// Outdated reports whether an ownership is over that this server is handed and knows nothing of: current is the one that the homeserver had when it was asked, and nobody
// has granted that this server hands it on. A server that has lost its directory is told so what it had long ago.
func (s *Simserver) Outdated(entity string, epoch, current Sequence) bool {
	_, known := s.known[entity]
	return !known && current.NewerThan(epoch) && !slices.ContainsFunc(s.granted[entity], func(g Message) bool { return g.Epoch == epoch.Next() })
}

// Past reports whether an ownership is over or this server's own: a handover of it changes nothing.
func (s *Simserver) Past(entity string, epoch Sequence) bool {
	known, ok := s.known[entity]
	return ok && !epoch.NewerThan(known)
}

// Epoch returns the newest epoch that it knows of an entity.
func (s *Simserver) Epoch(entity string) Sequence { return s.known[entity] }
