package lockstep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
	"metasim/federates/world"
	"metasim/metasim"
)

// A preparer only prepares itself, and a reader only reads.
type (
	preparer struct{}
	reader   struct{}
	writer   struct{}
)

func (preparer) Configure(world.Setup, *ecm.View) error { return nil }
func (reader) PostUpdate(_ world.Info, v *ecm.View) error {
	v.Set(world.Root, "x", nil, ecm.OneTime)
	return nil
}
func (writer) PreUpdate(world.Info, *ecm.View) error { return nil }
func (writer) Update(world.Info, *ecm.View) error    { return errors.New("has broken") }

// A runtime that is called out of order has failed, and says what it expected.
func TestCallsOutOfOrder(t *testing.T) {
	of := func(p world.Phase, iteration uint64) *call {
		c := &call{phase: p, fresh: p == world.Configure || p == world.Reset, number: 1, info: world.Info{Iteration: iteration}, plugin: &sdf.Plugin{Name: "p"}}
		var state ecm.Changes
		if c.fresh {
			state = ecm.Changes{Edits: []ecm.Edit{{Entity: world.Root, Created: true}}, Counters: []ecm.Counter{{Count: 1}}}
		}
		c.state = state.Append(nil)
		return c
	}
	const configure, pre, update, post, reset = world.Configure, world.PreUpdate, world.Update, world.PostUpdate, world.Reset
	all := wind{}
	for _, c := range []struct {
		system any
		calls  []*call
		want   string
		state  stage
	}{
		{all, []*call{of(configure, 0), of(pre, 1), of(update, 1), of(post, 1), of(pre, 2)}, "", running},
		{all, []*call{of(configure, 0)}, "", configured},
		{all, []*call{of(update, 1)}, "Update was called in iteration 1, in state INITIALIZED; expected Configure", failed},
		{all, []*call{of(configure, 0), of(configure, 0)},
			"Configure was called in iteration 0, in state CONFIGURED; expected PreUpdate of a later iteration", failed},
		{all, []*call{of(configure, 0), of(pre, 1), of(post, 1)},
			"PostUpdate was called in iteration 1, in state RUNNING; expected Update of the same iteration", failed},
		{all, []*call{of(configure, 0), of(pre, 1), of(update, 2)},
			"Update was called in iteration 2, in state RUNNING; expected Update of the same iteration", failed},
		{all, []*call{of(configure, 0), of(pre, 1), of(update, 1), of(post, 1), of(post, 1)},
			"PostUpdate was called in iteration 1, in state RUNNING; expected PreUpdate of a later iteration", failed},
		{all, []*call{of(configure, 0), of(pre, 1), of(update, 1), of(post, 1), of(pre, 1)},
			"PreUpdate was called in iteration 1, in state RUNNING; expected PreUpdate of a later iteration", failed},
		{all, []*call{of(update, 1), of(configure, 0)},
			"Configure was called in iteration 0, in state FAILED; expected nothing, as it has failed", failed},
		{all, []*call{of(configure, 0), of(reset, 0), of(pre, 1), of(update, 1), of(post, 1), of(reset, 0), of(pre, 1)}, "", running},
		{all, []*call{of(reset, 0)}, "Reset was called in iteration 0, in state INITIALIZED; expected Configure", failed},
		{all, []*call{of(configure, 0), of(pre, 1), of(reset, 0)},
			"Reset was called in iteration 0, in state RUNNING; expected Update of the same iteration", failed},
		{preparer{}, []*call{of(configure, 0), of(pre, 1)},
			"PreUpdate was called in iteration 1, in state CONFIGURED; expected Configure of a later iteration", failed},
		{reader{}, []*call{of(configure, 0), of(post, 1)}, "it writes where it may only read; write in PreUpdate or Update", failed},
		{writer{}, []*call{of(configure, 0), of(pre, 1), of(update, 1)}, "has broken", failed},
		{7, []*call{of(configure, 0)}, "the system has nothing to do in any phase; take it out of the world", failed},
	} {
		m := &machine{state: initialized, make: func(*sdf.Plugin) (any, error) { return c.system, nil }}
		var last *reply
		for _, asked := range c.calls {
			last = m.call(asked)
		}
		assert.Equal(t, c.want, last.failed)
		assert.Equal(t, c.state, m.state)
	}
	assert.Equal(t, "state 9", stage(9).String())
}

// wind is a system with all phases.
type wind struct{ writer }

func (wind) Configure(world.Setup, *ecm.View) error { return nil }
func (wind) Update(world.Info, *ecm.View) error     { return nil }
func (wind) PostUpdate(world.Info, *ecm.View) error { return nil }

// A runtime that answers what it likes: the run ends with one sentence that names it, and nothing of what it wrote counts.
func TestRuntimesThatAnswerWrongly(t *testing.T) {
	one := ecm.Changes{Counters: []ecm.Counter{{Writer: 1, Count: 1}}}
	phases := uint8(1<<world.Configure | 1<<world.PreUpdate | 1<<world.PostUpdate)
	good, err := (&reply{phases: phases}).encode()
	require.NoError(t, err)
	encoded := func(r reply) []byte {
		r.phases = phases
		b, err := r.encode()
		require.NoError(t, err)
		return b
	}
	foreign := ecm.Changes{Counters: []ecm.Counter{{Writer: 9, Count: 1}}}
	other := encoded(reply{phase: world.PreUpdate})
	other[0] = 77
	pre := encoded(reply{phase: world.PreUpdate})
	for _, c := range []struct {
		answers [][]byte
		want    string
	}{
		{[][]byte{{}}, `system wind, in Configure: a reply of 0 bytes; what is published on its channel is no reply`},
		{[][]byte{good, append(pre, 1)}, `system wind, in PreUpdate of iteration 1: byte 5 of encoded changes: 1 bytes too many; the sender speaks another version, or is broken`},
		{[][]byte{good, other}, `system wind, in PreUpdate of iteration 1: the other side speaks version 77 of lock step, this one 1; run the same metasim on both`},
		{[][]byte{good, encoded(reply{phase: world.Update})}, `system wind, in PreUpdate of iteration 1: its runtime replied to Update, and was asked for PreUpdate`},
		{[][]byte{good, encoded(reply{phase: world.PreUpdate, changes: foreign})},
			`system wind, in PreUpdate of iteration 1: it creates entities as writer 9, and it is writer 1`},
		{[][]byte{good, encoded(reply{phase: world.PreUpdate, failed: "is out of fuel"})}, `system wind, in PreUpdate of iteration 1: is out of fuel`},
		{[][]byte{good, pre, encoded(reply{phase: world.PostUpdate, changes: one})}, `system wind, in PostUpdate of iteration 1: it wrote where it may only read`},
		{[][]byte{good, nil}, `the client of system wind has left, and the world goes on; let it stay until the run ends`},
	} {
		in, err := catalog.Make("lockstep-runtime", nil, catalog.Env{Name: "wind"})
		require.NoError(t, err)
		answers := c.answers
		liar := part{"wind", in, func(ctx context.Context, c *client.Client, _ *catalog.Instance, out []*client.Publication) error {
			for {
				messages, err := c.Next(ctx, metasim.Forever)
				if err != nil {
					return nil // the run is over
				}
				for range messages {
					if len(answers) == 0 || answers[0] == nil {
						return nil
					}
					if err := out[0].Publish(answers[0]); err != nil {
						return err
					}
					answers = answers[1:]
				}
			}
		}}
		_, _, err = run(t, balls(1, inLockStep(plugin("Wind"), element("update_rate", "0"))), 3, []string{"wind"}, liar)
		require.Error(t, err)
		assert.Contains(t, err.Error(), c.want)
		assert.Contains(t, err.Error(), `client "world"`)
	}
}

// A runtime tells its states, and how often it is called in a second of simulated time.
func TestARuntimeTellsHowItIs(t *testing.T) {
	in, err := catalog.Make("lockstep-runtime", map[string]any{"stats": true}, catalog.Env{Name: "wind"})
	require.NoError(t, err)
	var told []string
	hears := part{"hears", &catalog.Instance{Ports: catalog.Ports{Subscriptions: []string{"world/wind/stats"}}}, func(ctx context.Context, c *client.Client, _ *catalog.Instance, _ []*client.Publication) error {
		for {
			messages, err := c.Next(ctx, metasim.Forever)
			for _, m := range messages {
				told = append(told, fmt.Sprintf("%v %s", c.Now().Time, m.Payload))
			}
			if err != nil {
				return nil // the run is over
			}
		}
	}}
	w := balls(1, inLockStep(plugin("Wind"), element("update_rate", "100")))
	_, err = runWith(t, w, map[string]any{"iterations": 850, "resets": true, "remote": []string{"wind"}}, part{"wind", in, Runtime}, hears, agent(2500*metasim.Millisecond))
	require.NoError(t, err)
	const is = `"plugin":"metasim::systems::Wind","state":"RUNNING"`
	assert.Equal(t, []string{
		`0s {"plugin":"","state":"INITIALIZED","calls":0,"update_rate":0}`,
		`0s {"plugin":"metasim::systems::Wind","state":"CONFIGURED","calls":0,"update_rate":0}`,
		`10ms {` + is + `,"calls":1,"update_rate":0}`,
		`1.01s {` + is + `,"calls":101,"update_rate":100}`,
		`2.01s {` + is + `,"calls":201,"update_rate":100}`,
		`3.01s {` + is + `,"calls":301,"update_rate":100}`, // the world was reset at 2.5 s, and its own time begins again there
		`4.01s {` + is + `,"calls":401,"update_rate":100}`,
	}, told)
}

// other returns a client that does what f does, as a runtime of the system wind.
func other(t *testing.T, name string, f func(ctx context.Context, c *client.Client, out *client.Publication) error) part {
	in, err := catalog.Make("lockstep-runtime", map[string]any{"system": "wind"}, catalog.Env{Name: name})
	require.NoError(t, err)
	return part{name, in, func(ctx context.Context, c *client.Client, _ *catalog.Instance, out []*client.Publication) error {
		return f(ctx, c, out[0])
	}}
}

// A runtime that hangs ends the run after the timeout of the world: the error says which system, phase and step.
func TestARuntimeThatHangs(t *testing.T) {
	good, err := (&reply{phases: 1<<world.Configure | 1<<world.PreUpdate}).encode()
	require.NoError(t, err)
	over := make(chan struct{})
	hangs := other(t, "wind", func(ctx context.Context, c *client.Client, out *client.Publication) error {
		if _, err := c.Next(ctx, metasim.Forever); err != nil {
			return err
		}
		if err := out.Publish(good); err != nil {
			return err
		}
		_, err := c.Next(ctx, metasim.Forever)
		<-over // no reply, and no sign of life
		return err
	})
	watcher := part{"watcher", &catalog.Instance{Ports: catalog.Ports{Subscriptions: []string{"world/hash"}}}, func(ctx context.Context, c *client.Client, _ *catalog.Instance, _ []*client.Publication) error {
		defer close(over)
		_, err := c.Next(ctx, metasim.Forever) // until the run is over
		return err
	}}
	w := balls(1, inLockStep(plugin("Wind"), element("update_rate", "0")))
	_, err = runWith(t, w, map[string]any{"iterations": 3, "remote": []string{"wind"}, "timeout": "50ms", "hashes": true}, hangs, watcher)
	require.ErrorContains(t, err, "system wind, in PreUpdate of iteration 1: its runtime has not replied within 50ms of real time, the timeout of the world")
}

// What is wrong with the runtimes of a system.
func TestWhoRunsASystem(t *testing.T) {
	w := func() *sdf.World {
		w := balls(1, inLockStep(plugin("Wind"), element("update_rate", "0")))
		w.Place = sdf.Place{File: "w.sdf", Line: 2}
		return w
	}
	runtime := func(name string, with map[string]any) part {
		in, err := catalog.Make("lockstep-runtime", with, catalog.Env{Name: name})
		require.NoError(t, err)
		return part{name, in, Runtime}
	}
	with := func(system string) map[string]any { return map[string]any{"iterations": 3, "remote": []string{system}} }
	_, err := runWith(t, w(), with("wind"), runtime("wind", nil), runtime("double", map[string]any{"system": "wind"}))
	assert.ErrorContains(t, err, "system wind has two runtimes, the clients double and wind; let one go")
	_, err = runWith(t, w(), with("wind"))
	assert.ErrorContains(t, err, "system wind has no runtime: nobody has replied to the world; add a client of the model lockstep-runtime with system: wind")
	_, err = runWith(t, w(), with("odometer"), runtime("odometer", nil))
	assert.ErrorContains(t, err, "w.sdf:2: the world has no system odometer, which is to run in another client; it has wind, physics")
	_, err = runWith(t, w(), map[string]any{"iterations": 3}, runtime("wind", nil))
	assert.ErrorContains(t, err, `no world has called system wind; write remote: [wind] for the client world`)
}

func anywhere(string) error { return nil }

func TestPlaceholders(t *testing.T) {
	for _, c := range []struct {
		plugins []*sdf.Plugin
		want    string
	}{
		{[]*sdf.Plugin{{Place: sdf.Place{File: "w.sdf", Line: 3}, Name: placeholder}},
			"w.sdf:3: gz::sim::systems::LockStep names no plugin; write the <plugin> that it stands for inside it, or into the configuration of a runtime, w_runtime.config"},
		{[]*sdf.Plugin{inLockStep(plugin("Wind"), element("update_rate", "often"))},
			`:0: <update_rate> is "often"; write calls in a second, such as 60, or 0 for every step`},
		{[]*sdf.Plugin{inLockStep(plugin("Wind"), element("update_law", "mine"))}, `:0: <update_law> is "mine"; write gazebo or exact`},
		{[]*sdf.Plugin{inLockStep(inLockStep(plugin("Wind")))}, ":0: gz::sim::systems::LockStep stands for another one; write the <plugin> that is to run inside it"},
		{[]*sdf.Plugin{plugin("Wnid")}, `:0: there is no system metasim::systems::Wnid; did you mean "metasim::systems::Wind"?`},
	} {
		_, err := systemsOf(&sdf.World{Plugins: c.plugins}, nil, anywhere)
		assert.EqualError(t, err, c.want)
	}
	all, err := systemsOf(&sdf.World{Plugins: []*sdf.Plugin{plugin("Wind"), inLockStep(plugin("Wind")), {Name: "gz::sim::systems::UserCommands"}, plugin("Wind")}}, nil, anywhere)
	require.NoError(t, err)
	require.Len(t, all, 3)
	assert.Equal(t, []string{"wind", "wind-2", "wind-3"}, []string{all[0].Name, all[1].Name, all[2].Name})
	assert.True(t, all[1].LockStep)
	assert.EqualValues(t, 60, all[1].Rate, "as Gazebo has it")
	_, _, err = run(t, balls(1), 1, []string{"wind"})
	assert.ErrorContains(t, err, "the world has no system wind, which is to run in another client; it has physics")
}

// Any client can publish on the channel of calls. A plugin that lacks an element there is refused before anything looks into it.
func TestACallWithoutAnElement(t *testing.T) {
	for _, content := range [][]*sdf.Element{{nil}, {element("velocity", "1 0 0"), nil}, {{Name: "velocity", Children: []*sdf.Element{{}, nil}}}} {
		c := call{phase: world.Configure, number: 1, info: world.Info{Step: 1}, plugin: plugin("Wind", content...)}
		b, err := c.encode()
		require.NoError(t, err)
		r := &runtime{machine: &machine{state: initialized, make: func(p *sdf.Plugin) (any, error) { return makeSystem(p, anywhere) }}, dir: t.TempDir()}
		require.NotPanics(t, func() { err = r.reply(client.Message{From: "stranger", Payload: b}) })
		assert.EqualError(t, err, `from client "stranger": the plugin of a call has null in the place of an element; only the world may publish on this channel`)
	}
}

// A module is read once: trials before and after a reset have the same one, in the world and in a runtime, whatever becomes of its file.
func TestAModuleIsReadOnce(t *testing.T) {
	module := "\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x07\x0e\x01\x0apre_update\x00\x00\x0a\x04\x01\x02\x00\x0b" // pre_update does nothing
	file := filepath.Join(t.TempDir(), "m.wasm")
	require.NoError(t, os.WriteFile(file, []byte(module), 0o600))
	placed, err := systemsOf(&sdf.World{Plugins: []*sdf.Plugin{{Name: "m", Filename: file}}}, nil, anywhere)
	require.NoError(t, err)
	m := &machine{state: initialized, make: func(p *sdf.Plugin) (any, error) { return makeSystem(p, anywhere) }}
	of := func(p world.Phase, iteration uint64) *call {
		c := &call{phase: p, fresh: p != world.PreUpdate, number: 1, info: world.Info{Iteration: iteration, Step: 1}, plugin: &sdf.Plugin{Name: "m", Filename: file}}
		var state ecm.Changes
		c.state = state.Append(nil)
		return c
	}
	require.Empty(t, m.call(of(world.Configure, 0)).failed)
	require.NoError(t, os.WriteFile(file, []byte("another one, half built"), 0o600))
	for range 2 {
		_, err = placed[0].Anew()
		require.NoError(t, err)
		require.Empty(t, m.call(of(world.PreUpdate, 1)).failed)
		require.Empty(t, m.call(of(world.Reset, 0)).failed)
	}
}

// Whatever a call says, decoding it takes no more memory than it has bytes, and panics never.
func FuzzCall(f *testing.F) {
	c := call{phase: world.Configure, number: 1, info: world.Info{Step: 1}, plugin: &sdf.Plugin{Name: "p"}, state: []byte{1, 0, 0, 0, 0}}
	b, err := c.encode()
	require.NoError(f, err)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if asked, err := decodeCall(b); err == nil {
			if asked.plugin != nil {
				local(asked.plugin, "there")
			}
			m := &machine{state: initialized, make: func(*sdf.Plugin) (any, error) { return preparer{}, nil }}
			m.call(asked)
		}
		_, _ = decodeReply(b) // must not panic
	})
}

// A gale is a system of another program, with a name that metasim does not know.
type gale struct{ strength float64 }

func (g *gale) Configure(s world.Setup, _ *ecm.View) (err error) {
	g.strength, err = strconv.ParseFloat(s.Plugin.Content[0].Text, 64)
	return err
}

func (g *gale) PreUpdate(_ world.Info, v *ecm.View) error {
	for e := range v.With(world.Velocity) {
		v.Set(e, world.Force, world.PairBytes(spatial.Vector{X: g.strength}, spatial.Vector{}), ecm.Periodic)
	}
	return nil
}

// A program of its own runs a system under a name of its own, which the world need not know; a reset makes it anew. Without such a program that is an error, which
// says what to do.
func TestASystemOfAnotherProgram(t *testing.T) {
	made := func() *sdf.World {
		p := &sdf.Plugin{Name: "mine::Gale", Content: []*sdf.Element{element("strength", "3")}}
		return balls(2, inLockStep(p, element("update_rate", "0")))
	}
	network, calls := networkOf(t, "unix"), 0
	served := part{"gale", nil, func(ctx context.Context, _ *client.Client, _ *catalog.Instance, _ []*client.Publication) error {
		conn, err := network.Dial(ctx)
		if err != nil {
			return err
		}
		return Serve(ctx, "world", "gale", func() any { calls++; return &gale{} }, client.WithConn(conn), client.WithToken(token))
	}}
	var hashes []string
	with := map[string]any{"iterations": 40, "hashes": true, "resets": true, "remote": []string{"gale"}}
	_, err := carryOver(t, network, nil, made(), with, served, agent(20*5*metasim.Millisecond), listener(&hashes))
	require.NoError(t, err)
	require.Len(t, hashes, 40)
	require.Equal(t, hashes[:20], hashes[20:], "from the start again")
	require.Equal(t, 2, calls)
	still, _, err := run(t, balls(2), 20, nil)
	require.NoError(t, err)
	require.NotEqual(t, still, hashes[:20])

	_, _, err = run(t, made(), 1, nil)
	require.ErrorContains(t, err, "there is no system mine::Gale; ")
	require.ErrorContains(t, err, "; if it is a program of your own, start that in a scenario whose world has remote: [gale]")
}
