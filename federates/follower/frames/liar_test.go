package frames

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// What a controller may do whose notice says that it has sent the data of a frame: it has sent nothing, that of an older frame or epoch, a part of it, or sends it later.
var lies = []string{"nothing", "older", "epoch", "part", "later"}

func liar(how string) bool { return slices.Contains(lies, how) }

// lie returns the pieces that a lying controller sends at once. It has announced all of them.
func (n *testNode) lie(c *cluster, pieces [][]byte) [][]byte {
	switch n.how {
	case "part":
		return pieces[:len(pieces)-1]
	case "older", "epoch":
		for _, p := range pieces {
			p[map[string]int{"older": 2, "epoch": 10}[n.how]]-- // of the frame's number, or of the epoch's
		}
		return pieces
	case "later":
		for _, p := range pieces {
			for _, to := range c.nodes {
				if to.role != Controller && to != n {
					c.postAt(c.now+n.later, n.name, to.name, bytes.Clone(p))
				}
			}
		}
	}
	return nil
}

// A controller that says that it has sent, and has not, is failed itself, after the director's patience. An understudy computes the frame, and no other node misses one.
func TestAControllerThatLiesIsReplaced(t *testing.T) {
	for _, how := range lies {
		t.Run(how, func(t *testing.T) {
			nodes := four()
			nodes[0].fails, nodes[0].how, nodes[0].later = 7, how, metasim.Second+ms
			c := newCluster(t, config(20), nodes...)
			c.delay = func(string, string) metasim.Time { return 0 }
			c.run()
			replaced(t, c, "controller a said that it has sent for tTracked 116.666667ms (frame 7), and no node has got all of it within 1s; send what is announced, or raise the patience if links are slow")
			assert.Less(t, c.now, 1500*ms, "nobody stands still for longer than the director is patient")
		})
	}
}

// Data that comes within the patience is in time, however late it is. The director asks only where no node has shown the frame.
func TestLateDataIsInTime(t *testing.T) {
	nodes := four()
	nodes[0].fails, nodes[0].how, nodes[0].later = 7, "later", metasim.Second-ms
	c := newCluster(t, config(20), nodes...)
	c.delay = func(string, string) metasim.Time { return 0 }
	c.run()
	assert.Empty(t, c.director.Totals.Failed)
	for _, n := range nodes[1:] {
		c.agree(n)
		assert.Len(t, n.frames, 20, n.name)
	}
}

// On any network, and where frames are on their way together, a liar never makes two nodes show different data of a frame, and the cluster goes on to the end. The patience is shorter
// than some messages take, so that answers come too late.
func TestALiarOnAnyNetwork(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			draw := rand.New(rand.NewPCG(seed, 23))
			nodes := four()
			nodes[2].role = Understudy
			nodes[0].fails, nodes[0].how, nodes[0].later = draw.Int64N(18), lies[draw.IntN(len(lies))], metasim.Time(draw.Int64N(int64(350*ms)))
			for _, n := range nodes {
				n.load = metasim.Time(draw.Int64N(3)) * 7 * ms
			}
			cfg := Config{Rate: Rate{60, 1}, Frames: 20, Sync: true, Patience: 100 * ms, Bounded: draw.IntN(4), Nodes: []string{"a", "b", "c", "d"}}
			most := []metasim.Time{ms, 30 * ms, 60 * ms, 250 * ms}[draw.IntN(4)]
			c := newCluster(t, cfg, nodes...)
			c.delay = func(string, string) metasim.Time { return metasim.Time(draw.Int64N(int64(most))) }
			c.run()
			require.True(t, c.director.Over())
			assert.Less(t, c.now, 10*metasim.Second)
			for _, n := range nodes {
				quit := new(QuitError)
				if last := len(n.errs) - 1; last >= 0 && errors.As(n.errs[last], &quit) && quit.Failed {
					continue // what it has shown does not count
				}
				c.agree(n)
			}
		})
	}
}

// Data that came so late that one node has shown it, and another one has said that it lacks it, is the controller's fault: the frame is over, and who lacks it misses it. Who answers nothing
// is failed, and a charge or a lack of a frame that is over changes nothing.
func TestALackThatOthersHaveNot(t *testing.T) {
	d := asked(t)
	d.cfg.Frames = 2
	tick := func(now metasim.Time, want ...kind) [][]byte {
		orders, err := d.Tick(now)
		require.NoError(t, err)
		require.Equal(t, want, kinds(orders))
		return orders
	}
	reply := func(from string, m interface{ encode() []byte }) { require.NoError(t, d.Reply(from, m.encode())) }
	reply("a", &sent{frame: 0, epoch: 1})
	reply("a", &sent{frame: 1, epoch: 1})
	tick(20*ms, kindRelease, kindRelease)
	reply("a", &Frame{})
	reply("c", &lack{0, 1})
	assert.Equal(t, 120*ms, d.Wake())
	tick(120*ms, kindCall, kindCall)
	reply("b", &Frame{})
	reply("c", &lack{0, 1})
	reply("c", &lack{7, 1})
	reply("b", &lack{0, 1})
	assert.Equal(t, 220*ms, d.Wake(), "nobody has answered for frame 1")
	over := tick(121*ms, kindQuit, kindRequest, kindRelease)
	assert.Equal(t, []string{"controller a said that it has sent for tTracked 0s (frame 0), and not all nodes have got all of it within 101ms; send what is announced, or raise the patience if links are slow"}, d.Totals.Failed)
	assert.Equal(t, map[uint64]string{0: "a2"}, requests(t, over), "nobody computes it again")
	assert.Equal(t, (&release{0, 2, true}).encode(), over[2])
	assert.EqualValues(t, 1, d.Totals.Missing)
	tick(221*ms, kindQuit, kindQuit)
	assert.Equal(t, []string{"node b did not send frame 1 back within 200ms", "node c did not send frame 1 back within 200ms"}, d.Totals.Failed[1:], "both are silent")
}

// A charge takes no data from a node that has shown it: the others are asked, and the frame is asked for again only where none has. On links with delays one node may have shown what another charges.
func TestAChargeAsksFirst(t *testing.T) {
	for _, shown := range []bool{false, true} {
		d := asked(t)
		d.cfg.Frames = 2
		reply := func(from string, m interface{ encode() []byte }) { require.NoError(t, d.Reply(from, m.encode())) }
		tick := func(now metasim.Time, want ...kind) [][]byte {
			orders, err := d.Tick(now)
			require.NoError(t, err)
			require.Equal(t, want, kinds(orders))
			return orders
		}
		reply("a", &sent{frame: 0, epoch: 1})
		tick(20*ms, kindRelease)
		reply("c", &charge{"a", "a has sent twice"})
		assert.Equal(t, map[uint64]string{1: "b2"}, requests(t, tick(30*ms, kindCall, kindQuit, kindRequest)), "that was not released")
		reply("c", &lack{0, 1})
		tick(40 * ms)
		if shown {
			reply("b", &Frame{})
			over := tick(50*ms, kindRequest, kindRelease)
			assert.Equal(t, map[uint64]string{0: "a2"}, requests(t, over), "b is the controller now, and computes nothing")
			assert.Equal(t, (&release{0, 2, true}).encode(), over[1])
			assert.EqualValues(t, 1, d.Totals.Missing)
		} else {
			reply("b", &lack{0, 1})
			assert.Equal(t, map[uint64]string{0: "b2"}, requests(t, tick(50*ms, kindRequest)))
		}
		assert.Equal(t, []string{"a has sent twice"}, d.Totals.Failed)
	}
}

// A node that does not answer may have shown the data that another one lacks. It is failed, so that no two nodes of the cluster have shown different data of a frame.
func TestWhoDoesNotAnswerIsFailedToo(t *testing.T) {
	d := asked(t)
	d.cfg.Frames = 2
	require.NoError(t, d.Reply("a", (&sent{frame: 0, epoch: 1}).encode()))
	require.NoError(t, d.Reply("a", (&sent{frame: 1, epoch: 1}).encode()))
	for _, now := range []metasim.Time{20 * ms, 120 * ms} {
		_, err := d.Tick(now)
		require.NoError(t, err)
	}
	require.NoError(t, d.Reply("c", (&lack{0, 1}).encode()))
	orders, err := d.Tick(d.Wake())
	require.NoError(t, err)
	assert.Equal(t, map[uint64]string{0: "c2", 1: "c2"}, requests(t, orders))
	assert.Equal(t, []string{"node b did not send frame 0 back within 200ms", "controller a said that it has sent for tTracked 0s (frame 0), and no node has got all of it within 200ms; " +
		"send what is announced, or raise the patience if links are slow"}, d.Totals.Failed)
}

// calls writes stories of frames that are released, and whose data does not come.
func calls(t *testing.T, to *strings.Builder, node string) {
	ask := func(frame uint64, epoch uint32) string { return orders(&call{frame, epoch}) }
	again := orders(&request{epoch: 2, previous: -1, sync: true, controller: "lead", data: FrameData{Rate: Rate{60, 1}}})
	first := brings("liar", piece{epoch: 1, parts: 2, size: 3, bytes: []byte("ab")})
	second := brings("liar", piece{epoch: 1, part: 1, parts: 2, size: 3, bytes: []byte("c")})
	whole := brings("lead", piece{epoch: 2, parts: 1, size: 2, bytes: []byte("ab")})
	write(t, to, "data that was announced and does not come", node, asks("liar", true, 0), first, orders(&release{0, 1, false}), "next", ask(0, 1), "next", "next", ask(0, 1), second, "next",
		again, orders(&release{0, 2, false}), "next", whole, "next", "receive", ask(0, 2), "next", "refused")
	write(t, to, "data that comes when it is asked for", node, asks("liar", true, 0), first, orders(&release{0, 1, false}), ask(0, 1), second, "next", "receive")
	write(t, to, "data of another epoch is asked for", node, asks("liar", true, 0), first, orders(&release{0, 1, false}), ask(0, 7), "next", second, "next", "receive")
	write(t, to, "no data in the older pair", node, "follow 1", asks("liar", true, 0), "hear", ask(0, 1), "hear", orders(&release{0, 1, false}), "hear", "hear", "begin 0", again,
		orders(&release{0, 2, false}), whole, ask(0, 2), "hear", "begin 0")
	write(t, to, "a frame without data is not asked for", node, "follow 1", asks("liar", true, 0), orders(&release{0, 1, true}), ask(0, 1), "hear", "begin 0")
	write(t, to, "an understudy lacks what it computes itself then", node, asks("liar", true, 0), orders(&release{0, 1, false}), ask(0, 1), "next",
		orders(&request{epoch: 2, previous: -1, sync: true, controller: "me", data: FrameData{Rate: Rate{60, 1}}}), "next")
	of := func(frame uint64, epoch uint32) string {
		return orders(&request{epoch: epoch, previous: int64(frame) - 1, sync: true, controller: "lead", data: FrameData{Frame: frame, Rate: Rate{60, 1}}})
	}
	data := func(from string, frame uint64, epoch uint32) string {
		return brings(from, piece{frame: frame, epoch: epoch, parts: 1, size: 1, bytes: []byte{byte(epoch)}})
	}
	write(t, to, "messages of the director that overtake one another", node, asks("liar", true, 0), of(0, 2), orders(&release{0, 2, false}), orders(&release{0, 1, true}), ask(0, 2), ask(0, 1), "next",
		of(0, 3), orders(&release{0, 3, false}), data("lead", 0, 3), "next", "receive")
	write(t, to, "a frame that was withdrawn with the one before it", node, asks("liar", true, 0), asks("liar", true, 1), data("liar", 1, 1), orders(&release{0, 1, false}), orders(&release{1, 1, false}),
		ask(0, 1), "next", of(0, 2), data("lead", 0, 2), orders(&release{0, 2, false}), "next", "receive", "next", of(1, 2), data("lead", 1, 2), orders(&release{1, 2, false}), "next", "receive")
	write(t, to, "a frame that was withdrawn with one that has no data", node, asks("liar", true, 0), asks("liar", true, 1), data("liar", 1, 1), orders(&release{1, 1, false}), of(0, 2),
		orders(&release{0, 2, true}), "next", "next", asks("me", false, 2), "next")
	write(t, to, "a frame without data behind one that was asked for again", node, asks("liar", true, 0), asks("liar", true, 1), asks("liar", true, 2), data("liar", 2, 1),
		orders(&release{0, 1, false}), orders(&release{1, 1, true}), orders(&release{2, 1, false}), ask(0, 1), "next",
		of(0, 2), data("lead", 0, 2), orders(&release{0, 2, false}), "next", "receive", "next", "next", of(2, 2), data("lead", 2, 2), orders(&release{2, 2, false}), "next", "receive")
	gone := orders(&request{epoch: 2, previous: -1, sync: true, controller: "liar", data: FrameData{Rate: Rate{60, 1}}})
	write(t, to, "a frame after one that was missed", node, asks("liar", true, 0), asks("liar", true, 1), data("liar", 1, 1), orders(&release{0, 1, false}), orders(&release{1, 1, false}),
		ask(0, 1), "next", gone, orders(&release{0, 2, true}), "next", "next", ask(1, 1), "next", "next")
	write(t, to, "a frame that was shown is asked for again", node, asks("liar", true, 0), data("liar", 0, 1), orders(&release{0, 1, false}), "next", "receive", gone, orders(&release{0, 2, true}), "next")
	write(t, to, "a frame that was withdrawn with the node's own", node, asks("liar", true, 0), asks("liar", true, 1), data("liar", 1, 1), orders(&release{1, 1, false}),
		orders(&request{epoch: 2, previous: -1, sync: true, controller: "me", data: FrameData{Rate: Rate{60, 1}}}), "next", "send 01", "next")
}

// A node that says bye, and was not told to leave, is failed at once: the release of what it has not sent could not be taken back from a controller that is gone.
func TestWhoSaysByeByItselfIsFailed(t *testing.T) {
	d := asked(t)
	require.NoError(t, d.Reply("a", (&sent{frame: 0, epoch: 1}).encode()))
	peer := new(PeerError)
	require.ErrorAs(t, d.Reply("a", head(kindBye, 0)), &peer)
	require.True(t, d.Charge(peer))
	orders, err := d.Tick(20 * ms)
	require.NoError(t, err)
	assert.Equal(t, []string{`client "a" said bye, and was not told to leave`}, d.Totals.Failed)
	assert.Equal(t, map[uint64]string{0: "b2", 1: "b2"}, requests(t, orders))
	require.NoError(t, d.Reply("a", head(kindBye, 0)), "it was told now")
}

// A controller that is asked for a frame again computes those after it later. They have the whole patience from then on.
func TestFramesAfterOneThatIsAskedForAgainHaveTime(t *testing.T) {
	d := asked(t)
	d.cfg.Frames = 2
	tick := func(now metasim.Time) map[uint64]string {
		orders, err := d.Tick(now)
		require.NoError(t, err)
		return requests(t, orders)
	}
	require.NoError(t, d.Reply("a", (&sent{frame: 0, epoch: 1}).encode()))
	assert.Empty(t, tick(20*ms))
	assert.Equal(t, map[uint64]string{1: "b2"}, tick(117*ms), "no notice has come")
	assert.Empty(t, tick(120*ms))
	require.NoError(t, d.Reply("b", (&lack{0, 1}).encode()))
	require.NoError(t, d.Reply("c", (&lack{0, 1}).encode()))
	assert.Equal(t, map[uint64]string{0: "b2"}, tick(200*ms))
	require.NoError(t, d.Reply("b", (&sent{frame: 0, epoch: 2}).encode()))
	assert.Empty(t, tick(210*ms))
	assert.Equal(t, 300*ms, d.Wake())
}
