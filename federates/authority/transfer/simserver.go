package transfer

import (
	"fmt"
	"maps"
	"slices"

	"metasim/metasim"
)

// A SimConfig says what a simulation server is.
type SimConfig struct {
	Name  string
	Home  string       // its homeserver; empty: it has none, and hands over directly
	Step  metasim.Time // of its simulation; above 0
	Retry metasim.Time // how long it waits before it says again what may be lost; 0: links lose nothing
	// Master answers for the entities whose master this server is; 0 is a master that does not answer.
	Master Mind
}

// A Mind is what a master answers.
type Mind uint8

// The minds.
const (
	Silent Mind = iota
	Yes
	No
)

// An Effective says from when on a server owns an entity.
type Effective struct {
	Entity string
	Epoch  Sequence
	At     metasim.Instant
}

// A Refused says what a homeserver refused.
type Refused struct {
	Entity string `json:"entity"`
	Reason Reason `json:"reason"`
}

// A Simserver owns entities and computes their states.
type Simserver struct {
	// Effects are the entities that it got from others, and Refusals what it asked for in vain, in their order. Late counts
	// handovers that were not newer than what it knew.
	Effects  []Effective
	Refusals []Refused
	Late     uint64

	cfg     SimConfig
	held    map[string]*State    // by entity; iterated in order
	known   map[string]Sequence  // the newest epoch of each entity; looked up, never iterated
	granted map[string][]Message // grants that came before the entity did; looked up, never iterated
	unsure  []unsure             // in the order in which they were said first
	counted uint64               // requests
}

// unsure is a message that may have been lost.
type unsure struct {
	out  Envelope
	next metasim.Time // when it is said again
}

// A HeldError: a server gives away what it does not hold, takes what it holds, or asks again for what it has asked for.
type HeldError struct {
	Server, Entity, Why string
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s cannot ask for another owner of %s: %s", e.Server, e.Entity, e.Why)
}

// NewSimserver makes a simulation server without entities.
func NewSimserver(cfg SimConfig) *Simserver {
	return &Simserver{cfg: cfg, held: map[string]*State{}, known: map[string]Sequence{}, granted: map[string][]Message{}}
}

// Own gives the server an entity at the beginning, in the state that all begin with.
func (s *Simserver) Own(entity string) { s.held[entity], s.known[entity] = &State{}, 0 }

// Held returns the entities that it owns, in order.
func (s *Simserver) Held() []string { return slices.Sorted(maps.Keys(s.held)) }

// State returns the state of an entity that it owns, at an instant.
func (s *Simserver) State(entity string, at metasim.Time) State {
	s.held[entity].Integrate(at, s.cfg.Step)
	return *s.held[entity]
}

// Give asks for another owner of an entity that this server owns. Without a homeserver it hands over at once.
func (s *Simserver) Give(now metasim.Time, entity, to string) ([]Envelope, error) {
	switch {
	case s.held[entity] == nil:
		return nil, &HeldError{s.cfg.Name, entity, "it does not own it"}
	case to == s.cfg.Name:
		return nil, &HeldError{s.cfg.Name, entity, "it owns it"}
	case s.cfg.Home == "":
		s.counted++
		return s.handOver(now, &Message{Requester: s.cfg.Name, ID: s.counted, Entity: entity, Owner: to, Epoch: s.known[entity].Next(), Confirm: true}), nil
	}
	return s.ask(now, entity, to)
}

// Take asks that this server becomes the owner of an entity.
func (s *Simserver) Take(now metasim.Time, entity string) ([]Envelope, error) {
	switch {
	case s.held[entity] != nil:
		return nil, &HeldError{s.cfg.Name, entity, "it owns it"}
	case s.cfg.Home == "":
		return nil, &HeldError{s.cfg.Name, entity, "it has no homeserver to ask"}
	}
	return s.ask(now, entity, s.cfg.Name)
}

func (s *Simserver) ask(now metasim.Time, entity, owner string) ([]Envelope, error) {
	if slices.ContainsFunc(s.unsure, func(u unsure) bool { return u.out.Message.Kind == Request && u.out.Message.Entity == entity }) {
		return nil, &HeldError{s.cfg.Name, entity, "it has asked, and waits"}
	}
	s.counted++
	return s.say(now, Message{Kind: Request, Requester: s.cfg.Name, ID: s.counted, Entity: entity, Owner: owner, Epoch: s.known[entity], Route: []string{s.cfg.Home}}), nil
}

// say sends a message, and again until it is known to have arrived.
func (s *Simserver) say(now metasim.Time, m Message) []Envelope {
	out := onward(s.cfg.Name, m)
	next := metasim.Forever
	if s.cfg.Retry > 0 {
		next = now.Add(s.cfg.Retry)
	}
	s.unsure = append(s.unsure, unsure{out, next})
	return []Envelope{out}
}

// sure forgets messages that have arrived.
func (s *Simserver) sure(arrived func(*Message) bool) {
	s.unsure = slices.DeleteFunc(s.unsure, func(u unsure) bool { return arrived(&u.out.Message) })
}

// Receive takes a message of a neighbour, and returns what is to be sent. Where it returns an error the sender did wrong, and nothing has changed.
func (s *Simserver) Receive(now metasim.Instant, from string, m Message) ([]Envelope, error) {
	if err := check(from, &m); err != nil {
		return nil, err
	}
	if len(m.Route) > 0 {
		return nil, &UnexpectedError{s.cfg.Name, from, m.Kind, "a simulation server passes nothing on"}
	}
	switch m.Kind {
	case Question:
		if s.cfg.Master == Silent {
			return nil, nil
		}
		a := Message{Kind: Answer, Requester: m.Requester, ID: m.ID, Entity: m.Entity, Epoch: m.Epoch, Yes: s.cfg.Master == Yes, Route: back(&m)}
		return []Envelope{onward(s.cfg.Name, a)}, nil
	case Grant:
		return s.grant(now.Time, &m), nil
	case Refusal:
		return nil, s.refused(from, &m)
	case Handover:
		if m.State == nil || m.Owner != s.cfg.Name {
			return nil, &UnexpectedError{s.cfg.Name, from, m.Kind, "it has no state, or is for another server"}
		}
		return s.takeOver(now, &m), nil
	case Ack:
		s.sure(func(o *Message) bool { return o.Kind == Handover && o.Entity == m.Entity && o.Epoch == m.Epoch })
		return nil, nil
	}
	return nil, &UnexpectedError{s.cfg.Name, from, m.Kind, "a simulation server takes questions, grants, refusals and handovers"}
}

func (s *Simserver) refused(from string, m *Message) error {
	before := len(s.unsure)
	s.sure(s.answers(m))
	if len(s.unsure) == before && s.cfg.Retry == 0 {
		return &UnexpectedError{s.cfg.Name, from, m.Kind, "nothing was asked"}
	}
	if len(s.unsure) < before {
		s.Refusals = append(s.Refusals, Refused{m.Entity, m.Reason})
	}
	return nil
}

// answers finds the request that a message answers.
func (s *Simserver) answers(m *Message) func(*Message) bool {
	return func(o *Message) bool { return o.Kind == Request && m.Requester == s.cfg.Name && o.ID == m.ID }
}

// grant hands an entity over, or remembers to do so: the grant may be faster than the entity.
func (s *Simserver) grant(now metasim.Time, m *Message) []Envelope {
	if m.Owner != s.cfg.Name {
		s.sure(s.answers(m)) // who takes waits for the entity
	}
	known, ok := s.known[m.Entity]
	switch {
	case s.held[m.Entity] != nil && m.Epoch == known.Next():
		return s.handOver(now, m)
	case !ok || m.Epoch.NewerThan(known):
		s.granted[m.Entity] = append(s.granted[m.Entity], *m)
		return nil
	}
	for _, u := range s.unsure {
		if o := &u.out.Message; o.Kind == Handover && o.Entity == m.Entity && o.Epoch == m.Epoch {
			return []Envelope{u.out} // it was lost
		}
	}
	return nil
}

// handOver ends this server's right to change an entity. From here on it is with the message.
func (s *Simserver) handOver(now metasim.Time, m *Message) []Envelope {
	state := s.State(m.Entity, now)
	delete(s.held, m.Entity)
	s.known[m.Entity] = m.Epoch
	o := Message{
		Kind: Handover, Requester: m.Requester, ID: m.ID, Entity: m.Entity, Owner: m.Owner, Epoch: m.Epoch, State: &state,
		Confirm: m.Confirm || s.cfg.Retry > 0, Route: []string{m.Owner},
	}
	if s.cfg.Retry == 0 {
		return []Envelope{onward(s.cfg.Name, o)}
	}
	return s.say(now, o)
}

// takeOver begins this server's right to change an entity, if the message is newer than what it knows.
func (s *Simserver) takeOver(now metasim.Instant, m *Message) (out []Envelope) {
	if m.Confirm {
		out = append(out, onward(s.cfg.Name, Message{Kind: Ack, Requester: m.Requester, ID: m.ID, Entity: m.Entity, Epoch: m.Epoch, Route: back(m)}))
	}
	if known, ok := s.known[m.Entity]; ok && !m.Epoch.NewerThan(known) {
		s.Late++
		return out
	}
	state := *m.State
	s.held[m.Entity], s.known[m.Entity] = &state, m.Epoch
	s.sure(s.answers(m))
	s.Effects = append(s.Effects, Effective{m.Entity, m.Epoch, now})
	grants := s.granted[m.Entity]
	delete(s.granted, m.Entity)
	for i := range grants {
		if s.held[m.Entity] != nil && grants[i].Epoch == m.Epoch.Next() {
			out = append(out, s.handOver(now.Time, &grants[i])...)
		} else if grants[i].Epoch.NewerThan(s.known[m.Entity]) {
			s.granted[m.Entity] = append(s.granted[m.Entity], grants[i])
		}
	}
	return out
}

// Wake is when something is to be said again; metasim.Forever if nothing is.
func (s *Simserver) Wake() metasim.Time {
	at := metasim.Forever
	for i := range s.unsure {
		at = min(at, s.unsure[i].next)
	}
	return at
}

// Tick says again what may have been lost.
func (s *Simserver) Tick(now metasim.Time) (out []Envelope) {
	for i := range s.unsure {
		if u := &s.unsure[i]; now >= u.next {
			u.next = now.Add(s.cfg.Retry)
			out = append(out, u.out)
		}
	}
	return out
}
