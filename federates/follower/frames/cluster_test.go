package frames

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
)

// anyNetwork draws a delay for each message: none, or up to half a second. Messages overtake one another.
func anyNetwork(t *rapid.T, most metasim.Time) func(string, string) metasim.Time {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "network"), 0))
	return func(string, string) metasim.Time {
		if most == 0 || r.IntN(3) == 0 {
			return 0
		}
		return metasim.Time(r.Int64N(int64(most)))
	}
}

// Acceptance tests 1, 2 and 6, on every network and with every failure: each frame has one set of data, that of the one
// controller whose epoch was released, and no frame is left out or shown twice. No two controllers compute the same data.
func TestEachFrameHasOneSetOfData(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]metasim.Time{0, 3 * ms, 500 * ms}).Draw(t, "delay")
		cfg := Config{Rate: Rate{60000, 1001}, Frames: rapid.Uint64Range(1, 30).Draw(t, "frames"), Sync: true, Patience: 10 * metasim.Second,
			Bounded: rapid.IntRange(0, 4).Draw(t, "bounded"), Nodes: []string{"a", "b", "c", "d"}}
		if rapid.Bool().Draw(t, "impatient") { // what comes late is fenced
			cfg.Patience = most + 5*ms
		}
		nodes := []*testNode{{name: "b", role: Controller}, {name: "a", role: Understudy}, {name: "d", role: Understudy}, {name: "c"}}
		for _, n := range nodes[:2] {
			n.fails = rapid.Int64Range(-1, 40).Draw(t, "fails")
			n.how = rapid.SampledFrom([]string{"before", "one", "pieces", "after"}).Draw(t, "how")
		}
		nodes[2].fails, nodes[3].fails = -1, -1
		c := newCluster(t, cfg, nodes...)
		c.delay = anyNetwork(t, most)
		if rapid.Bool().Draw(t, "doubles") {
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "which"), 1))
			c.doubles = func() bool { return r.IntN(3) == 0 }
		}
		c.run()
		require.True(t, c.director.Over(), "it comes to an end")
		longest := nodes[0]
		for _, n := range nodes {
			c.agree(n)
			if len(n.frames) > len(longest.frames) {
				longest = n
			}
		}
		for _, n := range nodes {
			// Who died in the frame has shown it or not; a set that was not released is the last that its controller has seen.
			assert.True(t, slices.Equal(longest.frames[:len(n.frames)], n.frames), "node %s", n.name)
		}
		if cfg.Patience == 10*metasim.Second {
			total := c.director.Totals
			assert.Equal(t, cfg.Frames, total.Frames+total.Discarded)
			assert.Zero(t, total.Torn)
			assert.Len(t, nodes[3].frames, int(total.Frames), "a follower that does not fail sees all")
		}
	})
}

func four() []*testNode {
	return []*testNode{{name: "a", role: Controller, fails: -1}, {name: "b", role: Understudy, fails: -1}, {name: "c", fails: -1}, {name: "d", fails: -1}}
}

func config(frames uint64) Config {
	return Config{Rate: Rate{60, 1}, Frames: frames, Sync: true, Patience: metasim.Second}
}

// Acceptance test 9: a reset, and a change of the streams, reach all at one frame; all are told to leave, the controller last.
func TestEverybodyHearsAtTheSameFrame(t *testing.T) {
	cfg := config(20)
	cfg.Reset, cfg.Streams = []uint64{7}, []uint64{0, 9}
	c := newCluster(t, cfg, four()...)
	c.run()
	for _, n := range c.nodes {
		require.Len(t, n.frames, 20, n.name)
		for _, f := range n.frames {
			assert.Equal(t, f.Frame == 7, f.Reset)
			if f.Frame >= 7 {
				assert.Equal(t, f.Tracked-cfg.Rate.Time(7), f.Local)
			}
		}
		require.Len(t, n.errs, 3)
		assert.Equal(t, []error{ErrStreamsChanged, ErrStreamsChanged, ErrQuit}, n.errs)
	}
	assert.Equal(t, []string{"b", "c", "d", "a"}, c.quits)
}

// Acceptance test 5: with a bound, which frames a slow node has no time for is decided once, for all; without one, all are slow.
func TestASlowNode(t *testing.T) {
	nodes := four()
	nodes[3].load = 50 * ms // three frames
	cfg := config(60)
	cfg.Bounded = 2
	c := newCluster(t, cfg, nodes...)
	c.run()
	total := c.director.Totals
	assert.Equal(t, uint64(60), total.Frames+total.Discarded)
	assert.InDelta(t, 20, total.Frames, 3, "a third of them")
	for _, n := range nodes {
		assert.Equal(t, nodes[0].frames, n.frames, n.name)
		assert.Equal(t, nodes[0].data, n.data, n.name)
		var sum metasim.Time
		for _, f := range n.frames {
			sum += f.Delta
		}
		assert.Equal(t, n.frames[len(n.frames)-1].Tracked+cfg.Rate.Time(1), sum, "no time is lost with a discarded frame")
	}
	assert.Less(t, c.now, 1200*ms)

	nodes = four()
	nodes[3].load = 50 * ms
	c = newCluster(t, config(60), nodes...)
	c.run()
	assert.Zero(t, c.director.Totals.Discarded)
	assert.GreaterOrEqual(t, c.now, 60*16*ms)
	for _, n := range nodes {
		assert.Len(t, n.frames, 60)
	}
}

// Acceptance test 7: where nobody is left to take over, all are told to leave, with the reason.
func TestASecondFailureEndsTheCluster(t *testing.T) {
	nodes := four()
	nodes[0].fails, nodes[0].how = 5, "before"
	nodes[1].fails, nodes[1].how = 8, "before"
	c := newCluster(t, config(20), nodes...)
	c.run()
	require.True(t, c.director.Over())
	assert.Equal(t, 1, c.director.Totals.Failovers)
	assert.Equal(t, "controller b did not send for tTracked 133.333333ms (frame 8), and no understudy is left", c.director.Totals.Stopped)
	for _, n := range nodes[2:] {
		assert.Len(t, n.frames, 8)
		quit := new(QuitError)
		require.ErrorAs(t, n.errs[len(n.errs)-1], &quit)
		assert.Equal(t, c.director.Totals.Stopped, quit.Reason)
	}
}

// What a replaced controller sends afterwards changes nothing: it is told to leave, and its data is refused everywhere.
func TestAnOldControllerIsFenced(t *testing.T) {
	nodes := four()
	cfg := config(20)
	cfg.Patience = 40 * ms
	c := newCluster(t, cfg, nodes...)
	c.delay = func(from, _ string) metasim.Time {
		if from == "a" && c.now > 50*ms {
			return 300 * ms // it lives, and nobody hears it in time
		}
		return 0
	}
	c.run()
	assert.Equal(t, 1, c.director.Totals.Failovers)
	for _, n := range nodes[1:] {
		assert.Len(t, n.frames, 20)
		c.agree(n)
		assert.Equal(t, uint64(1), n.Refused, n.name)
	}
	quit := new(QuitError)
	require.ErrorAs(t, nodes[0].errs[0], &quit)
	assert.True(t, quit.Failed)
}

// Acceptance test 10: what comes from outside reaches all nodes in one frame, in one order.
func TestInputsReachAllInOneFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := config(20)
		cfg.Nodes = []string{"a", "b", "c", "d"}
		c := newCluster(t, cfg, four()...)
		c.delay = anyNetwork(t, 30*ms)
		events := rapid.SliceOfN(rapid.Int64Range(int64(40*ms), int64(200*ms)), 1, 10).Draw(t, "events")
		for i, at := range events {
			from := c.nodes[i%4]
			c.mail = append(c.mail, mail{due: metasim.Time(at), from: from.name, to: "director", bytes: from.Input(fmt.Append(nil, "event", i))})
		}
		c.run()
		for _, n := range c.nodes {
			assert.Equal(t, c.nodes[0].inputs, n.inputs)
			assert.Equal(t, c.nodes[0].data, n.data)
		}
		assert.Len(t, c.nodes[0].inputs, len(events), "each once")
	})
}
