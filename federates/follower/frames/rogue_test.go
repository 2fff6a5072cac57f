package frames

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// roguish is what a controller may do that breaks the rules, with what is said of it.
var roguish = map[string]string{
	"twice": `client "a" sent the data of frame 7 twice; send once in a frame`,
	"sizes": `client "a" announced 8 bytes for frame 7, and sent others; it may be another program`,
	"junk":  `client "a" sent what is no message of followers; check what is published on its channel`,
	"ahead": `client "a" sent data for frame 2023, and 1024 frames before it were not asked for; is it a client of another run?`,
}

// spoil makes what a controller sends in a frame break the rules.
func spoil(how string, pieces [][]byte) [][]byte {
	last := len(pieces) - 1
	switch how {
	case "twice":
		again := bytes.Clone(pieces[1])
		again[len(again)-1]++
		return append(pieces, again)
	case "sizes":
		return append(pieces[:last:last], pieces[last][:len(pieces[last])-1])
	case "junk":
		return append([][]byte{{byte(kindData)}}, pieces[:last]...)
	}
	for i := range uint64(maxAhead + 1) {
		pieces = append(pieces, encoded(&piece{frame: 1000 + i, epoch: 1, parts: 1}))
	}
	return pieces
}

// A controller that breaks the rules is failed itself: at once, and nobody waits for as long as the director is patient. An understudy computes the frame, and no other node
// misses one.
func TestARogueControllerIsReplaced(t *testing.T) {
	for how, why := range roguish {
		t.Run(how, func(t *testing.T) {
			nodes := four()
			nodes[0].fails, nodes[0].how = 7, how
			c := newCluster(t, config(20), nodes...)
			c.run()
			replaced(t, c, why)
			assert.Less(t, c.now, metasim.Second)
		})
	}
}

// replaced fails the test unless the controller of a cluster of four was failed for this reason in frame 7 of 20, an understudy has computed that frame and all after it, and no other
// node misses one.
func replaced(t *testing.T, c *cluster, why string) {
	t.Helper()
	require.True(t, c.director.Over())
	totals := c.director.Totals
	assert.Equal(t, []string{why}, totals.Failed)
	assert.Equal(t, 1, totals.Failovers)
	assert.EqualValues(t, 20, totals.Frames)
	assert.Zero(t, totals.Torn+totals.Missing+totals.Late)
	for _, n := range c.nodes[1:] {
		c.agree(n)
		assert.Len(t, n.frames, 20, n.name)
	}
	assert.Equal(t, 13, c.nodes[1].leads, "from that frame on")
	quit := new(QuitError)
	require.ErrorAs(t, c.nodes[0].errs[len(c.nodes[0].errs)-1], &quit)
	assert.Equal(t, why+"; the others go on without it", quit.Reason)
	assert.True(t, quit.Failed)
}

// On links with delays some nodes may have shown the frame before others meet what is wrong. Then it is missing at these, and nobody stands still either.
func TestARogueControllerOnLinksWithDelays(t *testing.T) {
	for how := range roguish {
		for seed := range uint64(20) {
			t.Run(fmt.Sprint(how, " ", seed), func(t *testing.T) {
				draw := rand.New(rand.NewPCG(seed, 9))
				nodes := four()
				nodes[0].fails, nodes[0].how = 7, how
				cfg := config(20)
				cfg.Patience, cfg.Nodes = 1000*metasim.Second, []string{"a", "b", "c", "d"}
				c := newCluster(t, cfg, nodes...)
				c.delay = func(string, string) metasim.Time { return metasim.Time(draw.Int64N(int64(50 * ms))) }
				c.run()
				require.True(t, c.director.Over())
				assert.Equal(t, 1, c.director.Totals.Failovers)
				assert.Less(t, c.now, 100*metasim.Second, "nobody has waited for the director's patience")
				for _, n := range nodes[1:] {
					missing := 0
					for _, err := range n.errs {
						if _, ok := err.(*MissingError); ok {
							missing++
						}
					}
					assert.Equal(t, 20, len(n.frames)+missing, n.name)
					assert.LessOrEqual(t, missing, 1, n.name)
				}
			})
		}
	}
}

// What a follower, or a client that is no node, publishes in the place of data harms nobody: the first is told to leave, and the second is named in the outcome.
func TestRoguesThatControlNothing(t *testing.T) {
	d := asked(t)
	for _, rogue := range []string{"c", "stranger", "stranger"} {
		n := NewNode("b", 100)
		bad := n.Data(rogue, []byte{byte(kindData)})
		peer := new(PeerError)
		require.ErrorAs(t, bad, &peer)
		require.NoError(t, d.Reply("b", n.Charge(peer)))
		assert.Nil(t, n.Charge(peer), "once")
		require.NoError(t, n.Data(rogue, encoded(&piece{epoch: 1, parts: 1})))
		assert.EqualValues(t, 1, n.Refused, "its data counts for nothing")
	}
	orders, err := d.Tick(20 * ms)
	require.NoError(t, err)
	assert.Equal(t, []kind{kindQuit}, kinds(orders))
	assert.Equal(t, 0, d.Totals.Failovers)
	const junk = "sent what is no message of followers; check what is published on its channel"
	assert.Equal(t, []string{`client "stranger" ` + junk, `client "c" ` + junk}, d.Totals.Failed)
}

// A node that invents charges is failed, and the director does not keep them all.
func TestWhoInventsChargesIsFailed(t *testing.T) {
	for _, c := range []struct{ charges, size int }{{maxCharges, 10}, {0, maxSentence}} {
		d := asked(t)
		bring := func(i, size int) error {
			return d.Reply("c", (&charge{fmt.Sprint("x", i), strings.Repeat("y", size)}).encode())
		}
		for i := range c.charges {
			require.NoError(t, bring(i, c.size))
		}
		peer := new(PeerError)
		require.ErrorAs(t, bring(c.charges, c.size), &peer)
		assert.Equal(t, `client "c" charged more than 1024 clients, or in more than 4096 bytes; a node charges a client once`, peer.Error())
		assert.Len(t, d.charges, c.charges)
	}
}
