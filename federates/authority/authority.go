// Package authority has the clients of a run that decide who may change an entity: a homeserver, which keeps who owns it, and a simulation server,
// which computes its state. What they decide is package transfer; here are their channels, their parameters and their results.
//
// A server hears on one channel of its own and publishes on those of its neighbours: each message is one hop, and its delay is that of the link.
package authority

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"

	"metasim/client"
	"metasim/federates/authority/shard"
	"metasim/federates/authority/transfer"
	"metasim/federates/catalog"
	"metasim/federates/loop"
	"metasim/metasim"
)

// A homeResult is what a homeserver leaves with.
type homeResult struct {
	Entities map[string]transfer.Record `json:"entities"`
	Led      []led                      `json:"led,omitempty"`   // with a store
	Wrong    []string                   `json:"wrong,omitempty"` // what others did wrong, first to last, at most mostWrong
}

// A SimResult is what a simulation server leaves with.
type SimResult struct {
	Entities  map[string]transfer.State `json:"entities"` // that it owns in the end
	Effective []Effective               `json:"effective,omitempty"`
	Refused   []transfer.Refused        `json:"refused,omitempty"`
	Late      uint64                    `json:"late,omitempty"` // handovers that were not newer than what it knew
	Wrong     []string                  `json:"wrong,omitempty"`

	Counts *shard.Counts `json:"counts,omitempty"` // with balls
	Moves  []shard.Moved `json:"moves,omitempty"`
	Work   []shard.Busy  `json:"work,omitempty"`
	Parts  []shard.Part  `json:"parts,omitempty"`
}

// An Effective says from when on a server owned an entity that it got from another.
type Effective struct {
	Entity string            `json:"entity"`
	Epoch  transfer.Sequence `json:"epoch"`
	NS     metasim.Time      `json:"ns"`
	Step   uint32            `json:"step"`
}

// A Server is a homeserver or a simulation server as a client of a run that can be begun again at a checkpoint.
type Server struct {
	make  func(in *catalog.Instance, from *saved, asks *asker) (machine, error)
	m     machine
	begin saved
	wrong []string // what others did wrong, first to last, at most mostWrong
	asks  asker    // of a homeserver with a store
}

// saved is what a checkpoint has of a server. A homeserver has Home, a simulation server Sim, one with balls Shard too.
type saved struct {
	Wrong []string                 `json:"wrong,omitempty"`
	Home  *transfer.HomeCheckpoint `json:"home,omitempty"`
	Sim   *transfer.Checkpoint     `json:"sim,omitempty"`
	At    metasim.Time             `json:"at,omitempty"`    // when it asks for another owner
	Cause string                   `json:"cause,omitempty"` // why it could not ask
	Shard []byte                   `json:"shard,omitempty"`
	Next  metasim.Time             `json:"next,omitempty"` // when it shows what it owns
	Asks  metasim.Time             `json:"asks,omitempty"` // when it asks the meter
}

// Save implements client.Saver.
func (s *Server) Save() ([]byte, error) {
	out := saved{Wrong: s.wrong}
	if err := s.m.save(&out); err != nil {
		return nil, err
	}
	return json.Marshal(&out)
}

// Restore implements client.Saver. What it begins with is made in Run, which knows the parameters.
func (s *Server) Restore(state []byte) error { return json.Unmarshal(state, &s.begin) }

// Input returns what takes the messages of a channel as they come, while the server waits for the store; nil: they wait for the server.
func (s *Server) Input(in *catalog.Instance, pattern string) client.Input {
	if _, answered := catalog.StoreChannels("", in.Name); pattern != regexp.QuoteMeta(answered) {
		return nil
	}
	return &s.asks
}

// Run takes part in a run.
func (s *Server) Run(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) (err error) {
	s.asks.client = c
	if name, kept := catalog.Find[string](in, "store"); kept {
		asked, _ := catalog.StoreChannels(name, in.Name)
		s.asks.store = out[slices.Index(in.Ports.Publications, asked)]
	}
	if s.m, err = s.make(in, &s.begin, &s.asks); err != nil {
		return err
	}
	s.wrong = s.begin.Wrong
	return s.serve(ctx, c, in, out)
}

// mostWrong is how many wrong messages a result tells.
const mostWrong = 100

// A machine is a homeserver or a simulation server.
type machine interface {
	wake() metasim.Time
	tick(ctx context.Context, now metasim.Instant) (said, error)
	receive(ctx context.Context, now metasim.Instant, from string, m transfer.Message) ([]transfer.Envelope, error)
	// packet takes what was sent on a channel of updates or of a meter.
	packet(channel, from string, payload []byte) error
	result(end metasim.Time, wrong []string) any
	save(to *saved) error
}

// said is what a machine says.
type said struct {
	envelopes []transfer.Envelope
	packets   []shard.Packet
	shown     []byte // for the channel of shows; nil: nothing
	asks      string // the channel on which a meter is asked; empty: it is not
}

type homeserver struct {
	*transfer.Homeserver
	entities []string
}

func (h homeserver) wake() metasim.Time { return h.Wake() }

func (h homeserver) tick(_ context.Context, now metasim.Instant) (said, error) {
	return said{envelopes: h.Tick(now.Time)}, nil
}

func (h homeserver) packet(_, from string, _ []byte) error { return &shard.StrangerError{From: from} }

func (h homeserver) receive(_ context.Context, now metasim.Instant, from string, m transfer.Message) ([]transfer.Envelope, error) {
	return h.Receive(now.Time, from, m)
}

func (h homeserver) save(to *saved) error {
	c := h.Checkpoint()
	to.Home = &c
	return nil
}

func (h homeserver) result(_ metasim.Time, wrong []string) any {
	r := homeResult{Entities: map[string]transfer.Record{}, Wrong: wrong}
	for _, e := range h.entities {
		r.Entities[e], _ = h.Record(e)
	}
	return r
}

// A simserver asks for one other owner.
type simserver struct {
	*transfer.Simserver
	at               metasim.Time // when it asks; metasim.Forever: it does not, or it has
	gives, to, takes string
	cause            string // why it could not ask
}

func (s *simserver) wake() metasim.Time { return min(s.at, s.Wake()) }

func (s *simserver) tick(_ context.Context, now metasim.Instant) (said, error) {
	var out []transfer.Envelope
	if now.Time >= s.at {
		s.at = metasim.Forever
		var err error
		if s.gives != "" {
			out, err = s.Give(now.Time, s.gives, s.to)
		} else {
			out, err = s.Take(now.Time, s.takes)
		}
		if err != nil {
			s.cause = err.Error()
		}
	}
	return said{envelopes: append(out, s.Tick(now.Time)...)}, nil
}

func (s *simserver) packet(_, from string, _ []byte) error { return &shard.StrangerError{From: from} }

func (s *simserver) receive(_ context.Context, now metasim.Instant, from string, m transfer.Message) ([]transfer.Envelope, error) {
	return s.Receive(now, from, m)
}

func (s *simserver) save(to *saved) error {
	c := s.Checkpoint()
	to.Sim, to.At, to.Cause = &c, s.at, s.cause
	return nil
}

func (s *simserver) result(end metasim.Time, wrong []string) any { return s.simResult(end, wrong) }

func (s *simserver) simResult(end metasim.Time, wrong []string) *SimResult {
	if s.cause != "" {
		wrong = append(wrong, s.cause)
	}
	r := &SimResult{Entities: map[string]transfer.State{}, Refused: s.Refusals, Late: s.Late, Wrong: wrong}
	for _, e := range s.Held() {
		r.Entities[e] = s.State(e, end)
	}
	for _, e := range s.Effects {
		r.Effective = append(r.Effective, Effective{e.Entity, e.Epoch, e.At.Time, e.At.Step})
	}
	return r
}

// serve carries a machine out until no message can come any more. What others do wrong is told in the result, and changes nothing.
func (s *Server) serve(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
	publications := map[string]*client.Publication{}
	for i, channel := range in.Ports.Publications {
		publications[channel] = out[i]
	}
	transfers, _ := catalog.AuthorityChannels(in.Name)
	for {
		messages, err := c.Next(ctx, max(s.m.wake(), c.Now().Time)) // while the store was asked, time went on
		if err != nil && !errors.Is(err, client.ErrEnd) {
			return err
		}
		over := err != nil
		for _, got := range messages {
			answers, err := take(ctx, s.m, c.Now(), &got, transfers)
			if err != nil && len(s.wrong) < mostWrong {
				s.wrong = append(s.wrong, err.Error())
			}
			if err := publish(publications, answers); err != nil {
				return err
			}
		}
		if over {
			return loop.Finish(ctx, c, s.m.result(c.Now().Time, s.wrong))
		}
		says, err := s.m.tick(ctx, c.Now())
		if err == nil {
			err = publish(publications, says.envelopes)
		}
		if err == nil {
			err = publishPackets(publications, says.packets)
		}
		if shows, ok := catalog.Find[string](in, "shows"); ok && err == nil && says.shown != nil {
			err = publications[shows].PublishOwned(says.shown)
		}
		if err == nil && says.asks != "" {
			err = publications[says.asks].Publish(nil)
		}
		if err != nil {
			return err
		}
	}
}

// take has a machine receive a message.
func take(ctx context.Context, m machine, now metasim.Instant, got *client.Message, transfers string) ([]transfer.Envelope, error) {
	if got.Channel != transfers {
		return nil, m.packet(got.Channel, got.From, got.Payload)
	}
	said, err := transfer.Decode(got.Payload)
	if err != nil {
		return nil, err
	}
	return m.receive(ctx, now, got.From, said)
}

// A NeighbourError: a server has to send to one that its parameters do not name.
type NeighbourError struct{ To string }

func (e *NeighbourError) Error() string {
	return "there is something to send to " + e.To + ", which is no neighbour; name it in neighbours, or the way to it in path"
}

func publish(to map[string]*client.Publication, envelopes []transfer.Envelope) error {
	for _, e := range envelopes {
		channel, _ := catalog.AuthorityChannels(e.To)
		p := to[channel]
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

func publishPackets(to map[string]*client.Publication, packets []shard.Packet) error {
	for _, p := range packets {
		_, channel := catalog.AuthorityChannels(p.To)
		if err := to[channel].PublishOwned(p.Bytes); err != nil {
			return err
		}
	}
	return nil
}
