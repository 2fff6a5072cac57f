package gateway

import (
	"fmt"
	"math/rand/v2"

	"metasim/metasim"
)

// A stage is a dispatcher with the clients of its own, and streams between them of which any part may be on its way.
type stage struct {
	r          *rand.Rand
	d          *metasim.Dispatcher
	ledger     *metasim.Ledger
	actors     map[metasim.ClientID]*actor
	order      []*actor
	up         map[*actor][]metasim.Event
	down       map[*actor][]metasim.Effect
	finished   bool
	authorized int
	foreign    func(metasim.ClientID, metasim.Effect) // takes what is for a client that has no actor here
	stepped    func(metasim.Event)
	settled    func()
}

func newStage(r *rand.Rand, n *network, c metasim.Config, has func(*spec) bool) (*stage, error) {
	d, err := metasim.New(c)
	if err != nil {
		return nil, err
	}
	s := &stage{
		r: r, d: d, ledger: metasim.NewLedger(d.Names()), actors: map[metasim.ClientID]*actor{},
		up: map[*actor][]metasim.Event{}, down: map[*actor][]metasim.Effect{},
	}
	for i := range n.specs {
		if has(&n.specs[i]) {
			a := newActor(n, i, d)
			s.actors[a.id] = a
			s.order = append(s.order, a)
		}
	}
	for _, a := range s.order {
		if err := s.step(&metasim.Join{Client: a.id, Publications: a.pubs, Subscriptions: a.subs, Reaction: a.reaction}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *stage) step(ev metasim.Event) error {
	if s.finished {
		return fmt.Errorf("%T after the end", ev)
	}
	if err := s.carry(ev, s.d.Step(ev)); err != nil {
		return err
	}
	if s.stepped != nil {
		s.stepped(ev)
	}
	return nil
}

func (s *stage) carry(ev metasim.Event, effects []metasim.Effect) error {
	s.ledger.Observe(ev, effects)
	for _, e := range effects {
		var to metasim.ClientID
		var kept metasim.Effect
		switch e := e.(type) {
		case *metasim.Deliver:
			c := *e
			to, kept = e.To, &c
		case *metasim.Authorize:
			s.authorized++
			c := *e
			to, kept = e.To, &c
		case *metasim.Finish:
			s.finished = true
			if e.Err != nil {
				return e.Err
			}
		}
		if kept == nil {
			continue
		}
		if a := s.actors[to]; a != nil {
			s.down[a] = append(s.down[a], kept)
		} else if s.foreign != nil {
			s.foreign(to, kept)
		}
	}
	return nil
}

func (s *stage) settle() error {
	if s.finished {
		return nil
	}
	err := s.carry(nil, s.d.Settle())
	if s.settled != nil {
		s.settled()
	}
	return err
}

// can returns what may happen next.
func (s *stage) can() (can []func() error) {
	for _, a := range s.order {
		if a.held {
			continue
		}
		if !a.idle() {
			can = append(can, func() error { a.act(s.r); return nil })
		}
		if len(a.out) > 0 {
			can = append(can, func() error { s.up[a], a.out = append(s.up[a], a.out...), nil; return nil })
		}
		if len(s.up[a]) > 0 {
			can = append(can, func() error {
				ev := s.up[a][0]
				s.up[a] = s.up[a][1:]
				return s.step(ev)
			})
		}
		if len(s.down[a]) > 0 {
			can = append(can, func() error {
				e := s.down[a][0]
				s.down[a] = s.down[a][1:]
				return a.receive(e)
			})
		}
	}
	return can
}

func transcripts(stages ...*stage) map[string][]string {
	all := map[string][]string{}
	for _, s := range stages {
		for _, a := range s.order {
			all[a.name] = a.transcript
		}
	}
	return all
}

func (n *network) names() (names []string) {
	for _, s := range n.specs {
		names = append(names, s.name)
	}
	return names
}

func (s *stage) status() (text string) {
	for i := range s.d.Names() {
		text += fmt.Sprintf("\n  %+v", s.d.Status(metasim.ClientID(i)))
	}
	return text
}
