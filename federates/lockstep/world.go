package lockstep

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/loop"
	"metasim/federates/sdf"
	"metasim/federates/world"
)

// A worldResult is what a world leaves with.
type worldResult struct {
	Iterations uint64 `json:"iterations"`
	SimTimeNS  int64  `json:"sim_time_ns"`
	Entities   int    `json:"entities"`
	StateHash  string `json:"state_hash"`
	// Encodings counts how often changes were encoded for runtimes, Calls how many calls had them, and Bytes how much that was.
	Encodings uint64         `json:"encodings"`
	Calls     uint64         `json:"calls"`
	Bytes     uint64         `json:"call_bytes"`
	Conflicts uint64         `json:"conflicts"`
	Conflict  string         `json:"first_conflict,omitempty"`
	Systems   []systemResult `json:"systems"`
}

type systemResult struct {
	Name   string `json:"name"`
	Calls  uint64 `json:"calls"`
	Remote bool   `json:"remote"`
}

// World is the model world: it steps a world until its iterations are done or the run ends.
func World(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
	w, err := readWorld(in)
	if err != nil {
		return err
	}
	return runWorld(ctx, c, w, in, out)
}

// runWorld steps a world that was read.
func runWorld(ctx context.Context, c *client.Client, w *sdf.World, in *catalog.Instance, out []*client.Publication) error {
	topics, _ := catalog.Find[[]string](in, "topics")
	told, out := tellers(topics, out)
	var hashes *client.Publication
	if catalog.Get[bool](in, "hashes") {
		hashes, out = out[0], out[1:]
	}
	placed, err := Systems(w)
	if err != nil {
		return err
	}
	remote, _ := catalog.Find[[]string](in, "remote")
	l := &link{ctx: ctx, client: c, calls: map[string]*client.Publication{}}
	for i, name := range remote {
		if err := l.serve(name, placed, out[i]); err != nil {
			return err
		}
	}
	config := configOf(w, placed)
	config.Runtimes, config.Seed, config.Topics = l, in.Seed, topics
	s, err := world.New(config)
	if err != nil {
		return err
	}
	if err := s.Configure(); err != nil {
		return err
	}
	last, ends := catalog.Find[int64](in, "iterations")
	for !ends || s.Info().Iteration < uint64(last) {
		if messages, err := c.Step(ctx, s.NextTime()); errors.Is(err, client.ErrEnd) {
			break
		} else if err != nil {
			return err
		} else if len(messages) > 0 {
			return fmt.Errorf("client %q published on %s while nobody had called it", messages[0].From, messages[0].Channel)
		}
		if err := s.Step(); err != nil {
			return err
		}
		if err := told.publish(s.Told()); err != nil {
			return err
		}
		if hashes != nil {
			if err := publishHash(hashes, s); err != nil {
				return err
			}
		}
	}
	return loop.Finish(ctx, c, resultOf(s, placed, remote))
}

// serve makes a system one that runs in another client.
func (l *link) serve(name string, placed []Placed, calls *client.Publication) error {
	i := slices.IndexFunc(placed, func(p Placed) bool { return p.Name == name })
	if i < 0 {
		var names []string
		for _, p := range placed {
			names = append(names, p.Name)
		}
		return fmt.Errorf("the world has no system %s, which is to run in another client; it has %s", name, strings.Join(names, ", "))
	}
	placed[i].System = nil
	l.calls[name] = calls
	return nil
}

func publishHash(p *client.Publication, s *world.Server) error {
	hash := s.Hash()
	return p.PublishOwned(append(binary.LittleEndian.AppendUint64(nil, s.Info().Iteration), hash[:]...))
}

func resultOf(s *world.Server, placed []Placed, remote []string) worldResult {
	hash := s.Hash()
	r := worldResult{Iterations: s.Info().Iteration, SimTimeNS: int64(s.Info().Time), Entities: s.Entities(), StateHash: hex.EncodeToString(hash[:]),
		Encodings: s.Stats.Encodings, Calls: s.Stats.Sends, Bytes: s.Stats.Bytes, Conflicts: s.Stats.Conflicts}
	if f := s.Stats.First; f != nil {
		r.Conflict = fmt.Sprintf("%v of iteration %d: %v", f.Phase, f.Iteration, f.Conflict)
	}
	for _, p := range placed {
		r.Systems = append(r.Systems, systemResult{p.Name, p.Calls(), slices.Contains(remote, p.Name)})
	}
	return r
}
