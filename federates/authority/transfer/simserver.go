package transfer

import (
	"fmt"
	"maps"
	"slices"

	"metasim/metasim"
)

// A Simserver owns entities and computes their states.
type Simserver struct {
	// Effects are the entities that it got from others, Given those that it handed over, and Refusals what it asked for in vain, in their order. Late counts
	// handovers that were not newer than what it knew.
	Effects  []Effective
	Given    []string
	Refusals []Refused
	Late     uint64

	cfg     SimConfig
	held    map[string]*State    // by entity; iterated in order
	known   map[string]Sequence  // the newest epoch of each entity; looked up, never iterated
	granted map[string][]Message // grants that came before the entity did, or while it is lent; looked up, never iterated
	lent    map[string]bool      // entities that others move; looked up, never iterated
	unsure  []unsure             // in the order in which they were said first
	counted uint64               // requests
}

// unsure is a message that may have been lost.
type unsure struct {
	out   Envelope
	next  metasim.Time // when it is said again
	until metasim.Time // when it is given up; metasim.Forever: never
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
	return &Simserver{cfg: cfg, held: map[string]*State{}, known: map[string]Sequence{}, granted: map[string][]Message{}, lent: map[string]bool{}}
}

// Own gives the server an entity at the beginning, in the state that all begin with.
func (s *Simserver) Own(entity string) { s.held[entity], s.known[entity] = &State{}, 0 }

// OwnSince gives the server an entity whose ownership has a number, at the beginning. What was said of older ownerships is over.
func (s *Simserver) OwnSince(entity string, epoch Sequence) {
	s.Own(entity)
	s.known[entity] = epoch
	delete(s.lent, entity)
	delete(s.granted, entity)
	s.sure(func(o *Message) bool { return o.Entity == entity })
}

// CountFrom has its requests be numbered from n on. A server that has lost what it wrote down begins above all that it has ever counted: a homeserver takes a smaller
// number for a request that is late.
func (s *Simserver) CountFrom(n uint64) { s.counted = n }

// Held returns the entities that it owns, in order.
func (s *Simserver) Held() []string { return slices.Sorted(maps.Keys(s.held)) }

// Owns reports whether it owns an entity.
func (s *Simserver) Owns(entity string) bool { return s.held[entity] != nil }

// Set replaces the state of an entity that it owns: what it is from the steps on that it says. Where it does not own the entity nothing changes.
func (s *Simserver) Set(entity string, state State) {
	if s.held[entity] != nil {
		s.held[entity] = state.clone()
	}
}

// State returns the state of an entity that it owns, at an instant.
func (s *Simserver) State(entity string, at metasim.Time) State {
	s.held[entity].Integrate(at, s.cfg.Step)
	return *s.held[entity].clone()
}

// Give asks for another owner of an entity that this server owns. Without a homeserver it hands over at once.
func (s *Simserver) Give(now metasim.Time, entity, to string) ([]Envelope, error) {
	switch {
	case s.held[entity] == nil:
		return nil, &HeldError{s.cfg.Name, entity, "it does not own it"}
	case to == s.cfg.Name:
		return nil, &HeldError{s.cfg.Name, entity, "it owns it"}
	case s.asks(entity):
		return nil, &HeldError{s.cfg.Name, entity, "it has asked, and waits"}
	case s.lent[entity]:
		return nil, &HeldError{s.cfg.Name, entity, "another server moves it; wait until it rests"}
	case s.cfg.Home == "":
		s.counted++
		return s.giveDirectly(now, &Message{Requester: s.cfg.Name, ID: s.counted, Entity: entity, Owner: to, Epoch: s.known[entity].Next(), Confirm: true}), nil
	}
	return s.ask(now, entity, to)
}

// giveDirectly hands over without a homeserver, as the rule of the master says.
func (s *Simserver) giveDirectly(now metasim.Time, m *Message) []Envelope {
	switch {
	case s.cfg.Asks == "" || s.cfg.Rule == Allow || s.cfg.Rule == "":
		return s.handOver(now, m)
	case s.cfg.Rule == Deny:
		s.Refusals = append(s.Refusals, Refused{m.Entity, Denied})
		return nil
	}
	q := *m
	q.Kind, q.Confirm, q.Route = Question, false, []string{s.cfg.Asks}
	out := s.say(now, q)
	if s.cfg.Patience > 0 {
		s.unsure[len(s.unsure)-1].until = now.Add(s.cfg.Patience)
	}
	return out
}

// answered takes what the master says to a handover without a homeserver.
func (s *Simserver) answered(now metasim.Time, from string, m *Message) ([]Envelope, error) {
	if s.cfg.Asks == "" || m.Trail[0] != s.cfg.Asks {
		return nil, &UnexpectedError{s.cfg.Name, from, m.Kind, "only the master of the entity answers"}
	}
	at := slices.IndexFunc(s.unsure, func(u unsure) bool {
		o := &u.out.Message
		return o.Kind == Question && o.ID == m.ID && o.Entity == m.Entity
	})
	if at < 0 {
		return nil, nil // it is late, or came twice
	}
	asked := s.unsure[at].out.Message
	s.unsure = slices.Delete(s.unsure, at, at+1)
	if !m.Yes {
		s.Refusals = append(s.Refusals, Refused{m.Entity, SaidNo})
		return nil, nil
	}
	return s.handOver(now, &Message{Requester: asked.Requester, ID: asked.ID, Entity: asked.Entity, Owner: asked.Owner, Epoch: asked.Epoch, Confirm: true}), nil
}

// asks reports whether it has asked for another owner of an entity, and waits.
func (s *Simserver) asks(entity string) bool {
	return slices.ContainsFunc(s.unsure, func(u unsure) bool {
		return (u.out.Message.Kind == Request || u.out.Message.Kind == Question) && u.out.Message.Entity == entity
	})
}

// Take asks that this server becomes the owner of an entity.
func (s *Simserver) Take(now metasim.Time, entity string) ([]Envelope, error) {
	switch {
	case s.held[entity] != nil:
		return nil, &HeldError{s.cfg.Name, entity, "it owns it"}
	case s.cfg.Home == "":
		return nil, &HeldError{s.cfg.Name, entity, "it has no homeserver to ask"}
	case s.asks(entity):
		return nil, &HeldError{s.cfg.Name, entity, "it has asked, and waits"}
	}
	return s.ask(now, entity, s.cfg.Name)
}

func (s *Simserver) ask(now metasim.Time, entity, owner string) ([]Envelope, error) {
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
	s.unsure = append(s.unsure, unsure{out, next, metasim.Forever})
	return []Envelope{out}
}

// sure forgets messages that have arrived.
func (s *Simserver) sure(arrived func(*Message) bool) {
	s.unsure = slices.DeleteFunc(s.unsure, func(u unsure) bool { return arrived(&u.out.Message) })
}

// Receive takes a message of a neighbour, and returns what is to be sent. Where it returns an error the sender did wrong, and nothing has changed.
func (s *Simserver) Receive(now metasim.Instant, from string, m Message) ([]Envelope, error) {
	if err := CheckTrail(from, m.Trail); err != nil {
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
		return []Envelope{s.Reply(&m, s.cfg.Master == Yes)}, nil
	case Answer:
		return s.answered(now.Time, from, &m)
	case Grant:
		return s.grant(now.Time, &m), nil
	case Refusal:
		return nil, s.refused(from, &m)
	case Handover:
		switch {
		case m.State == nil || m.Owner != s.cfg.Name:
			return nil, &UnexpectedError{s.cfg.Name, from, m.Kind, "it has no state, or is for another server"}
		case m.State.Body != nil && !m.State.Body.Fits():
			return nil, &UnexpectedError{s.cfg.Name, from, m.Kind, fmt.Sprintf("its body is out of its square, or crosses it in one step: %+v", *m.State.Body)}
		}
		if s.cfg.Home == "" && s.held[m.Entity] != nil && m.Epoch.NewerThan(s.known[m.Entity]) {
			return nil, &UnexpectedError{s.cfg.Name, from, m.Kind, m.Entity + " is here, and was handed to nobody; so nobody can hand it over"}
		}
		return s.takeOver(now, &m), nil
	case Ack:
		return nil, s.acknowledged(from, &m)
	case Removal:
		if s.cfg.Home == "" || from != s.cfg.Home {
			return nil, &UnexpectedError{s.cfg.Name, from, m.Kind, "only its homeserver says so"}
		}
		s.removed(&m)
		return nil, nil
	}
	return nil, &UnexpectedError{s.cfg.Name, from, m.Kind, "a simulation server takes questions, answers, grants, refusals, handovers and removals"}
}

// removed lets go of an entity, and of what was said of its ownerships: somebody may have entered another one of its name.
func (s *Simserver) removed(m *Message) {
	if known, ok := s.known[m.Entity]; ok && known.NewerThan(m.Epoch) {
		return // this server has a later one
	}
	if s.held[m.Entity] != nil {
		s.Given = append(s.Given, m.Entity)
	}
	delete(s.held, m.Entity)
	delete(s.lent, m.Entity)
	delete(s.granted, m.Entity)
	s.known[m.Entity] = m.Epoch
	s.sure(func(o *Message) bool { return o.Kind == Handover && o.Entity == m.Entity })
}

// acknowledged forgets a handover that its recipient has. Another server could have the entity lost.
func (s *Simserver) acknowledged(from string, m *Message) error {
	of := func(o *Message) bool { return o.Kind == Handover && o.Entity == m.Entity && o.Epoch == m.Epoch }
	if slices.ContainsFunc(s.unsure, func(u unsure) bool { return of(&u.out.Message) && u.out.Message.Owner != from }) {
		return &UnexpectedError{s.cfg.Name, from, m.Kind, "it was handed to another server"}
	}
	s.sure(of)
	return nil
}

// Reply is what this server, as the master, answers to a Question.
func (s *Simserver) Reply(q *Message, yes bool) Envelope {
	return onward(s.cfg.Name, Message{Kind: Answer, Requester: q.Requester, ID: q.ID, Entity: q.Entity, Epoch: q.Epoch, Yes: yes, Route: back(q)})
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
	case s.held[m.Entity] != nil && m.Epoch == known.Next() && !s.lent[m.Entity]:
		return s.handOver(now, m)
	case !ok || m.Epoch.NewerThan(known):
		if !slices.ContainsFunc(s.granted[m.Entity], func(g Message) bool { return g.Epoch == m.Epoch }) {
			s.granted[m.Entity] = append(s.granted[m.Entity], *m)
		}
		return nil
	}
	for _, u := range s.unsure {
		if o := &u.out.Message; o.Kind == Handover && o.Entity == m.Entity && o.Epoch == m.Epoch {
			return []Envelope{u.out} // it was lost
		}
	}
	return nil
}

// Lend says whether another server moves an entity that this one owns. What is granted meanwhile is done when it is lent no more: else who moves it and who
// owns it next would both compute it.
func (s *Simserver) Lend(now metasim.Time, entity string, lent bool) []Envelope {
	if lent {
		s.lent[entity] = true
		return nil
	}
	delete(s.lent, entity)
	return s.overdue(now, entity)
}

// overdue hands an entity over as was granted before that could be done.
func (s *Simserver) overdue(now metasim.Time, entity string) (out []Envelope) {
	grants := s.granted[entity]
	delete(s.granted, entity)
	for i := range grants {
		if s.held[entity] != nil && grants[i].Epoch == s.known[entity].Next() && !s.lent[entity] {
			out = append(out, s.handOver(now, &grants[i])...)
		} else if grants[i].Epoch.NewerThan(s.known[entity]) {
			s.granted[entity] = append(s.granted[entity], grants[i])
		}
	}
	return out
}

// handOver ends this server's right to change an entity. From here on it is with the message.
func (s *Simserver) handOver(now metasim.Time, m *Message) []Envelope {
	state := s.State(m.Entity, now)
	delete(s.held, m.Entity)
	delete(s.lent, m.Entity)
	s.Given = append(s.Given, m.Entity)
	s.known[m.Entity] = m.Epoch
	o := Message{
		Kind: Handover, Requester: m.Requester, ID: m.ID, Entity: m.Entity, Owner: m.Owner, Epoch: m.Epoch, State: &state, Proof: m.Proof,
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
	s.held[m.Entity], s.known[m.Entity] = m.State.clone(), m.Epoch
	s.sure(s.answers(m))
	s.Effects = append(s.Effects, Effective{m.Entity, m.Epoch, now})
	return append(out, s.overdue(now.Time, m.Entity)...)
}

// Wake is when something is to be said again, or given up; metasim.Forever if nothing is.
func (s *Simserver) Wake() metasim.Time {
	at := metasim.Forever
	for i := range s.unsure {
		at = min(at, s.unsure[i].next, s.unsure[i].until)
	}
	return at
}

// Tick says again what may have been lost, and gives up what a master has not answered in time.
func (s *Simserver) Tick(now metasim.Time) (out []Envelope) {
	s.unsure = slices.DeleteFunc(s.unsure, func(u unsure) bool {
		if now < u.until {
			return false
		}
		s.Refusals = append(s.Refusals, Refused{u.out.Message.Entity, NoAnswer})
		return true
	})
	for i := range s.unsure {
		if u := &s.unsure[i]; now >= u.next {
			u.next = now.Add(s.cfg.Retry)
			out = append(out, u.out)
		}
	}
	return out
}
