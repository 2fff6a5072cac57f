package bench

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"metasim/client"
	"metasim/federates/follower"
)

// A frameNode is a node of a cluster: the controller sends a state of so many bytes in each frame, which has the time in it at which the frame began
// there, and a follower takes how long ago that was.
type frameNode struct {
	Role  follower.Role
	Bytes int
	node  *follower.Node
}

func (n *frameNode) Declare(b *client.Builder) (err error) {
	n.node, err = follower.Declare(b, follower.Options{Role: n.Role})
	return err
}

// A shownFrames is what a node leaves with.
type shownFrames struct {
	Frames int
	Took   time.Duration // from the controller's frame to the state here, of all frames together
}

func (n *frameNode) Run(ctx context.Context, c *client.Client) error {
	if err := n.node.Join(c); err != nil {
		return err
	}
	var shown shownFrames
	state := make([]byte, n.Bytes)
	for {
		_, err := n.node.Await(ctx, 0)
		if errors.Is(err, follower.ErrQuit) {
			return c.SetResult(shown)
		}
		if err != nil {
			return err
		}
		if n.Role == follower.Controller {
			binary.LittleEndian.PutUint64(state, uint64(time.Now().UnixNano()))
			err = n.node.SendFollowerData(state)
		} else {
			var data []byte
			if data, err = n.node.ReceiveFollowerData(); err == nil {
				shown.Frames++
				shown.Took += time.Duration(time.Now().UnixNano() - int64(binary.LittleEndian.Uint64(data)))
			}
		}
		if err == nil {
			err = n.node.SendFrame([32]byte{}, nil)
		}
		if err != nil {
			return err
		}
	}
}

// followersOf is how many nodes follow one controller.
const followersOf = 3

// clusterScenario is so many frames of a director, a controller and its followers.
func clusterScenario(bytes, frames int) scenario {
	s := scenario{noJournal: true}
	s.clients = append(s.clients, participant{"director", &worldModel{Kind: "director", Name: "director", With: map[string]any{"frames": frames}}})
	for i := range 1 + followersOf {
		role := follower.Follower
		if i == 0 {
			role = follower.Controller
		}
		s.clients = append(s.clients, participant{fmt.Sprintf("node-%d", i), &frameNode{Role: role, Bytes: bytes}})
	}
	return s
}

// followers is how long a state takes from the controller's frame to that of its followers, and how much state passes, beside the same bytes on a bare stream. Each node is a
// process.
func followers() (list []workload) {
	add := func(name, unit string, bytes int, transport string, cost bool, of func(s sample, frames float64, latency time.Duration) float64) {
		p := Params{"bytes": bytes, "transport": transport}
		w := workload{name: "follower " + name, params: p, unit: unit, cost: cost, first: 5, most: 2000,
			measure: func(ctx context.Context, h *harness, amount int) (sample, error) {
				r, err := h.run(ctx, clusterScenario(bytes, amount), placement{transport: transport, inside: 1, processes: 1 + followersOf})
				if err != nil {
					return sample{}, err
				}
				var all shownFrames
				for _, c := range r.Clients {
					var shown shownFrames
					if c.Name != "director" && json.Unmarshal(c.Result, &shown) == nil {
						all.Frames += shown.Frames
						all.Took += shown.Took
					}
				}
				if all.Frames != followersOf*amount {
					return sample{}, fmt.Errorf("%d frames were shown, it should be %d", all.Frames, followersOf*amount)
				}
				s := sample{took: r.Wall}
				s.value = of(s, float64(amount), all.Took/time.Duration(all.Frames))
				return s, nil
			}}
		bare := transport
		if bare == "shm" { // a bare ring takes no message that is larger than a slot
			bare = "unix"
		}
		if hasFloor(bare) {
			raw := workload{name: "raw follower " + name, params: Params{"bytes": bytes, "transport": bare}, unit: unit, cost: cost, first: 5, most: 2000,
				measure: func(ctx context.Context, h *harness, amount int) (s sample, err error) {
					err = h.withRaw(ctx, bare, 1, job{Kind: echoJob, Size: bytes, Count: 1}, func(streams []io.ReadWriteCloser) error {
						message := make([]byte, bytes)
						s, err = clocked(amount, 1, func() error { return exchange(streams[0], message) })
						return err
					})
					s.value = of(s, float64(2*amount)/followersOf, s.took/time.Duration(2*amount)) // there and back: two states pass
					return s, err
				}}
			if w.floor = raw.id(); !slices.ContainsFunc(list, func(o workload) bool { return o.id() == w.floor }) {
				list = append(list, raw)
			}
		}
		if name == "frames" { // they are to be held: how a run begins is to count for little
			w.fixed, w.most = true, 300
		}
		list = append(list, w)
	}
	micro := func(_ sample, _ float64, latency time.Duration) float64 { return latency.Seconds() * 1e6 }
	for _, transport := range []string{"unix", "quic"} {
		add("latency", "us", 64<<10, transport, true, micro)
	}
	add("state", "MB/s", 1<<20, "shm", false, func(s sample, frames float64, _ time.Duration) float64 {
		return followersOf * frames * (1 << 20) / 1e6 / s.took.Seconds()
	})
	for _, transport := range []string{"unix", "shm"} {
		add("frames", "frames/s", 16<<20, transport, false, func(s sample, frames float64, _ time.Duration) float64 { return frames / s.took.Seconds() })
	}
	return list
}
