package lockstep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/loop"
	"metasim/federates/sdf"
	"metasim/federates/world"
	"metasim/metasim"
)

// A runtimeResult is what a runtime leaves with.
type runtimeResult struct {
	Plugin string  `json:"plugin"`
	Module string  `json:"module,omitempty"` // SHA-256 of its WebAssembly module, as the runtime read it
	State  string  `json:"state"`
	Calls  uint64  `json:"calls"`       // steps in which it was called
	Rate   float64 `json:"update_rate"` // calls in a second of simulated time, from the first to the last; 0: fewer than two
}

// Serve takes part in a run as the runtime of one system of a world, from joining to leaving: for a system of a program of your own. Made makes it, and another
// one after a reset if it has no Reset. It has the interfaces of package world for the phases in which it takes part. System is its name in the world,
// and that of the client unless the options or METASIM_CLIENT say another.
func Serve(ctx context.Context, world, system string, made func() any, opts ...client.Option) error {
	in, err := catalog.Make("lockstep-runtime", map[string]any{"world": world, "system": system}, catalog.Env{Name: system})
	if err != nil {
		return err
	}
	b := client.NewBuilder(system)
	replies := b.Publication(in.Ports.Publications[0])
	if err := b.Subscribe(in.Ports.Subscriptions[0], nil); err != nil {
		return err
	}
	c, err := b.Complete(ctx, opts...)
	if err != nil {
		return err
	}
	m := &machine{state: initialized, make: func(*sdf.Plugin) (any, error) { return made(), nil }}
	if err := serve(ctx, c, in, m, voice{}, []*client.Publication{replies}); err != nil {
		return errors.Join(err, c.Fail(err))
	}
	return c.Leave(ctx)
}

// Runtime is the model lockstep-runtime: it runs one system of a world.
func Runtime(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
	topics, _ := catalog.Find[[]string](in, "topics")
	told, out := tellers(topics, out)
	own, err := readConfig(in)
	if err != nil {
		return err
	}
	make := func(p *sdf.Plugin) (any, error) { return makeSystem(p, mayRead(in)) }
	m := &machine{make: make, state: initialized, topics: topics, own: own}
	if own != nil { // what cannot be made is said here, where its line is known
		if m.system, err = make(own); err != nil {
			return err
		}
	}
	return serve(ctx, c, in, m, told, out)
}

// serve replies to the calls of a world until the run ends.
func serve(ctx context.Context, c *client.Client, in *catalog.Instance, m *machine, told voice, out []*client.Publication) error {
	_, system := catalog.LockStepOf(in)
	r := &runtime{machine: m, system: system, client: c, told: told, replies: out[0], dir: in.Dir, result: runtimeResult{State: m.state.String()}}
	if catalog.Get[bool](in, "stats") {
		r.stats = out[1]
	}
	if err := r.tell(0); err != nil {
		return err
	}
	for {
		messages, err := c.Next(ctx, metasim.Forever)
		for _, msg := range messages {
			if err := r.reply(msg); err != nil {
				return err
			}
		}
		if m.state == initialized && errors.Is(err, client.ErrEnd) {
			return neverCalled(in)
		}
		if m.state == failed || errors.Is(err, client.ErrEnd) {
			return loop.Finish(ctx, c, r.result) // of a failure the world says why
		}
		if err != nil {
			return err
		}
	}
}

// A runtime replies to the calls of one system.
type runtime struct {
	machine *machine
	system  string // as the world calls it
	client  *client.Client
	told    voice
	replies *client.Publication
	dir     string              // of the scenario
	stats   *client.Publication // nil: nobody wants them
	next    metasim.Time        // when they are told again, if the state stays as it is
	said    string              // the state that was told last
	result  runtimeResult
}

// tell publishes how the runtime is: when its state has changed, and once in a second of simulated time.
func (r *runtime) tell(now metasim.Time) error {
	if r.stats == nil || r.said == r.result.State && now < r.next {
		return nil
	}
	r.said, r.next = r.result.State, now+metasim.Second
	b, err := json.Marshal(r.result)
	if err != nil {
		return err
	}
	return r.stats.PublishOwned(b)
}

// reply carries out a call.
func (r *runtime) reply(msg client.Message) error {
	asked, err := decodeCall(msg.Payload)
	if err != nil {
		return fmt.Errorf("from client %q: %w", msg.From, err)
	}
	if asked.plugin != nil {
		asked.plugin = local(asked.plugin, r.dir)
	}
	m := r.machine
	answer := m.call(asked)
	r.result.State, r.result.Calls, r.result.Rate = m.state.String(), m.calls, m.rate()
	if asked.plugin != nil {
		r.result.Plugin, r.result.Module = asked.plugin.Name, moduleOf(m.system)
	}
	if err := r.tell(r.client.Now().Time); err != nil {
		return err
	}
	b, err := answer.encode()
	if err != nil {
		return err
	}
	if err := r.told.publish(m.told()); err != nil {
		return err
	}
	if err := r.replies.PublishOwned(b); err != nil {
		return err
	}
	if m.state == failed {
		if asked.behind { // the run may end before the world hears of it
			return &world.StepError{System: r.system, Phase: asked.phase, Iteration: asked.info.Iteration, Err: errors.New(answer.failed)}
		}
		return nil
	}
	if asked.next > r.client.Now().Time {
		return r.client.PromiseThenWait(asked.next)
	}
	return nil
}

// neverCalled is the error of a runtime that served nobody.
func neverCalled(in *catalog.Instance) error {
	world, system := catalog.LockStepOf(in)
	return fmt.Errorf("no world has called system %s; write remote: [%s] for the client %s", system, system, world)
}

// makeSystem makes a system, which must have something to do.
func makeSystem(p *sdf.Plugin, may func(path string) error) (any, error) {
	s, err := newSystem(p, may)
	if err != nil {
		return nil, at(p.Place, err)
	}
	if s == nil {
		return nil, at(p.Place, fmt.Errorf("system %s has nothing to do here; take it out of the world", p.Name))
	}
	return s, nil
}

// CheckRuntime says why a runtime cannot run the system that its configuration names. It is for the user's own command, as Check is.
func CheckRuntime(r *sdf.Runtime) error {
	_, err := makeSystem(r.Plugin, func(string) error { return nil })
	return err
}
