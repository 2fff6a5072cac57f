package lockstep

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/bits"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/delay"
	"metasim/federates/catalog"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/all"
	"metasim/wire/transport/mem"
)

// balls is a world of many balls on steps of 5 ms, as lock_step.sdf has it, with these plugins beside physics.
func balls(n int, plugins ...*sdf.Plugin) *sdf.World {
	collision := func(g sdf.Geometry) []*sdf.Collision {
		return []*sdf.Collision{{Name: "c", Pose: spatial.Identity, Geometry: g, Surface: sdf.Surface{Restitution: 1, Friction: 1}}}
	}
	w := &sdf.World{Name: "balls", Gravity: spatial.Vector{Z: -9.8}, Physics: sdf.Physics{Step: 5 * metasim.Millisecond}}
	w.Models = []*sdf.Model{{Name: "ground", Static: true, Pose: spatial.Identity, Links: []*sdf.Link{{Name: "link", Pose: spatial.Identity,
		Collisions: collision(sdf.Geometry{Shape: sdf.Plane, Normal: spatial.Vector{Z: 1}})}}}}
	for i := range n {
		at := spatial.Pose{Position: spatial.Vector{X: float64(i % 10), Y: float64(i / 10), Z: 1 + float64(i)/100}, Rotation: spatial.None}
		w.Models = append(w.Models, &sdf.Model{Name: fmt.Sprintf("ball%03d", i), Pose: at, Links: []*sdf.Link{{Name: "link", Pose: spatial.Identity,
			Inertial:   sdf.Inertial{Mass: 1, Pose: spatial.Identity, IXX: 1, IYY: 1, IZZ: 1},
			Collisions: collision(sdf.Geometry{Shape: sdf.Sphere, Radius: 0.2})}}})
	}
	w.Plugins = append(plugins, &sdf.Plugin{Name: "gz::sim::systems::Physics", Priority: -64})
	return w
}

func element(name, text string) *sdf.Element { return &sdf.Element{Name: name, Text: text} }

func plugin(name string, content ...*sdf.Element) *sdf.Plugin {
	return &sdf.Plugin{Name: "metasim::systems::" + name, Content: content}
}

// inLockStep puts a plugin into a placeholder.
func inLockStep(p *sdf.Plugin, content ...*sdf.Element) *sdf.Plugin {
	inner := &sdf.Element{Name: "plugin", Attributes: []sdf.Attribute{{Name: "name", Value: p.Name}}, Children: p.Content}
	return &sdf.Plugin{Name: placeholder, Priority: p.Priority, Content: append(content, inner)}
}

// A client of a test run.
type part struct {
	name string
	in   *catalog.Instance
	run  func(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error
}

// A network carries a test run: its listener, and how a client connects to it.
type network interface {
	wire.Listener
	Dial(ctx context.Context) (wire.Conn, error)
}

// token lets clients join where others could reach the server.
const token = "sesame"

// sockets is a network of a transport between processes.
type sockets struct{ *transport.Listener }

func (s sockets) Dial(ctx context.Context) (wire.Conn, error) {
	return all.Table().DialAs(ctx, s.URL(), token)
}

func networkOf(t *testing.T, scheme string) network {
	if scheme == "mem" {
		return mem.NewNet()
	}
	l, err := all.Table().Listen(scheme, "")
	require.NoError(t, err)
	return sockets{l}
}

// takePart does what package federates does for a model. A part without an instance does so itself.
func (p part) takePart(ctx context.Context, network network) error {
	if p.in == nil {
		return p.run(ctx, nil, nil, nil)
	}
	b := client.NewBuilder(p.name)
	var out []*client.Publication
	for _, channel := range p.in.Ports.Publications {
		out = append(out, b.Publication(channel))
	}
	for _, pattern := range p.in.Ports.Subscriptions {
		if err := b.Subscribe(pattern, nil); err != nil {
			return err
		}
	}
	conn, err := network.Dial(ctx)
	if err != nil {
		return err
	}
	c, err := b.Complete(ctx, client.WithConn(conn), client.WithToken(token))
	if err != nil {
		return err
	}
	if err := p.run(ctx, c, p.in, out); err != nil {
		return fmt.Errorf("%w", fmt.Errorf("%w (%w)", err, c.Fail(err)))
	}
	return c.Leave(ctx)
}

// A listener takes the hashes of a world.
func listener(hashes *[]string) part {
	in := &catalog.Instance{Ports: catalog.Ports{Subscriptions: []string{"world/hash"}}}
	return part{"listener", in, func(ctx context.Context, c *client.Client, _ *catalog.Instance, _ []*client.Publication) error {
		for {
			messages, err := c.Next(ctx, metasim.Forever)
			if err != nil {
				return nil // the run is over
			}
			for _, m := range messages {
				*hashes = append(*hashes, hex.EncodeToString(m.Payload))
			}
		}
	}}
}

// run runs a world with some systems in clients of their own, over the real server. It returns the hash of each state, and what the
// clients left with.
func run(t *testing.T, w *sdf.World, iterations int, remote []string, more ...part) ([]string, server.Result, error) {
	t.Helper()
	return runOver(t, "mem", w, iterations, remote, more...)
}

// runOver is run over a transport.
func runOver(t *testing.T, scheme string, w *sdf.World, iterations int, remote []string, more ...part) ([]string, server.Result, error) {
	t.Helper()
	with := map[string]any{"iterations": iterations, "hashes": true}
	if slices.ContainsFunc(more, func(p part) bool { return p.name == "agent" }) {
		with["resets"] = true
	}
	if remote != nil {
		with["remote"] = remote
	}
	for _, name := range remote {
		if slices.ContainsFunc(more, func(p part) bool { return p.name == name }) {
			continue
		}
		in, err := catalog.Make("lockstep-runtime", nil, catalog.Env{Name: name})
		require.NoError(t, err)
		more = append(more, part{name, in, Runtime})
	}
	var hashes []string
	result, err := carry(t, networkOf(t, scheme), w, with, append(more, listener(&hashes))...)
	return hashes, result, err
}

// runWith runs a world with these parameters, and other clients.
func runWith(t *testing.T, w *sdf.World, with map[string]any, more ...part) (server.Result, error) {
	t.Helper()
	return carry(t, mem.NewNet(), w, with, more...)
}

// carry is runWith over a network, which it closes.
func carry(t *testing.T, network network, w *sdf.World, with map[string]any, more ...part) (server.Result, error) {
	t.Helper()
	return carryOver(t, network, nil, w, with, more...)
}

// carryOver is carry over links with delays.
func carryOver(t *testing.T, network network, links []delay.Rule, w *sdf.World, with map[string]any, more ...part) (server.Result, error) {
	t.Helper()
	return carryUntil(t, 0, network, links, w, with, more...)
}

// carryUntil is carryOver with an end of the run; 0: it has none.
func carryUntil(t *testing.T, until metasim.Time, network network, links []delay.Rule, w *sdf.World, with map[string]any, more ...part) (server.Result, error) {
	t.Helper()
	with["file"] = "w.sdf"
	in, err := catalog.Make("world", with, catalog.Env{Name: "world", Seed: 7})
	require.NoError(t, err)
	parts := append(more, part{"world", in,
		func(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
			return runWorld(ctx, c, w, in, out)
		}})
	table, err := delay.NewTable(7, links)
	require.NoError(t, err)
	core := metasim.Config{Delays: table}
	expendable := map[string]bool{}
	if names, degrades := with["degrade"].([]string); degrades {
		for _, name := range names {
			expendable[name] = true
		}
	}
	if until > 0 {
		core.Until = until
	}
	for _, p := range parts {
		core.Clients = append(core.Clients, p.name)
	}
	srv, err := server.New(server.Config{Core: core, Scenario: "test", Token: token, Detach: expendable})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(10+steps(t, 0)/50)*time.Minute)
	defer cancel()
	var clients sync.WaitGroup
	clients.Go(func() { _ = srv.Accept(network) }) // ends with the network
	errs := make([]error, len(parts))
	for i, p := range parts {
		clients.Go(func() { errs[i] = p.takePart(ctx, network) })
	}
	err = srv.Serve(ctx)
	require.NoError(t, network.Close())
	clients.Wait()
	if err == nil {
		for i, e := range errs {
			if !expendable[parts[i].name] {
				require.NoError(t, e)
			}
		}
	}
	return srv.Result(), err
}

// steps is how many steps a test takes: METASIM_LOCKSTEP_STEPS asks for more.
func steps(t *testing.T, otherwise int) int {
	if text := os.Getenv("METASIM_LOCKSTEP_STEPS"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		return n
	}
	return otherwise
}

// The heart: where the systems of a world run changes no bit of any state. All subsets of four systems: stateful and stateless ones, of
// several priorities and rates, that create and remove entities and overwrite each other. Over mem all subsets, elsewhere three of them;
// with METASIM_LOCKSTEP_STEPS all; with METASIM_LOCKSTEP_FULL only the one with all systems.
func TestEverySubsetInRuntimesHasTheSameStates(t *testing.T) {
	n := steps(t, 70)
	made := func() *sdf.World {
		early := plugin("Wind", element("velocity", "3 1 0"), element("drag", "0.2"))
		early.Priority = -10
		return balls(min(n, 100),
			inLockStep(early, element("update_rate", "0")),
			inLockStep(plugin("Odometer"), element("update_rate", "60")),
			inLockStep(plugin("Spawner", element("position", "0 0 3"), element("velocity", "1 0 0"), element("period", "7"), element("life", "20")),
				element("update_rate", "0")),
			inLockStep(plugin("Wind", element("velocity", "0 -2 0")), element("update_rate", "30"), element("update_law", "exact")))
	}
	names := []string{"wind", "odometer", "spawner", "wind-2"}
	want, _, err := run(t, made(), n, nil)
	require.NoError(t, err)
	require.Len(t, want, n)
	different := map[string]bool{}
	for _, h := range want {
		different[h[16:]] = true
	}
	require.Len(t, different, n, "the states change")
	for _, scheme := range []string{"mem", "unix", "tcp", "tls", "quic", "shm"} {
		t.Run(scheme, func(t *testing.T) {
			for subset := range 1 << len(names) {
				if os.Getenv("METASIM_LOCKSTEP_FULL") != "" && subset != 1<<len(names)-1 {
					continue
				}
				if os.Getenv("METASIM_LOCKSTEP_STEPS") == "" && scheme != "mem" && !slices.Contains([]int{0b0101, 0b1010, 0b1111}, subset) {
					continue // all of them take five times as long
				}
				var remote []string
				for i, name := range names {
					if subset>>i&1 == 1 {
						remote = append(remote, name)
					}
				}
				began := time.Now()
				got, result, err := runOver(t, scheme, made(), n, remote)
				require.NoError(t, err)
				t.Logf("%d steps in %v: %v", n, time.Since(began).Round(time.Millisecond), remote)
				require.Equal(t, want, got, "in clients of their own, over %s: %v", scheme, remote)
				assert.Len(t, result.Clients, 2+bits.OnesCount(uint(subset)))
			}
		})
	}
}

// agent asks for a reset at some times, as a program that learns by trial does.
func agent(at ...metasim.Time) part {
	in := &catalog.Instance{Ports: catalog.Ports{Publications: []string{"world/reset"}}}
	return part{"agent", in, func(ctx context.Context, c *client.Client, _ *catalog.Instance, out []*client.Publication) error {
		for _, t := range at {
			if _, err := c.Step(ctx, t); err != nil {
				return err
			}
			if err := out[0].Publish([]byte("once more")); err != nil {
				return err
			}
		}
		return nil
	}}
}

// After a reset a world does what it did after its start, to the last bit, wherever its systems run: one that is called seldom, one that creates entities, one that remembers.
func TestAResetIsAFreshStartForRuntimesToo(t *testing.T) {
	made := func() *sdf.World {
		return balls(9,
			inLockStep(plugin("Odometer"), element("update_rate", "60")),
			inLockStep(plugin("Spawner", element("position", "0 0 3"), element("period", "7"), element("life", "20")), element("update_rate", "0")),
			inLockStep(plugin("Wind", element("velocity", "0 -2 0")), element("update_rate", "10")))
	}
	names := []string{"odometer", "spawner", "wind"}
	fresh, _, err := run(t, made(), 40, nil)
	require.NoError(t, err)
	want := slices.Concat(fresh[:25], fresh[:6], fresh[:9])
	for _, remote := range [][]string{nil, names, names[:1], names[1:2], names[2:], names[1:]} {
		got, _, err := run(t, made(), 40, remote, agent(125*metasim.Millisecond, 155*metasim.Millisecond))
		require.NoError(t, err)
		require.Equal(t, want, got, "in clients of their own: %v", remote)
	}
}
