package lockstep

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/loop"
	"metasim/federates/sdf"
	"metasim/federates/world"
	"metasim/metasim"
)

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
	var states *client.Publication
	if catalog.Get[bool](in, "states") {
		states, out = out[0], out[1:]
	}
	out = told.add(in, out)
	secondaries, _ := catalog.Find[[]string](in, "secondaries")
	orders, out := out[:len(secondaries)], out[len(secondaries):]
	m, out, err := meterOf(in, out)
	if err != nil {
		return err
	}
	remote, _ := catalog.Find[[]string](in, "remote")
	placed, err := systemsOf(w, remote, mayRead(in))
	if err != nil {
		return err
	}
	timeout, _ := catalog.Find[metasim.Time](in, "timeout")
	l := &link{ctx: ctx, client: c, dir: in.Dir, calls: map[string]*client.Publication{}, runtimes: map[string]string{}, timeout: time.Duration(timeout),
		late: laggards{world: c.Name()}, acks: map[string]*acked{}}
	l.meter = m
	l.degrade, _ = catalog.Find[[]string](in, "degrade")
	for _, name := range l.degrade {
		if !slices.Contains(remote, name) {
			return fmt.Errorf("degrade names %s, which runs in no other client; name systems of remote", name)
		}
	}
	for i, name := range remote {
		if err := l.serve(name, placed, out[i]); err != nil {
			return at(w.Place, err)
		}
	}
	config := configOf(w, placed)
	config.Runtimes, config.Seed, config.Topics, config.Resets = l, in.Seed, topics, catalog.Get[bool](in, "resets")
	if config.Resets {
		l.resets = catalog.ResetChannel(in.Name)
	}
	if err := l.addLevels(w, in, placed, orders, &config); err != nil {
		return err
	}
	s, err := world.New(config)
	if err != nil {
		return err
	}
	if err := s.Configure(); err != nil {
		return err
	}
	result := worldResult{}
	if err := publishState(states, s, 0); err != nil {
		return err
	}
	if err := l.steps(s, in, &result, func() error {
		return errors.Join(told.publish(s.Told()), publishState(states, s, result.SimTimeNS), publishHash(hashes, s))
	}); err != nil {
		return err
	}
	result.fill(s, placed, remote)
	l.fillLevels(&result, in, s.Info().Step)
	return loop.Finish(ctx, c, result)
}

// steps steps a world until its iterations are done or the run ends. A reset that is asked for at (t, 0) happens before the step at t, and one that is asked for
// at (t, 1) or later before the next one, wherever the systems run.
func (l *link) steps(s *world.Server, in *catalog.Instance, r *worldResult, after func() error) error {
	last, ends := catalog.Find[int64](in, "iterations")
	step := s.Info().Step
	for ; !ends || r.Iterations < uint64(last); r.Iterations++ {
		goesOn, err := l.advance(metasim.Time(r.SimTimeNS).Add(step))
		if l.dropped(s); !goesOn || err != nil {
			return err
		}
		if l.asked {
			l.asked = false
			r.Resets++
			if err := s.Reset(); err != nil {
				return err
			}
		}
		if err := s.Step(); err != nil {
			return err
		}
		r.SimTimeNS += int64(step)
		if err := errors.Join(after(), l.measure(r.Iterations)); err != nil {
			return err
		}
	}
	err := l.settle()
	l.dropped(s)
	return err
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
	if p == nil {
		return nil
	}
	hash := s.Hash()
	return p.PublishOwned(append(binary.LittleEndian.AppendUint64(nil, s.Info().Iteration), hash[:]...))
}

// publishState publishes the state, and from when to when it is that of the world.
func publishState(p *client.Publication, s *world.Server, now int64) error {
	if p == nil {
		return nil
	}
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, 1<<16), uint64(now))
	return p.PublishOwned(s.AppendState(binary.LittleEndian.AppendUint64(b, uint64(s.Info().Step))))
}

// fill says what a server did.
func (r *worldResult) fill(s *world.Server, placed []Placed, remote []string) {
	hash := s.Hash()
	r.Entities, r.StateHash = s.Entities(), hex.EncodeToString(hash[:])
	r.Encodings, r.Calls, r.Bytes, r.Conflicts = s.Stats.Encodings, s.Stats.Sends, s.Stats.Bytes, s.Stats.Conflicts
	if f := s.Stats.First; f != nil {
		r.Conflict = fmt.Sprintf("%v of iteration %d: %v", f.Phase, f.Iteration, f.Conflict)
	}
	if f := s.Stats.FirstFast; f != nil {
		r.FirstFast = fmt.Sprintf("%s moves %.3g m in iteration %d, near %s", f.Model, f.Way, f.Iteration, f.Other)
	}
	r.Fast = s.Stats.Fast
	for _, g := range s.Stats.Without {
		r.Degraded = append(r.Degraded, goneResult{g.System, g.Phase.String(), g.Iteration})
	}
	for _, p := range placed {
		s := systemResult{Name: p.Name, Calls: p.Calls(), Remote: slices.Contains(remote, p.Name), Module: p.module}
		if s.Remote {
			s.Behind = p.Behind
		}
		r.Systems = append(r.Systems, s)
	}
}
