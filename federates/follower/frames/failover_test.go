package frames

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// A follower that has the whole data of a replaced controller, and of the new one, takes that of the epoch that was released.
func TestTheReleasedEpochIsShown(t *testing.T) {
	for _, released := range []uint32{1, 2} {
		n := NewNode("me", 100)
		q := &request{epoch: 1, previous: -1, data: FrameData{Rate: Rate{60, 1}}, sync: true, controller: "old"}
		require.NoError(t, n.Data("rogue", encoded(&piece{epoch: 1, parts: 1, size: 3, bytes: []byte("bad")}))) // before it is known who is the controller
		require.NoError(t, n.Order("director", q.encode()))
		require.NoError(t, n.Data("old", encoded(&piece{epoch: 1, parts: 1, size: 3, bytes: []byte("old")})))
		require.NoError(t, n.Data("another rogue", encoded(&piece{epoch: 2, parts: 1, size: 3, bytes: []byte("bad")})))
		if released == 2 {
			q.epoch, q.controller = 2, "new"
			require.NoError(t, n.Order("director", q.encode()))
		}
		require.NoError(t, n.Data("new", encoded(&piece{epoch: 2, parts: 1, size: 3, bytes: []byte("new")})))
		_, _, ok, err := n.Next()
		require.NoError(t, err)
		require.False(t, ok, "nothing is released")
		require.NoError(t, n.Order("director", (&release{epoch: released}).encode()))
		_, _, ok, err = n.Next()
		require.NoError(t, err)
		require.True(t, ok)
		data, err := n.Receive()
		require.NoError(t, err)
		assert.Equal(t, map[uint32]string{1: "old", 2: "new"}[released], string(data))
		assert.Equal(t, uint64(3), n.Refused)
		require.NoError(t, n.Data("old", encoded(&piece{epoch: 1, parts: 1, size: 3, bytes: []byte("old")})))
		assert.Equal(t, uint64(4), n.Refused, "what comes after the frame too")
	}
}

// asked returns a director that has asked for frames 0 and 1, of which none has come.
func asked(t *testing.T) *Director {
	d := NewDirector(Config{Rate: Rate{60, 1}, Frames: 10, Sync: true, Bounded: 2, Patience: 100 * ms})
	for name, role := range map[string]Role{"a": Controller, "b": Understudy, "c": Understudy} {
		require.NoError(t, d.Reply(name, (&hello{role, int64(name[0])}).encode()))
	}
	for _, now := range []metasim.Time{0, 17 * ms} {
		orders, err := d.Tick(now)
		require.NoError(t, err)
		require.Equal(t, []kind{kindRequest}, kinds(orders))
	}
	return d
}

func kinds(orders [][]byte) (list []kind) {
	for _, o := range orders {
		list = append(list, kind(o[0]))
	}
	return list
}

// requests returns the epoch and the controller of each frame that is asked for.
func requests(t *testing.T, orders [][]byte) map[uint64]string {
	list := map[uint64]string{}
	for _, o := range orders {
		if k, r := begin(o); k == kindRequest {
			q := r.request()
			require.NoError(t, r.end(""))
			list[q.data.Frame] = q.controller + string(rune('0'+q.epoch))
		}
	}
	return list
}

// A later frame is not released before an earlier one: when its controller fails, both are asked for again, under the next epoch.
func TestFramesAreReleasedInOrder(t *testing.T) {
	d := asked(t)
	require.NoError(t, d.Reply("a", (&sent{frame: 1, epoch: 1}).encode()))
	orders, err := d.Tick(20 * ms)
	require.NoError(t, err)
	require.Empty(t, orders)
	orders, err = d.Tick(100 * ms)
	require.NoError(t, err)
	assert.Equal(t, []kind{kindQuit, kindRequest, kindRequest}, kinds(orders))
	assert.Equal(t, map[uint64]string{0: "b2", 1: "b2"}, requests(t, orders))
}

// What a controller has shown before it was replaced is no part of the frame, whose data is that of the next one.
func TestWhatAReplacedControllerHasShownIsNotTorn(t *testing.T) {
	d := asked(t)
	back := func(from string, state byte) {
		require.NoError(t, d.Reply(from, (&Frame{State: [32]byte{state}}).encode()))
	}
	back("a", 1) // it has sent its data and a notice, of which the notice is on its way
	_, err := d.Tick(100 * ms)
	require.NoError(t, err)
	require.NoError(t, d.Reply("b", (&sent{frame: 0, epoch: 2}).encode()))
	back("b", 2)
	back("c", 2)
	_, err = d.Tick(101 * ms)
	require.NoError(t, err)
	assert.EqualValues(t, 1, d.Totals.Frames)
	assert.Zero(t, d.Totals.Torn)
}

// A notice of an old epoch, or of another node than the controller, releases nothing.
func TestOldNoticesReleaseNothing(t *testing.T) {
	d := asked(t)
	_, err := d.Tick(100 * ms)
	require.NoError(t, err)
	require.NoError(t, d.Reply("a", (&sent{frame: 0, epoch: 1}).encode()))
	require.NoError(t, d.Reply("a", (&sent{frame: 0, epoch: 2}).encode()))
	orders, err := d.Tick(101 * ms)
	require.NoError(t, err)
	assert.Empty(t, orders)
	assert.EqualError(t, d.Reply("c", (&sent{frame: 0, epoch: 2}).encode()), `client "c" sent the data of frame 0, of which b is the controller; send only where IsController says so`)
	assert.EqualError(t, d.Reply("c", (&sent{frame: 7, epoch: 2}).encode()), `client "c" sent the data of frame 7, which was not asked for; is it a client of another run?`)
	require.NoError(t, d.Reply("b", (&sent{frame: 0, epoch: 2}).encode()))
	orders, err = d.Tick(102 * ms)
	require.NoError(t, err)
	assert.Equal(t, []kind{kindRelease}, kinds(orders))
}

// An understudy that has failed is passed over.
func TestAFailedUnderstudyIsPassedOver(t *testing.T) {
	nodes := []*testNode{{name: "a", role: Controller, fails: 9, how: "before"}, {name: "b", role: Understudy, fails: 3, how: "before"},
		{name: "c", role: Understudy, fails: -1}, {name: "d", fails: -1}}
	c := newCluster(t, config(20), nodes...)
	c.run()
	assert.Equal(t, 1, c.director.Totals.Failovers)
	assert.Equal(t, []string{"node b did not send frame 3 back within 1s", "controller a did not send for tTracked 150ms (frame 9)"}, c.director.Totals.Failed)
	assert.Equal(t, 9, nodes[0].leads)
	assert.Equal(t, 11, nodes[2].leads)
	assert.Len(t, nodes[3].data, 20)
}

// What is wrong with a cluster is said before its first frame.
func TestGathering(t *testing.T) {
	for _, c := range []struct {
		roles map[string]Role
		nodes []string
		want  string
	}{
		{map[string]Role{"a": Controller, "b": Controller}, nil, "nodes a and b are controllers of one cluster; keep one of them, and make the others understudies"},
		{map[string]Role{"a": Follower}, nil, "no node is the controller, and none an understudy; give one of them role: controller"},
		{nil, nil, "no node has said hello for 1s; add clients of the model render-node, whose director is this one"},
		{map[string]Role{"a": Controller}, []string{"a", "b"}, "node b has not said hello for 1s; is its director named as this one?"},
	} {
		cfg := config(1)
		cfg.Nodes = c.nodes
		d := NewDirector(cfg)
		for name, role := range c.roles {
			require.NoError(t, d.Reply(name, (&hello{role: role}).encode()))
		}
		assert.False(t, d.Charge(&PeerError{Peer: "b"}), "who may be meant to take part")
		_, err := d.Tick(0)
		for err == nil { // nobody says bye
			_, err = d.Tick(d.Wake())
		}
		assert.EqualError(t, err, c.want)
	}
	d := asked(t)
	require.NoError(t, d.Reply("late", (&hello{}).encode()))
	orders, err := d.Tick(18 * ms)
	require.NoError(t, err)
	n := NewNode("late", 1)
	require.NoError(t, n.Order("director", orders[0]))
	_, replies, _, err := n.Next()
	quit := new(QuitError)
	require.ErrorAs(t, err, &quit)
	assert.True(t, quit.Failed)
	assert.Contains(t, quit.Reason, "node late said hello after the first frame was asked for")
	require.Len(t, replies, 1, "it says bye")
	replies = append(replies, (&Frame{}).encode(), (&sent{}).encode(), n.Input([]byte("in"))) // as it heard the others' requests
	for _, r := range replies {
		require.NoError(t, d.Reply("late", r))
	}
	assert.Empty(t, d.inputs, "it takes no part")
	require.NoError(t, d.Reply("late", (&hello{}).encode()), "it comes twice over a link that duplicates")
	require.NoError(t, d.Reply("a", (&hello{Controller, 'a'}).encode()))
	assert.ErrorContains(t, d.Reply("a", (&hello{}).encode()), "has said hello twice")
	assert.ErrorContains(t, d.Reply("other", (&sent{}).encode()), "has said no hello")
}

var failovers = flag.Int("failovers", 5, "how often TestEveryPointOfAFailover kills a controller at each point of a frame")

// A controller is killed before it sends, when its data has reached one of three nodes, when it has reached all, and after its notice. Each frame has one
// set of data; a reset, and a change of the streams, come to all living nodes at one frame, also where it is the one in which the controller is killed; and
// the controller of the end is the last to be told to leave.
func TestEveryPointOfAFailover(t *testing.T) {
	for _, how := range []string{"before", "one", "pieces", "after"} {
		for seed := range uint64(*failovers) {
			t.Run(fmt.Sprint(how, " ", seed), func(t *testing.T) {
				draw := rand.New(rand.NewPCG(seed, 6))
				nodes := four()
				nodes[0].fails, nodes[0].how = 1+draw.Int64N(17), how
				fails := uint64(nodes[0].fails)
				cfg := Config{Rate: Rate{60000, 1001}, Frames: 20, Sync: true, Patience: 10 * metasim.Second, Nodes: []string{"a", "b", "c", "d"},
					Reset: []uint64{fails, fails + 1}, Streams: []uint64{fails, fails + 1}}
				c := newCluster(t, cfg, nodes...)
				most := []metasim.Time{0, 3 * ms, 500 * ms}[draw.IntN(3)]
				c.delay = func(string, string) metasim.Time { return metasim.Time(draw.Int64N(int64(most) + 1)) }
				c.run()
				require.True(t, c.director.Over())
				assert.Equal(t, 1, c.director.Totals.Failovers)
				assert.Zero(t, c.director.Totals.Torn)
				for i, n := range nodes {
					c.agree(n)
					if i == 0 {
						continue
					}
					require.Len(t, n.frames, 20, n.name)
					for k, f := range n.frames {
						assert.EqualValues(t, k, f.Frame)
						assert.Equal(t, f.Frame == fails || f.Frame == fails+1, f.Reset)
					}
					assert.Equal(t, []int{int(fails), int(fails) + 1}, n.changes, n.name)
					assert.ErrorIs(t, n.errs[len(n.errs)-1], ErrQuit)
				}
				require.Len(t, c.quits, 4)
				assert.Equal(t, "b", c.quits[3], "the controller is the last")
			})
		}
	}
}
