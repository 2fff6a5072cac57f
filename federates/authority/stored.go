package authority

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"metasim/client"
	"metasim/federates/authority/shard"
	"metasim/federates/authority/store"
	"metasim/federates/authority/store/served"
	"metasim/federates/authority/transfer"
	"metasim/federates/authority/tree"
	"metasim/federates/catalog"
	"metasim/federates/loop"
	"metasim/metasim"
)

// A storeResult is what a store leaves with.
type storeResult struct {
	Batches uint64        `json:"batches"` // that were done
	Digest  string        `json:"digest"`  // of all of them, in their order
	Holds   []served.Hold `json:"holds"`   // who held which key, and for how long: the leader, and who was there
	Wrong   []string      `json:"wrong,omitempty"`
}

// Store is the model store.
func Store(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
	members := map[string]*client.Publication{}
	for i, member := range catalog.Get[[]string](in, "members") {
		members[member] = out[i]
	}
	s := served.NewServer()
	var r storeResult
	for {
		messages, err := c.Next(ctx, s.Wake())
		over := errors.Is(err, client.ErrEnd)
		if err != nil && !over {
			return err
		}
		for i := range messages {
			from := messages[i].From
			err := error(&memberError{from})
			var answer []byte
			if members[from] != nil {
				answer, err = s.Receive(c.Now(), from, messages[i].Payload)
			}
			if err != nil && len(r.Wrong) < mostWrong {
				r.Wrong = append(r.Wrong, err.Error())
			}
			if answer == nil || over {
				continue
			}
			if err := members[from].Publish(answer); err != nil {
				return err
			}
		}
		if over {
			r.Holds = s.Holds
			r.Batches, r.Digest = s.Digest()
			return loop.Finish(ctx, c, &r)
		}
		if err := s.Tick(c.Now()); err != nil {
			return err
		}
	}
}

// A memberError: who asks the store is no member of it.
type memberError struct{ from string }

func (e *memberError) Error() string {
	return e.from + " asked the store, and is none of its members; name it in members"
}

// A stored is a homeserver whose entities are in a store, which it shares with others of its instance. It decides on each message by a machine that it makes anew of
// what the store has of the entity, and says nothing before the store has what came of it. So who dies loses nothing, and another one goes on.
type stored struct {
	cfg      transfer.HomeConfig
	member   store.Config
	begin    map[string]transfer.Record // the entities of the scenario
	entities []string                   // their names, in order
	asks     *asker
	kv       *served.Member
	tree     *store.Store // nil while it is dead
	next     metasim.Time // when it does its chores
	back     metasim.Time // when it begins
	again    metasim.Time // when it begins after it has died
	led      []led
	failed   error // why it cannot go on
}

// A led says from when on a homeserver led, or did not any more.
type led struct {
	NS    metasim.Time `json:"ns"`
	Leads bool         `json:"leads"`
}

// century bounds calls of the store in real time: none, in simulated time each ends with its answer.
const century = 100 * 365 * 24 * time.Hour

func entityPath(entity string) tree.Path { return tree.At("entities", entity) }

func (s *stored) wake() metasim.Time {
	if s.tree == nil {
		return s.back
	}
	return min(s.next, s.asks.dies)
}

// dead reports whether an error says that the homeserver has died meanwhile, or that the run is over. Other errors end the client.
func (s *stored) dead(err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, errDied):
		s.tree, s.kv, s.asks.dies = nil, nil, metasim.Forever
	case !errors.Is(err, client.ErrEnd):
		s.failed = err
	}
	return true
}

func (s *stored) tick(ctx context.Context, now metasim.Instant) (says said, err error) {
	if s.tree != nil && now.Time >= s.asks.dies {
		s.dead(errDied)
	}
	if s.tree == nil && now.Time >= s.back {
		s.back, s.again = s.again, metasim.Forever
		if s.dead(s.open(ctx, now)) {
			return says, s.failed
		}
	}
	if s.tree != nil && now.Time >= s.next {
		s.next = now.Time.Add(metasim.Time(s.member.Lease) / 3)
		says.envelopes, err = s.chores(ctx)
		s.dead(err)
	}
	return says, s.failed
}

// open joins the store, and enters what nobody has entered yet.
func (s *stored) open(ctx context.Context, now metasim.Instant) (err error) {
	s.member.Draw, s.next = now.String, now.Time
	s.kv = served.Open(now, s.asks.ask)
	if s.tree, err = store.Open(ctx, s.kv, s.member); err != nil {
		s.tree = nil
		return err
	}
	_, err = s.tree.Transact(ctx, func(x *tree.Tx) error {
		for _, entity := range s.entities {
			text, err := json.Marshal(transfer.Kept{Record: s.begin[entity]})
			if err != nil {
				return err
			}
			if _, err := x.Get(entityPath(entity)); err == nil {
				continue // it is there already
			} else if !errors.Is(err, tree.ErrNotFound) {
				return err
			}
			if _, err := x.Do(tree.Create(entityPath(entity), text)); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// chores keeps what the member holds, and sees what others have written. Who leads refuses what masters have not answered in time.
func (s *stored) chores(ctx context.Context) (out []transfer.Envelope, err error) {
	if err := s.kv.Renew(ctx); err != nil {
		return nil, err
	}
	leads, err := s.tree.Step(ctx)
	if err != nil {
		return nil, err
	}
	now := s.asks.client.Now().Time
	if leads != (len(s.led) > 0 && s.led[len(s.led)-1].Leads) {
		s.led = append(s.led, led{now, leads})
	}
	if !leads {
		return nil, nil
	}
	asked, err := s.asked()
	for _, entity := range asked {
		more, wrong, err := s.change(ctx, entity, func(h *transfer.Homeserver) ([]transfer.Envelope, error) { return h.Tick(now), nil })
		if err := errors.Join(wrong, err); err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, err
}

// asked are the entities whose masters have been asked, in order.
func (s *stored) asked() (all []string, err error) {
	err = s.each(context.Background(), func(entity string, kept *transfer.Kept) {
		if len(kept.Asked) > 0 {
			all = append(all, entity)
		}
	})
	return all, err
}

// each calls do for each entity, in order, as this member knows it.
func (s *stored) each(ctx context.Context, do func(string, *transfer.Kept)) error {
	return s.tree.Query(ctx, store.LowLatency, func(x *tree.Tx) error {
		names, err := x.Children(tree.At("entities"))
		if errors.Is(err, tree.ErrNotFound) {
			return nil
		}
		for _, entity := range names {
			n, err := x.Get(entityPath(entity))
			if err != nil {
				return err
			}
			var kept transfer.Kept
			if err := json.Unmarshal(n.Payload.Bytes, &kept); err != nil {
				return err
			}
			do(entity, &kept)
		}
		return err
	})
}

// change has a machine of what is kept of an entity do something, and writes down what is kept then. What is wrong with what others said changes nothing.
func (s *stored) change(ctx context.Context, entity string, do func(*transfer.Homeserver) ([]transfer.Envelope, error)) (out []transfer.Envelope, wrong, err error) {
	_, err = s.tree.Transact(ctx, func(x *tree.Tx) error {
		h := transfer.NewHomeserver(s.cfg)
		n, err := x.Get(entityPath(entity))
		if err == nil {
			var kept transfer.Kept
			if err := json.Unmarshal(n.Payload.Bytes, &kept); err != nil {
				return err
			}
			h.Restore(entity, kept)
		} else if !errors.Is(err, tree.ErrNotFound) {
			return err
		}
		out, wrong = do(h)
		kept, known := h.Keep(entity)
		if wrong != nil || !known {
			return nil
		}
		text, err := json.Marshal(kept)
		if err == nil && !bytes.Equal(text, n.Payload.Bytes) {
			_, err = x.Do(tree.Put(entityPath(entity), text))
		}
		return err
	})
	return out, wrong, err
}

func (s *stored) receive(ctx context.Context, _ metasim.Instant, from string, m transfer.Message) ([]transfer.Envelope, error) {
	if s.tree == nil {
		return nil, nil // it is dead
	}
	out, wrong, err := s.change(ctx, m.Entity, func(h *transfer.Homeserver) ([]transfer.Envelope, error) {
		return h.Receive(s.asks.client.Now().Time, from, m)
	})
	if s.dead(err) {
		return nil, nil
	}
	return out, wrong
}

func (s *stored) packet(_, from string, _ []byte) error { return &shard.StrangerError{From: from} }

func (s *stored) result(_ metasim.Time, wrong []string) any {
	r := homeResult{Entities: map[string]transfer.Record{}, Wrong: wrong, Led: s.led}
	if s.tree != nil {
		if err := s.each(context.Background(), func(entity string, kept *transfer.Kept) { r.Entities[entity] = kept.Record }); err != nil {
			r.Wrong = append(r.Wrong, err.Error())
		}
	}
	return r
}

// save makes no checkpoint: what the member knows of the store it asks for again when it begins, which would be another run.
func (s *stored) save(*saved) error {
	return errors.New("a homeserver with a store makes no checkpoints; its whole past is repeated, or leave checkpoint out for it")
}

// errDied ends calls of the store when the homeserver dies.
var errDied = errors.New("the homeserver has died")

// An asker asks the store of a run.
type asker struct {
	client  *client.Client
	store   *client.Publication
	retry   metasim.Time
	dies    metasim.Time
	over    bool     // the run is: nobody answers any more
	answers [][]byte // that nobody has looked at
}

// Take implements client.Input.
func (a *asker) Take(m client.Message) error {
	a.answers = append(a.answers, m.Payload)
	return nil
}

// Save implements client.Saver: nothing waits between two calls.
func (a *asker) Save() ([]byte, error) { return nil, nil }

// Restore implements client.Saver.
func (a *asker) Restore([]byte) error { return nil }

// ask is a served.Ask.
func (a *asker) ask(ctx context.Context, question []byte, take func([]byte) bool) error {
	for {
		switch {
		case a.over:
			return client.ErrEnd
		case a.client.Now().Time >= a.dies:
			return errDied
		}
		if err := a.store.Publish(question); err != nil {
			return err
		}
		answered := false
		err := a.client.Await(ctx, min(a.client.Now().Time.Add(a.retry), a.dies), func() bool {
			for _, b := range a.answers {
				answered = answered || take(b)
			}
			a.answers = nil
			return answered
		})
		a.over = errors.Is(err, client.ErrEnd)
		if answered || err != nil {
			return err
		}
	}
}
