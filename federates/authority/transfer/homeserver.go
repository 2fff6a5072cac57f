package transfer

import (
	"slices"

	"metasim/metasim"
)

// A HomeConfig says what a homeserver is.
type HomeConfig struct {
	Name       string
	Neighbours []string     // to whom it sends without another homeserver
	Path       []string     // the homeservers on the way to everybody else, the next one first; empty: there is nobody else
	Patience   metasim.Time // how long it waits for a master's answer; 0: without end
	// Takes reports whether there is such a server, to which an entity could be handed over; nil: all are.
	Takes func(to string) bool
}

// A Homeserver keeps who owns which entity.
type Homeserver struct {
	cfg     HomeConfig
	records map[string]*kept // by entity; looked up, never iterated
	asked   []question       // in the order in which they were asked
}

// kept is a Record, and what was last said to each requester.
type kept struct {
	Record
	last map[string]said // by requester; looked up, never iterated
}

// said is what was sent because of a request, to be sent again if the request comes again.
type said struct {
	id  uint64
	out Envelope
}

// A question waits for a master.
type question struct {
	request Message
	out     Envelope
	until   metasim.Time
}

// NewHomeserver makes a homeserver without entities.
func NewHomeserver(cfg HomeConfig) *Homeserver {
	return &Homeserver{cfg: cfg, records: map[string]*kept{}}
}

// Enter adds an entity, or replaces what is kept of it.
func (h *Homeserver) Enter(entity string, r Record) { h.records[entity] = &kept{r, map[string]said{}} }

// Record returns what is kept of an entity.
func (h *Homeserver) Record(entity string) (Record, bool) {
	if k := h.records[entity]; k != nil {
		return k.Record, true
	}
	return Record{}, false
}

// Receive takes a message of a neighbour, and returns what is to be sent. Where it returns an error the sender did wrong, and nothing has changed.
func (h *Homeserver) Receive(now metasim.Time, from string, m Message) ([]Envelope, error) {
	if err := CheckTrail(from, m.Trail); err != nil {
		return nil, err
	}
	if len(m.Route) > 0 {
		return []Envelope{onward(h.cfg.Name, m)}, nil
	}
	switch m.Kind {
	case Request:
		return h.request(now, m), nil
	case Answer:
		return h.answered(from, m)
	case SetRule:
		return nil, h.setRule(&m)
	}
	return nil, &UnexpectedError{h.cfg.Name, from, m.Kind, "a homeserver takes requests, answers of masters and their rules"}
}

// request decides on a request, or passes it on to where the entity may be kept.
func (h *Homeserver) request(now metasim.Time, m Message) []Envelope {
	k := h.records[m.Entity]
	if k == nil {
		if len(h.cfg.Path) > 0 && len(m.Trail) == 1 {
			m.Route = h.cfg.Path
			return []Envelope{onward(h.cfg.Name, m)}
		}
		return []Envelope{h.refuse(&m, Unknown)}
	}
	if last, asked := k.last[m.Requester]; asked && m.ID <= last.id {
		if m.ID < last.id {
			return nil
		}
		return []Envelope{last.out} // it, or what followed, was lost
	}
	if why := h.refuses(k, m.wish()); why != "" {
		return []Envelope{k.say(&m, h.refuse(&m, why))}
	}
	if k.Asks(m.wish()) {
		q := Message{Kind: Question, Requester: m.Requester, ID: m.ID, Entity: m.Entity, Owner: m.Owner, Epoch: m.Epoch, Route: h.routeTo(k.Master)}
		out := onward(h.cfg.Name, q)
		k.last[m.Requester] = said{m.ID, out}
		until := metasim.Forever
		if h.cfg.Patience > 0 {
			until = now.Add(h.cfg.Patience)
		}
		h.asked = append(h.asked, question{m, out, until})
		return []Envelope{out}
	}
	return []Envelope{k.say(&m, h.commit(k, &m))}
}

// Remove forgets an entity, and tells its owner.
func (h *Homeserver) Remove(entity string) Envelope {
	k := h.records[entity]
	delete(h.records, entity)
	return onward(h.cfg.Name, Message{Kind: Removal, Requester: h.cfg.Name, Entity: entity, Epoch: k.Epoch, Route: h.routeTo(k.Owner)})
}

// refuses returns why a wish is refused whatever a master says.
func (h *Homeserver) refuses(k *kept, w Wish) Reason {
	why := k.Refuses(w)
	if why == "" && h.cfg.Takes != nil && !h.cfg.Takes(w.Owner) {
		why = NoServer
	}
	return why
}

// wish is what a request asks for.
func (m *Message) wish() Wish { return Wish{m.Requester, m.Owner, m.Epoch} }

// commit writes the new owner down, and has the old one hand over.
func (h *Homeserver) commit(k *kept, m *Message) Envelope {
	old := k.Grant(m.Owner)
	g := Message{Kind: Grant, Requester: m.Requester, ID: m.ID, Entity: m.Entity, Owner: k.Owner, Epoch: k.Epoch, Route: h.routeTo(old)}
	if old == m.Requester {
		g.Route = back(m)
	}
	return onward(h.cfg.Name, g)
}

func (h *Homeserver) refuse(m *Message, why Reason) Envelope {
	return onward(h.cfg.Name, Message{Kind: Refusal, Requester: m.Requester, ID: m.ID, Entity: m.Entity, Epoch: m.Epoch, Reason: why, Route: back(m)})
}

// say remembers what a requester was told.
func (k *kept) say(m *Message, out Envelope) Envelope {
	k.last[m.Requester] = said{m.ID, out}
	return out
}

// routeTo is the way to a server: directly, or over other homeservers.
func (h *Homeserver) routeTo(name string) []string {
	if slices.Contains(h.cfg.Neighbours, name) {
		return []string{name}
	}
	return append(slices.Clone(h.cfg.Path), name)
}

// answered takes what a master says.
func (h *Homeserver) answered(from string, m Message) ([]Envelope, error) {
	k := h.records[m.Entity]
	if k == nil || k.Master != m.Trail[0] {
		return nil, &UnexpectedError{h.cfg.Name, from, m.Kind, "only the master of the entity answers"}
	}
	at := slices.IndexFunc(h.asked, func(q question) bool {
		return q.request.Requester == m.Requester && q.request.ID == m.ID && q.request.Entity == m.Entity
	})
	if at < 0 {
		return nil, nil // it is late, or came twice
	}
	asked := h.asked[at].request
	h.asked = slices.Delete(h.asked, at, at+1)
	why := h.refuses(k, asked.wish()) // ownership may have changed since the master was asked
	if why == "" && !m.Yes {
		why = SaidNo
	}
	if why != "" {
		return []Envelope{k.say(&asked, h.refuse(&asked, why))}, nil
	}
	return []Envelope{k.say(&asked, h.commit(k, &asked))}, nil
}

// setRule lets a master set a rule, and nobody else.
func (h *Homeserver) setRule(m *Message) error {
	k, why := h.records[m.Entity], NotMaster
	if k != nil {
		why = k.SetRule(m.Trail[0], m.Rule)
	}
	switch why {
	case NotMaster:
		return &UnexpectedError{h.cfg.Name, m.Trail[0], m.Kind, "only the master of the entity sets its rule"}
	case NoRule:
		return &UnexpectedError{h.cfg.Name, m.Trail[0], m.Kind, "the rule is none of deny, ask and allow"}
	}
	return nil
}

// Wake is when a master has been waited for long enough; metasim.Forever if nobody is.
func (h *Homeserver) Wake() metasim.Time {
	at := metasim.Forever
	for i := range h.asked {
		at = min(at, h.asked[i].until)
	}
	return at
}

// Tick refuses what masters have not answered in time.
func (h *Homeserver) Tick(now metasim.Time) (out []Envelope) {
	h.asked = slices.DeleteFunc(h.asked, func(q question) bool {
		if now < q.until {
			return false
		}
		out = append(out, h.records[q.request.Entity].say(&q.request, h.refuse(&q.request, NoAnswer)))
		return true
	})
	return out
}
