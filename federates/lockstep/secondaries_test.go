package lockstep

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"context"
	"metasim/client"
	"metasim/delay"
	"metasim/federates/catalog"
	"metasim/federates/sdf"
	"metasim/metasim"
	"metasim/wire/transport/mem"
)

// secondariesOf are clients that move the models of a world.
func secondariesOf(t *testing.T, n int) (names []string, parts []part) {
	t.Helper()
	for k := range n {
		name := fmt.Sprintf("secondary-%d", k+1)
		in, err := catalog.Make("world-secondary", nil, catalog.Env{Name: name})
		require.NoError(t, err)
		names, parts = append(names, name), append(parts, part{name, in, (&Secondary{}).Run})
	}
	return names, parts
}

// crowd is a world of balls that the wind blows together over a border of two levels, while others are made and taken away. Every third ball is a performer.
func crowd() *sdf.World {
	w := balls(24,
		plugin("Wind", element("velocity", "6 1 0"), element("drag", "0.4")), plugin("Odometer"),
		inLockStep(plugin("Spawner", element("position", "2 0.5 3"), element("velocity", "4 0 0"), element("period", "7"), element("life", "20")), element("update_rate", "0")))
	for i, m := range w.Models[1:] {
		m.Pose.Position.X *= 0.6
		m.Pose.Position.Y *= 0.6
		if i%5 == 0 {
			m.Links[0].Inertial.Mass = 3
		}
	}
	plan := &sdf.Plugin{Name: "gz::sim", Content: []*sdf.Element{
		named("level", "west", element("pose", "0 0 1 0 0 0"), box("4 20 10"), element("buffer", "1")),
		named("level", "east", element("pose", "4 0 1 0 0 0"), box("4 20 10"), element("buffer", "1"), element("ref", "ball023"))}}
	for i := range 8 {
		plan.Content = append(plan.Content, named("performer", fmt.Sprintf("p%d", i), element("ref", fmt.Sprintf("ball%03d", 3*i)), box("1 1 1")))
	}
	w.Plugins = append(w.Plugins, plan)
	return w
}

// However many clients move the models of a world, over every transport, whichever joins first, beside systems in clients of their own and across a reset: the
// states are those of the world alone.
func TestSecondariesHaveTheSameStates(t *testing.T) {
	n := steps(t, 120)
	reset := agent(metasim.Time(n/2) * 5 * metasim.Millisecond)
	with := func(scheme string, secondaries int, remote []string, ahead string) ([]string, worldResult) {
		names, parts := secondariesOf(t, secondaries)
		params := map[string]any{"iterations": n, "hashes": true, "resets": true, "policy": "gz", "run_ahead": ahead}
		if names != nil {
			params["secondaries"] = names
		}
		if remote != nil {
			params["remote"] = remote
			in, err := catalog.Make("lockstep-runtime", nil, catalog.Env{Name: "spawner"})
			require.NoError(t, err)
			parts = append(parts, part{"spawner", in, Runtime})
		}
		var hashes []string
		parts = append(parts, listener(&hashes), reset)
		rand.New(rand.NewPCG(1, uint64(secondaries))).Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		var r worldResult
		result, err := carry(t, networkOf(t, scheme), crowd(), params, parts...)
		require.NoError(t, err)
		readWorldResult(t, result, &r)
		return hashes, r
	}
	want, alone := with("mem", 0, nil, "0s")
	require.Len(t, want, n)
	assert.Len(t, alone.Runners, 1)
	for _, scheme := range []string{"mem", "unix", "tcp", "tls", "quic", "shm"} {
		for _, k := range []int{1, 2, 3, 8} {
			if scheme != "mem" && k != 3 && os.Getenv("METASIM_LOCKSTEP_STEPS") == "" {
				continue
			}
			var remote []string
			if k%2 == 1 {
				remote = []string{"spawner"}
			}
			got, r := with(scheme, k, remote, []string{"0s", "50ms"}[k%2])
			require.Equal(t, want, got, "%d secondaries over %s", k, scheme)
			require.Len(t, r.Runners, k)
			if k > 1 {
				assert.NotZero(t, r.Handovers+r.Merges)
				assert.NotZero(t, r.Splits)
			}
		}
	}
}

// The cross: a world with a camera and two more systems, alone, on two secondaries, with its systems in clients of their own, and both. The states are the same, and so is what the camera shows.
func TestSecondariesBesideRuntimes(t *testing.T) {
	n := steps(t, 40)
	carried := func(secondaries int, remote ...string) (hashes, shown []string) {
		w := watched(0, plugin("Odometer"), inLockStep(plugin("Spawner", element("position", "2 0.5 3"), element("velocity", "4 0 0"), element("period", "7"), element("life", "20")), element("update_rate", "0")))
		names, parts := secondariesOf(t, secondaries)
		params := map[string]any{"iterations": n, "hashes": true, "run_ahead": "50ms"}
		if names != nil {
			params["secondaries"] = names
		}
		topics := []string{"CAMERA"}
		if remote == nil {
			params["topics"] = topics
		} else {
			params["remote"] = remote
		}
		for _, name := range remote {
			with := map[string]any{}
			if name == "sensors" {
				with["topics"] = topics
			}
			in, err := catalog.Make("lockstep-runtime", with, catalog.Env{Name: name})
			require.NoError(t, err)
			parts = append(parts, part{name, in, Runtime})
		}
		_, err := carry(t, networkOf(t, "mem"), w, params, append(parts, listener(&hashes), viewer(&shown))...)
		require.NoError(t, err)
		return hashes, shown
	}
	want, _ := carried(0)
	require.Len(t, want, n)
	var pictures []string
	for _, secondaries := range []int{0, 2} {
		for _, remote := range [][]string{nil, {"sensors", "odometer", "spawner"}} {
			got, shown := carried(secondaries, remote...)
			assert.Equal(t, want, got, "%d secondaries, %v in clients of their own", secondaries, remote)
			for i := range shown { // the instant within a time is another one where a system is further away
				_, shown[i], _ = strings.Cut(shown[i], " ")
			}
			if pictures == nil {
				pictures = shown
			}
			assert.Equal(t, pictures, shown)
		}
	}
	assert.NotEmpty(t, pictures)
}

// Balls that nothing but physics moves are done ahead, over every transport, by a client that may be asked to go back to the start; and the states are the same.
func TestSecondariesGoAhead(t *testing.T) {
	const n = 150
	carried := func(scheme string, secondaries int) (hashes []string, r worldResult) {
		names, parts := secondariesOf(t, secondaries)
		params := map[string]any{"iterations": n, "hashes": true, "resets": true, "run_ahead": "80ms"}
		if names != nil {
			params["secondaries"] = names
		}
		result, err := carry(t, networkOf(t, scheme), balls(20), params, append(parts, listener(&hashes), agent(333*metasim.Millisecond))...)
		require.NoError(t, err)
		readWorldResult(t, result, &r)
		return hashes, r
	}
	want, _ := carried("mem", 0)
	require.Len(t, want, n)
	for _, scheme := range []string{"mem", "unix", "shm", "quic"} {
		got, r := carried(scheme, 2)
		require.Equal(t, want, got, scheme)
		assert.Greater(t, r.RunAheadS, 0.25, "of the 0.417 s since the reset")
	}
}

// Orders and acknowledgements take random times, much longer than a step too, so that the world is late, or come twice: the states are the same, beside a system in a client of its own.
func TestAcknowledgementsThatAreLate(t *testing.T) {
	n := steps(t, 60)
	carried := func(links []delay.Rule, secondaries int) (hashes []string, end metasim.Time) {
		names, parts := secondariesOf(t, secondaries)
		params := map[string]any{"iterations": n, "hashes": true, "policy": "gz", "remote": []string{"spawner"}}
		if names != nil {
			params["secondaries"] = names
		}
		in, err := catalog.Make("lockstep-runtime", nil, catalog.Env{Name: "spawner"})
		require.NoError(t, err)
		result, err := carryOver(t, networkOf(t, "mem"), links, crowd(), params, append(parts, part{"spawner", in, Runtime}, listener(&hashes))...)
		require.NoError(t, err)
		for _, c := range result.Clients {
			if c.Name == "world" {
				end = c.End.Time
			}
		}
		return hashes, end
	}
	want, due := carried(nil, 0)
	require.Len(t, want, n)
	for name, spec := range map[string]delay.Spec{
		"within a step":    {Delay: delay.Uniform{Min: 0, Max: 2 * metasim.Millisecond}},
		"longer than one":  {Delay: delay.Uniform{Min: 0, Max: 20 * metasim.Millisecond}},
		"always of a step": {Delay: delay.Constant(5 * metasim.Millisecond)},
		"some come twice":  {Delay: delay.Uniform{Min: 0, Max: 12 * metasim.Millisecond}, Duplicate: 0.5},
		"all come twice":   {Duplicate: 1},
	} {
		once := spec
		once.Duplicate = 0
		links := []delay.Rule{{From: "secondary-1", To: "world", Spec: spec}, {From: "secondary-2", To: "world", Spec: spec}, {From: "world", To: "secondary-2", Spec: spec},
			{From: "world", To: "spawner", Spec: once}}
		got, end := carried(links, 2)
		assert.Equal(t, want, got, name)
		assert.GreaterOrEqual(t, end, due, name)
	}
}

// The run ends while an acknowledgement is on its way: who reads that knows what to write.
func TestTheRunEndsBeforeAnAcknowledgement(t *testing.T) {
	names, parts := secondariesOf(t, 1)
	links := []delay.Rule{{From: "secondary-1", To: "world", Spec: delay.Spec{Delay: delay.Constant(4 * metasim.Millisecond)}}}
	_, err := carryUntil(t, 12*metasim.Millisecond, mem.NewNet(), links, balls(3), map[string]any{"secondaries": names}, parts...)
	assert.ErrorContains(t, err, "the secondaries [secondary-1] have not acknowledged before the run ends at 12ms; let it end later, or give the world iterations")
}

// What goes wrong with secondaries ends the run, with a sentence that names them.
func TestSecondariesThatFail(t *testing.T) {
	params := func(more map[string]any) map[string]any {
		all := map[string]any{"iterations": 10, "secondaries": []string{"secondary-1"}}
		for k, v := range more {
			all[k] = v
		}
		return all
	}
	_, err := runWith(t, balls(3), params(nil))
	assert.ErrorContains(t, err, "the secondaries [secondary-1] have left, or were never there; add a client of the model world-secondary for each")

	w := balls(3)
	w.Plugins = nil
	_, parts := secondariesOf(t, 1)
	_, err = runWith(t, w, params(nil), parts...)
	assert.ErrorContains(t, err, "the world has no system that moves models here, so its secondaries have nothing to do")

	other := parts[0]
	other.name, other.run = "other", (&Secondary{}).Run
	_, err = runWith(t, balls(3), params(nil), slices.Concat(parts, []part{other})...)
	assert.ErrorContains(t, err, `client "other" acknowledges in the place of the secondary secondary-1`)

	short := parts[0]
	short.run = func(ctx context.Context, c *client.Client, _ *catalog.Instance, out []*client.Publication) error {
		_, err := c.Next(ctx, metasim.Forever)
		if err == nil {
			err = out[0].Publish([]byte("what?"))
		}
		return err
	}
	_, err = runWith(t, balls(3), params(nil), short)
	assert.ErrorContains(t, err, "system physics, in Update of iteration 1: secondary secondary-1: an acknowledgement of 5 bytes is too short")
}

// Of three secondaries one hangs. The error names that one, and neither of those that have acknowledged.
func TestASecondaryThatHangs(t *testing.T) {
	names, parts := secondariesOf(t, 3)
	over := make(chan struct{})
	parts[1].run = func(ctx context.Context, c *client.Client, _ *catalog.Instance, _ []*client.Publication) error {
		if _, err := c.Next(ctx, metasim.Forever); err != nil {
			return err
		}
		<-over
		return nil
	}
	watcher := part{"watcher", &catalog.Instance{Ports: catalog.Ports{Subscriptions: []string{"world/hash"}}}, func(ctx context.Context, c *client.Client, _ *catalog.Instance, _ []*client.Publication) error {
		defer close(over)
		_, err := c.Next(ctx, metasim.Forever) // until the run is over
		return err
	}}
	_, err := runWith(t, balls(3), map[string]any{"iterations": 10, "secondaries": names, "timeout": "2s", "hashes": true}, append(parts, watcher)...)
	require.ErrorContains(t, err, "not all of the 3 secondaries that it asked have acknowledged within 2s of real time, the timeout of the world")
	require.ErrorContains(t, err, `it waited for client "secondary-2", which was at `)
	assert.NotContains(t, err.Error(), "secondary-1")
	assert.NotContains(t, err.Error(), "secondary-3")
}
