package lockstep

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/delay"
	"metasim/federates/catalog"
	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
	"metasim/federates/world"
	"metasim/metasim"
)

// watched is a world with a camera, which is seen by a system that the world may be so many steps ahead of.
func watched(behind int, plugins ...*sdf.Plugin) *sdf.World {
	seeing := inLockStep(&sdf.Plugin{Name: "gz::sim::systems::Sensors"}, element("update_rate", "100"), element("metasim:behind", fmt.Sprint(behind)))
	w := balls(9, append(plugins, seeing)...)
	w.Models = append(w.Models, &sdf.Model{Name: "eye", Static: true, Pose: spatial.Pose{Position: spatial.Vector{X: -8, Z: 3}, Rotation: spatial.None},
		Links: []*sdf.Link{{Name: "link", Pose: spatial.Identity, Sensors: []*sdf.Sensor{{Name: "camera", Type: "camera", Pose: spatial.Identity, UpdateRate: 50, Topic: "CAMERA",
			Camera: &sdf.Camera{Pose: spatial.Identity, HorizontalFOV: 1, Width: 16, Height: 10, Near: 0.1, Far: 100}}}}}})
	return w
}

// delayed returns the links on which a system may be so many steps behind.
func delayed(from string, behind int) []delay.Rule {
	return []delay.Rule{{From: from, To: "world", Spec: delay.Spec{Delay: delay.Constant(travel(behind, 5*metasim.Millisecond))}}}
}

// A viewer notes what it is shown, and when.
func viewer(shown *[]string) part {
	in := &catalog.Instance{Ports: catalog.Ports{Subscriptions: []string{"CAMERA"}}}
	return part{"viewer", in, func(ctx context.Context, c *client.Client, _ *catalog.Instance, _ []*client.Publication) error {
		for {
			messages, err := c.Next(ctx, metasim.Forever)
			for _, m := range messages {
				*shown = append(*shown, fmt.Sprintf("%v %x", m.Due, m.Payload))
			}
			if err != nil {
				return nil // the run is over
			}
		}
	}}
}

// seen runs a watched world with its camera in a client of its own, and returns the hash of each state and what the camera showed.
func seen(t *testing.T, behind int, with map[string]any, more ...part) (hashes, shown []string) {
	t.Helper()
	with = maps.Clone(with)
	with["hashes"], with["remote"] = true, []string{"sensors", "odometer"}
	for name, topics := range map[string][]string{"sensors": {"CAMERA"}, "odometer": nil} {
		given := map[string]any{}
		if topics != nil {
			given["topics"] = topics
		}
		in, err := catalog.Make("lockstep-runtime", given, catalog.Env{Name: name})
		require.NoError(t, err)
		more = append(more, part{name, in, Runtime})
	}
	var links []delay.Rule
	if behind > 0 {
		links = delayed("sensors", behind)
	}
	w := watched(behind, inLockStep(plugin("Odometer"), element("update_rate", "60")))
	_, err := carryOver(t, networkOf(t, "mem"), links, w, with, append(more, listener(&hashes), viewer(&shown))...)
	require.NoError(t, err)
	return hashes, shown
}

// The states of a world that is ahead of its camera are those of the lock step, and so are the pictures and the instants at which they are shown, also after a
// reset.
func TestAWorldAheadOfItsCamera(t *testing.T) {
	for _, c := range []struct {
		with map[string]any
		more []part
	}{
		{map[string]any{"iterations": 40}, nil},
		{map[string]any{"iterations": 40, "resets": true}, []part{agent(60*metasim.Millisecond, 105*metasim.Millisecond)}},
	} {
		states, pictures := seen(t, 0, c.with, c.more...)
		require.Len(t, states, 40)
		require.GreaterOrEqual(t, len(pictures), 10)
		for _, behind := range []int{1, 7, 60} {
			s, p := seen(t, behind, c.with, c.more...)
			require.Equal(t, states, s, "%d steps", behind)
			require.Equal(t, pictures, p, "%d steps", behind)
		}
	}
}

// slow returns a runtime of the camera that answers each call when the world has made so many steps more, of those that it is to make.
func slow(t *testing.T, behind, iterations int, made <-chan uint64, most *uint64) part {
	return stands(t, func(ctx context.Context, c *client.Client, out *client.Publication) error {
		last := uint64(0)
		for {
			messages, err := c.Next(ctx, metasim.Forever)
			if err != nil {
				return nil // the run is over
			}
			for _, m := range messages {
				asked, err := decodeCall(m.Payload)
				if err != nil {
					return err
				}
				for want := min(asked.info.Iteration+uint64(behind), uint64(iterations)); asked.phase == world.PostUpdate && last < want; {
					select {
					case last = <-made:
						*most = max(*most, last-asked.info.Iteration)
					case <-ctx.Done():
						return fmt.Errorf("the world is at %d, and waits for the reply to %d", last, asked.info.Iteration)
					}
				}
				b, err := (&reply{phase: asked.phase, phases: 1<<world.Configure | 1<<world.PostUpdate}).encode()
				if err != nil {
					return err
				}
				if err := out.PublishOwned(b); err != nil {
					return err
				}
			}
		}
	})
}

// The world goes on while the camera is at work: so many steps, and no more.
func TestTheWorldIsAheadByTheDeclaredSteps(t *testing.T) {
	const behind, iterations = 4, 30
	made, most := make(chan uint64, iterations), uint64(0)
	in := &catalog.Instance{Ports: catalog.Ports{Subscriptions: []string{"world/hash"}}}
	counter := part{"counter", in, func(ctx context.Context, c *client.Client, _ *catalog.Instance, _ []*client.Publication) error {
		for {
			messages, err := c.Next(ctx, metasim.Forever)
			for _, m := range messages {
				made <- binary.LittleEndian.Uint64(m.Payload)
			}
			if err != nil {
				return nil // the run is over
			}
		}
	}}
	w := watched(behind)
	w.Plugins[0].Content[0] = element("update_rate", "0")
	_, err := carryOver(t, networkOf(t, "mem"), delayed("sensors", behind), w, map[string]any{"iterations": iterations, "hashes": true, "remote": []string{"sensors"}},
		slow(t, behind, iterations, made, &most), counter)
	require.NoError(t, err)
	assert.EqualValues(t, behind, most, "steps that the world was ahead")
}

// What is wrong with a system that is behind ends the run with its own sentence.
func TestMistakesOfSystemsThatAreBehind(t *testing.T) {
	phases := uint8(1<<world.Configure | 1<<world.PostUpdate)
	wrote := ecm.Changes{Counters: []ecm.Counter{{Writer: 1, Count: 1}}}
	good := reply{phases: phases}
	post := reply{phase: world.PostUpdate}
	for _, c := range []struct {
		links   []delay.Rule
		with    map[string]any
		replies []reply
		want    string
	}{
		{nil, nil, []reply{good}, "the world may be 2 steps of 5ms ahead of system sensors, and the replies of client sensors travel 0s; write a link for them: {from: sensors, to: world, delay: 15ms}"},
		{delayed("sensors", 2), nil, []reply{{phases: phases | 1<<world.Update}},
			"system sensors, in Configure: its runtime takes part in the phases Configure, Update, PostUpdate, and here it takes part in Configure, PostUpdate; run the same metasim on both"},
		{delayed("sensors", 2), nil, []reply{{phases: phases, changes: wrote}}, "system sensors, in Configure: it wrote, and the world was ahead of it; take <metasim:behind> out"},
		{delayed("sensors", 2), nil, []reply{good, {phase: world.PostUpdate, failed: "has no film"}}, "system sensors, in PostUpdate of iteration 2: has no film"},
		{delayed("sensors", 2), nil, []reply{good, post, {phase: world.Update}}, "system sensors, in PostUpdate of iteration 4: its runtime replied to Update, and was asked for PostUpdate"},
		{delayed("sensors", 2), nil, []reply{good}, "the client of system sensors has left, and the world goes on"},
		{delayed("sensors", 2), nil, nil, "system sensors has no runtime: nobody has replied to the world"},
	} {
		liar := stands(t, func(ctx context.Context, cl *client.Client, out *client.Publication) error {
			for _, r := range c.replies {
				if _, err := cl.Next(ctx, metasim.Forever); err != nil {
					return nil // the run is over
				}
				b, err := r.encode()
				if err != nil {
					return err
				}
				if err := out.PublishOwned(b); err != nil {
					return err
				}
			}
			return nil
		})
		_, err := carryOver(t, networkOf(t, "mem"), c.links, watched(2), map[string]any{"iterations": 20, "remote": []string{"sensors"}}, liar)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, `client "world"`)
	}
	_, err := systemsOf(watched(1, inLockStep(plugin("Wind"), element("metasim:behind", "3"))), nil, anywhere)
	require.EqualError(t, err, ":0: <metasim:behind> is for systems that only read, in PostUpdate, and metasim::systems::Wind takes part in Configure, PreUpdate; take it out")
	_, err = systemsOf(watched(-1), nil, anywhere)
	require.EqualError(t, err, `:0: <metasim:behind> is "-1"; write how many steps the world may be ahead, from 1 to 1000, or 0 for none`)
}

// stands returns a client that does what f does in the place of the runtime of the camera.
func stands(t *testing.T, f func(ctx context.Context, c *client.Client, out *client.Publication) error) part {
	in, err := catalog.Make("lockstep-runtime", nil, catalog.Env{Name: "sensors"})
	require.NoError(t, err)
	return part{"sensors", in, func(ctx context.Context, c *client.Client, _ *catalog.Instance, out []*client.Publication) error {
		return f(ctx, c, out[0])
	}}
}

// A system that fails while the world is ahead of it fails the run itself: the run may end before the world hears of it.
func TestASystemThatFailsBehindTheWorld(t *testing.T) {
	fails := stands(t, func(ctx context.Context, c *client.Client, out *client.Publication) error {
		m := &machine{state: initialized, make: func(*sdf.Plugin) (any, error) { return reader{}, nil }}
		r := &runtime{machine: m, system: "sensors", client: c, replies: out}
		for {
			messages, err := c.Next(ctx, metasim.Forever)
			if err != nil {
				return err
			}
			for _, m := range messages {
				if err := r.reply(m); err != nil {
					return err
				}
			}
		}
	})
	_, err := carryOver(t, networkOf(t, "mem"), delayed("sensors", 900), watched(900), map[string]any{"iterations": 20, "remote": []string{"sensors"}}, fails)
	require.ErrorContains(t, err, `client "sensors"`)
	require.ErrorContains(t, err, "system sensors, in PostUpdate of iteration 2: it writes where it may only read")
}
