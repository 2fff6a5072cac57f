package frames

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// A frame without a send stays missing where the one before it is asked for again, as its controller has lied: nodes that show that one in a later epoch go on behind it.
func TestAMissingFrameBehindALie(t *testing.T) {
	nodes := four()
	nodes[0].fails, nodes[0].how, nodes[0].skips = 7, "nothing", 8
	cfg := config(20)
	cfg.Bounded, cfg.Patience = 3, 100*ms
	c := newCluster(t, cfg, nodes...)
	c.delay = func(string, string) metasim.Time { return 0 }
	c.run()
	require.True(t, c.director.Over())
	assert.Len(t, c.director.Totals.Failed, 1)
	assert.Empty(t, c.director.Totals.Stopped)
	assert.EqualValues(t, 1, c.director.Totals.Missing)
	for _, n := range nodes[1:] {
		c.agree(n)
		missing := new(MissingError)
		require.ErrorAs(t, n.errs[0], &missing)
		assert.EqualValues(t, 8, missing.Frame)
	}
}

// Two controllers, one after the other, that lie about a frame, send it later than they say, or go on without a send, cost nobody else anything: on any network, and with frames on their way
// together, who has not lied is not failed, and all show the same.
func TestTwoLiars(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			draw := rand.New(rand.NewPCG(seed, 29))
			nodes := four()
			nodes[2].role = Understudy
			for _, n := range nodes[:2] {
				n.fails, n.how, n.later = draw.Int64N(18), []string{"nothing", "epoch", "part", "later"}[draw.IntN(4)], metasim.Time(draw.Int64N(int64(200*ms)))
				n.skips = (n.fails - 2 + draw.Int64N(5)) * draw.Int64N(2)
			}
			cfg := Config{Rate: Rate{60, 1}, Frames: 20, Sync: true, Patience: 400 * ms, Bounded: draw.IntN(4), Nodes: []string{"a", "b", "c", "d"}}
			most := []metasim.Time{0, ms, 30 * ms, 60 * ms}[draw.IntN(4)]
			c := newCluster(t, cfg, nodes...)
			c.delay = func(string, string) metasim.Time { return metasim.Time(draw.Int64N(int64(most) + 1)) }
			c.run()
			require.True(t, c.director.Over())
			for i, n := range nodes {
				quit := new(QuitError)
				if last := len(n.errs) - 1; last >= 0 && errors.As(n.errs[last], &quit) && quit.Failed {
					assert.Less(t, i, 2, "it has not lied: %q", c.director.Totals.Failed)
					continue // what it has shown does not count
				}
				c.agree(n)
			}
		})
	}
}

// A script is what a director is told, and what it says to that.
type script struct {
	*testing.T
	*Director
}

func (s script) reply(from string, m interface{ encode() []byte }) {
	s.Helper()
	require.NoError(s, s.Reply(from, m.encode()))
}

// tick has the director act, and says what it tells the nodes.
func (s script) tick(now metasim.Time, want ...kind) [][]byte {
	s.Helper()
	orders, err := s.Tick(now)
	require.NoError(s, err)
	require.Equal(s, want, kinds(orders))
	return orders
}

// replacedScript is a director whose controller a has sent nothing: b is asked for both frames, under epoch 2.
func replacedScript(t *testing.T) script {
	s := script{t, asked(t)}
	assert.Equal(t, map[uint64]string{0: "b2", 1: "b2"}, requests(t, s.tick(100*ms, kindQuit, kindRequest, kindRequest)))
	return s
}

// What a failed node says counts no more: it brings no input, and charges nobody.
func TestAFailedNodeIsNotHeard(t *testing.T) {
	s := replacedScript(t)
	s.reply("a", &charge{"b", "b has sent twice"})
	require.NoError(t, s.Reply("a", NewNode("a", 1).Input([]byte("in"))))
	s.tick(101 * ms)
	assert.Empty(t, s.inputs)
	assert.Len(t, s.Totals.Failed, 1)
}

// The notice of a controller counts in its own epoch.
func TestANoticeOfAnOlderEpoch(t *testing.T) {
	s := replacedScript(t)
	s.reply("b", &sent{frame: 0, epoch: 1})
	s.tick(101 * ms)
	s.reply("b", &sent{frame: 0, epoch: 2})
	s.tick(102*ms, kindRelease)
}

// A frame that took long because a node has failed is not late: no load, and no state, was too large for it.
func TestAFailureMakesNoFrameLate(t *testing.T) {
	s := script{t, asked(t)}
	s.cfg.Frames = 2
	s.reply("a", &sent{frame: 0, epoch: 1})
	s.tick(20*ms, kindRelease)
	s.reply("a", &sent{frame: 1, epoch: 1})
	s.tick(60*ms, kindRelease)
	s.reply("a", &Frame{})
	s.reply("b", &Frame{})
	s.tick(120*ms, kindQuit)
	assert.Equal(t, []string{"node c did not send frame 0 back within 100ms"}, s.Totals.Failed)
	assert.EqualValues(t, 1, s.Totals.Frames)
	assert.Zero(t, s.Totals.Late)
}

// Of understudies with one order the first by name is next, in whatever order they came.
func TestEqualUnderstudies(t *testing.T) {
	s := script{t, NewDirector(Config{Rate: Rate{60, 1}, Frames: 10, Sync: true, Patience: 100 * ms})}
	for _, name := range []string{"d", "b", "a", "c"} {
		s.reply(name, &hello{role: map[bool]Role{true: Controller, false: Understudy}[name == "a"]})
	}
	s.tick(0, kindRequest)
	assert.Equal(t, map[uint64]string{0: "b2"}, requests(t, s.tick(100*ms, kindQuit, kindRequest)))
}

// The new controller of a frame about which the old one has lied has a patience of its own, and is asked for: what the nodes lacked was the data of the old one, and a lack of that which comes
// later says nothing of the new one.
func TestALieIsForgottenInTheNextEpoch(t *testing.T) {
	s := script{t, asked(t)}
	s.cfg.Frames = 2
	s.reply("a", &sent{frame: 0, epoch: 1})
	s.reply("a", &sent{frame: 1, epoch: 1})
	s.tick(20*ms, kindRelease, kindRelease)
	s.tick(120*ms, kindCall, kindCall)
	s.reply("b", &lack{0, 1})
	s.reply("c", &lack{0, 1})
	assert.Equal(t, map[uint64]string{0: "b2", 1: "b2"}, requests(t, s.tick(121*ms, kindQuit, kindRequest, kindRequest)))
	s.reply("b", &sent{frame: 0, epoch: 2})
	s.reply("b", &sent{frame: 1, epoch: 2})
	s.reply("b", &Frame{})
	s.tick(130*ms, kindRelease, kindRelease)
	s.tick(230*ms, kindCall, kindCall)
	s.reply("c", &lack{0, 1})
	s.tick(231 * ms)
	assert.Len(t, s.Totals.Failed, 1, "b has time until 330 ms")
	s.reply("c", &lack{0, 2})
	s.tick(232*ms, kindQuit, kindRequest, kindRequest)
	assert.Len(t, s.Totals.Failed, 2)
}

// A node that says that it lacks what nobody has asked it for is answered nothing: it owes the frame, as another node has shown it.
func TestALackThatNobodyHasAskedFor(t *testing.T) {
	s := script{t, asked(t)}
	s.cfg.Frames = 2
	s.reply("a", &sent{frame: 0, epoch: 1})
	s.tick(20*ms, kindRelease)
	s.reply("a", &sent{frame: 1, epoch: 1})
	s.tick(60*ms, kindRelease)
	s.reply("c", &lack{0, 1})
	s.reply("a", &Frame{})
	s.reply("b", &Frame{})
	s.tick(120*ms, kindQuit)
	assert.Equal(t, []string{"node c did not send frame 0 back within 100ms"}, s.Totals.Failed)
}

// When a controller has lied about one frame, the nodes are asked at once for its other ones.
func TestTheOtherFramesOfALiar(t *testing.T) {
	s := script{t, asked(t)}
	s.cfg.Frames = 2
	s.reply("a", &sent{frame: 0, epoch: 1})
	s.tick(20*ms, kindRelease)
	s.reply("a", &sent{frame: 1, epoch: 1})
	s.tick(60*ms, kindRelease)
	s.tick(120*ms, kindCall)
	s.reply("c", &lack{0, 1})
	s.reply("b", &Frame{})
	s.tick(121*ms, kindQuit, kindRequest, kindRelease, kindCall)
}

// Controllers that go on without a send, and fail at any point of a frame, cost no other node its place: on links with any delays each frame without a send is told at all nodes, also where
// it is the last one, and a change of the streams comes to all in one frame.
func TestFramesWithoutASendOnAnyNetwork(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			draw := rand.New(rand.NewPCG(seed, 31))
			nodes := four()
			nodes[2].role = Understudy
			for _, n := range nodes {
				n.load, n.skips = metasim.Time(draw.Int64N(3))*7*ms, draw.Int64N(20)
			}
			for _, n := range nodes[:2] {
				n.fails, n.how = draw.Int64N(30)-1, []string{"before", "one", "pieces", "after"}[draw.IntN(4)]
			}
			cfg := Config{Rate: Rate{60, 1}, Frames: 20, Sync: true, Patience: 600 * ms, Bounded: draw.IntN(4), Nodes: []string{"a", "b", "c", "d"}, Streams: []uint64{uint64(draw.IntN(20))}}
			c := newCluster(t, cfg, nodes...)
			delays := map[string]metasim.Time{}
			c.delay = func(from, to string) metasim.Time {
				if _, drawn := delays[from+to]; !drawn {
					delays[from+to] = metasim.Time(draw.Int64N(2) * draw.Int64N(int64(60*ms)))
				}
				return delays[from+to]
			}
			c.run()
			require.True(t, c.director.Over())
			for _, n := range nodes {
				if last := len(n.errs) - 1; n.fails >= 0 && (last < 0 || !errors.Is(n.errs[last], ErrQuit)) {
					continue // it was killed
				}
				quit := new(QuitError)
				assert.False(t, errors.As(n.errs[len(n.errs)-1], &quit) && quit.Failed, "%s: %v", n.name, quit)
				c.agree(n)
				assert.EqualValues(t, c.director.Totals.Frames, len(n.frames), n.name)
				assert.Equal(t, nodes[3].changes, n.changes, n.name)
				missing := 0
				for _, e := range n.errs {
					if errors.Is(e, ErrNotSent) || errors.As(e, new(*MissingError)) {
						missing++
					}
				}
				assert.EqualValues(t, c.director.Totals.Missing, missing, n.name)
			}
		})
	}
}

// ends writes stories of the bound, and of the end of a cluster.
func ends(t *testing.T, to *strings.Builder, node string) {
	const other = "lead"
	release := func(frame uint64, missing bool) string { return orders(&release{frame, 1, missing}) }
	shown := brings(other, piece{epoch: 1, parts: 1, size: 2, bytes: []byte("ab")})
	write(t, to, "more than the bound", node, asks(other, true, 0), brings(other, piece{epoch: 1, parts: 2, size: 101, bytes: []byte("ab")}))
	write(t, to, "an end behind a frame without data", node, asks(other, true, 0), shown, release(0, false), "next", asks(other, true, 1), release(1, true), orders(&quit{nodes: []string{"me"}}), "next", "next")
	write(t, to, "an end that overtakes the release of a frame without data", node, asks(other, true, 0), orders(&quit{nodes: []string{"me"}}), "next", "next")
	write(t, to, "an end with a reason leaves frames out", node, asks(other, true, 0), orders(&quit{nodes: []string{"me"}, reason: "the end"}), "next")
	write(t, to, "a node that has failed hears of no frame without data", node, asks(other, true, 0), release(0, true), orders(&quit{nodes: []string{"me"}, reason: "you", failed: true}), "next")
	write(t, to, "an end without a reason", node, orders(&quit{nodes: []string{"me"}}), "next", orders(&quit{nodes: []string{"me"}, reason: "too late"}), "next")
}
