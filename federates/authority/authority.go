// Package authority has the clients of a run that decide who may change an entity: a homeserver, which keeps who owns it, and a simulation server,
// which computes its state. What they decide is package transfer; here are their channels, their parameters and their results.
//
// A server hears on one channel of its own and publishes on those of its neighbours: each message is one hop, and its delay is that of the link.
package authority

import (
	"context"
	"errors"

	"metasim/client"
	"metasim/federates/authority/transfer"
	"metasim/federates/catalog"
	"metasim/federates/loop"
	"metasim/metasim"
)

// A homeResult is what a homeserver leaves with.
type homeResult struct {
	Entities map[string]transfer.Record `json:"entities"`
	Wrong    []string                   `json:"wrong,omitempty"` // what others did wrong, first to last, at most mostWrong
}

// A SimResult is what a simulation server leaves with.
type SimResult struct {
	Entities  map[string]transfer.State `json:"entities"` // that it owns in the end
	Effective []Effective               `json:"effective,omitempty"`
	Refused   []transfer.Refused        `json:"refused,omitempty"`
	Late      uint64                    `json:"late,omitempty"` // handovers that were not newer than what it knew
	Wrong     []string                  `json:"wrong,omitempty"`
}

// An Effective says from when on a server owned an entity that it got from another.
type Effective struct {
	Entity string            `json:"entity"`
	Epoch  transfer.Sequence `json:"epoch"`
	NS     metasim.Time      `json:"ns"`
	Step   uint32            `json:"step"`
}

// mostWrong is how many wrong messages a result tells.
const mostWrong = 100

// A machine is a homeserver or a simulation server.
type machine interface {
	wake() metasim.Time
	tick(now metasim.Instant) []transfer.Envelope
	receive(now metasim.Instant, from string, m transfer.Message) ([]transfer.Envelope, error)
	result(end metasim.Time, wrong []string) any
}

// Homeserver is the model homeserver.
func Homeserver(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
	neighbours, _ := catalog.Find[[]string](in, "neighbours")
	path, _ := catalog.Find[[]string](in, "path")
	entities, _ := catalog.Find[[]string](in, "entities")
	owner, _ := catalog.Find[string](in, "owner")
	master, _ := catalog.Find[string](in, "master")
	h := transfer.NewHomeserver(transfer.HomeConfig{Name: in.Name, Neighbours: neighbours, Path: path, Patience: catalog.Get[metasim.Time](in, "patience")})
	for _, e := range entities {
		h.Enter(e, transfer.Record{Owner: owner, Master: master, Rule: transfer.Rule(catalog.Get[string](in, "rule"))})
	}
	return serve(ctx, c, in, out, homeserver{h, entities})
}

type homeserver struct {
	*transfer.Homeserver
	entities []string
}

func (h homeserver) wake() metasim.Time { return h.Wake() }

func (h homeserver) tick(now metasim.Instant) []transfer.Envelope { return h.Tick(now.Time) }

func (h homeserver) receive(now metasim.Instant, from string, m transfer.Message) ([]transfer.Envelope, error) {
	return h.Receive(now.Time, from, m)
}

func (h homeserver) result(_ metasim.Time, wrong []string) any {
	r := homeResult{Entities: map[string]transfer.Record{}, Wrong: wrong}
	for _, e := range h.entities {
		r.Entities[e], _ = h.Record(e)
	}
	return r
}

// Simserver is the model simserver.
func Simserver(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
	home, _ := catalog.Find[string](in, "home")
	entities, _ := catalog.Find[[]string](in, "entities")
	s := &simserver{at: catalog.Get[metasim.Time](in, "at")}
	s.gives, _ = catalog.Find[string](in, "give")
	s.to, _ = catalog.Find[string](in, "to")
	s.takes, _ = catalog.Find[string](in, "take")
	if s.gives == "" && s.takes == "" {
		s.at = metasim.Forever
	}
	asks, _ := catalog.Find[string](in, "asks")
	minds := map[string]transfer.Mind{"yes": transfer.Yes, "no": transfer.No, "never": transfer.Silent}
	s.Simserver = transfer.NewSimserver(transfer.SimConfig{
		Name: in.Name, Home: home, Step: catalog.Get[metasim.Time](in, "step"), Retry: catalog.Get[metasim.Time](in, "retry"),
		Master: minds[catalog.Get[string](in, "answers")],
		Rule:   transfer.Rule(catalog.Get[string](in, "rule")), Asks: asks, Patience: catalog.Get[metasim.Time](in, "patience"),
	})
	for _, e := range entities {
		s.Own(e)
	}
	return serve(ctx, c, in, out, s)
}

// A simserver asks for one other owner.
type simserver struct {
	*transfer.Simserver
	at               metasim.Time // when it asks; metasim.Forever: it does not, or it has
	gives, to, takes string
	cause            error // why it could not ask
}

func (s *simserver) wake() metasim.Time { return min(s.at, s.Wake()) }

func (s *simserver) tick(now metasim.Instant) (out []transfer.Envelope) {
	if now.Time >= s.at {
		s.at = metasim.Forever
		if s.gives != "" {
			out, s.cause = s.Give(now.Time, s.gives, s.to)
		} else {
			out, s.cause = s.Take(now.Time, s.takes)
		}
	}
	return append(out, s.Tick(now.Time)...)
}

func (s *simserver) receive(now metasim.Instant, from string, m transfer.Message) ([]transfer.Envelope, error) {
	return s.Receive(now, from, m)
}

func (s *simserver) result(end metasim.Time, wrong []string) any {
	if s.cause != nil {
		wrong = append(wrong, s.cause.Error())
	}
	r := SimResult{Entities: map[string]transfer.State{}, Refused: s.Refusals, Late: s.Late, Wrong: wrong}
	for _, e := range s.Held() {
		r.Entities[e] = s.State(e, end)
	}
	for _, e := range s.Effects {
		r.Effective = append(r.Effective, Effective{e.Entity, e.Epoch, e.At.Time, e.At.Step})
	}
	return r
}

// serve carries a machine out until no message can come any more. What others do wrong is told in the result, and changes nothing.
func serve(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication, m machine) error {
	publications := map[string]*client.Publication{}
	for i, name := range catalog.AuthorityNeighbours(in) {
		publications[name] = out[i]
	}
	var wrong []string
	for {
		messages, err := c.Next(ctx, m.wake())
		if err != nil && !errors.Is(err, client.ErrEnd) {
			return err
		}
		over := err != nil
		for _, got := range messages {
			said, err := transfer.Decode(got.Payload)
			var answers []transfer.Envelope
			if err == nil {
				answers, err = m.receive(c.Now(), got.From, said)
			}
			if err != nil && len(wrong) < mostWrong {
				wrong = append(wrong, err.Error())
			}
			if err := publish(publications, answers); err != nil {
				return err
			}
		}
		if over {
			return loop.Finish(ctx, c, m.result(c.Now().Time, wrong))
		}
		if err := publish(publications, m.tick(c.Now())); err != nil {
			return err
		}
	}
}

// A NeighbourError: a server has to send to one that its parameters do not name.
type NeighbourError struct{ To string }

func (e *NeighbourError) Error() string {
	return "there is something to send to " + e.To + ", which is no neighbour; name it in neighbours, or the way to it in path"
}

func publish(to map[string]*client.Publication, envelopes []transfer.Envelope) error {
	for _, e := range envelopes {
		p := to[e.To]
		if p == nil {
			return &NeighbourError{e.To}
		}
		b, err := transfer.Encode(&e.Message)
		if err == nil {
			err = p.PublishOwned(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
