package follower_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/client/clienttest"
	"metasim/federates/catalog"
	"metasim/federates/follower"
	"metasim/metasim"
)

// director is the model, as a simulator of a test. It begins when gate is closed; nil: at once.
func director(t *testing.T, gate <-chan struct{}, with map[string]any) clienttest.Simulator {
	return model(t, "director", "director", with, func(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
		if gate != nil {
			<-gate
		}
		return follower.Director(ctx, c, in, out)
	})
}

// model is a model, as a simulator of a test.
func model(t *testing.T, name, of string, with map[string]any,
	run func(context.Context, *client.Client, *catalog.Instance, []*client.Publication) error) clienttest.Simulator {
	return clienttest.Simulator{Name: name, Run: func(ctx context.Context, options ...client.Option) error {
		in, err := catalog.Make(of, with, catalog.Env{Name: name})
		require.NoError(t, err)
		b := client.NewBuilder(name)
		var out []*client.Publication
		for _, channel := range in.Ports.Publications {
			out = append(out, b.Publication(channel))
		}
		for _, pattern := range in.Ports.Subscriptions {
			require.NoError(t, b.Subscribe(pattern, nil))
		}
		c, err := b.Complete(ctx, options...)
		if err != nil {
			return err
		}
		return run(ctx, c, in, out)
	}}
}

// node is an engine of somebody else: show is called in each frame.
func node(name string, o follower.Options, timeout time.Duration, show func(context.Context, *follower.Node, follower.FrameData, error) error) clienttest.Simulator {
	return clienttest.Simulator{Name: name, Run: func(ctx context.Context, options ...client.Option) error {
		b := client.NewBuilder(name)
		n, err := follower.Declare(b, o)
		if err != nil {
			return err
		}
		c, err := b.Complete(ctx, options...)
		if err != nil {
			return err
		}
		if err := n.Join(c); err != nil {
			return err
		}
		for {
			f, err := n.Await(ctx, timeout)
			if errors.Is(err, follower.ErrQuit) {
				return c.Leave(ctx)
			}
			if err := show(ctx, n, f, err); err != nil {
				n.Close()
				return errors.Join(err, c.Fail(err))
			}
		}
	}}
}

// counts is the state of RenderStream's own sample: one number that goes round.
type counts struct {
	r    byte
	seen []string
}

func (s *counts) show(_ context.Context, n *follower.Node, f follower.FrameData, err error) error {
	if err != nil {
		return err
	}
	if leads, _ := n.IsController(); leads {
		s.r++
		err = n.SendFollowerData([]byte{s.r})
	} else {
		var data []byte
		if data, err = n.ReceiveFollowerData(); err == nil {
			s.r = data[0]
		}
	}
	s.seen = append(s.seen, fmt.Sprint(f.Frame, f.Tracked, f.Delta, s.r))
	return err
}

// Acceptance test 4: a timeout is real time alone. Simulated time stands still, and no frame is lost.
func TestATimeoutLosesNothing(t *testing.T) {
	gate := make(chan struct{})
	var lead, other counts
	timeouts := 0
	clienttest.Run(t, clienttest.World{}, director(t, gate, map[string]any{"frames": 300}),
		node("lead", follower.Options{Role: follower.Controller}, 0, lead.show),
		node("other", follower.Options{}, time.Millisecond, func(ctx context.Context, n *follower.Node, f follower.FrameData, err error) error {
			if errors.Is(err, follower.ErrTimeout) {
				code, _ := follower.CodeOf(err)
				assert.Equal(t, "RS_ERROR_TIMEOUT", code.String())
				_, err := n.ReceiveFollowerData()
				assert.ErrorIs(t, err, follower.ErrNoFrame)
				if timeouts++; timeouts == 3 {
					close(gate)
				}
				return nil
			}
			return other.show(ctx, n, f, err)
		}))
	assert.GreaterOrEqual(t, timeouts, 3)
	require.Len(t, lead.seen, 300)
	assert.Equal(t, lead.seen, other.seen)
}

// A node is used on one goroutine: another one that calls it while it awaits a frame is refused.
func TestTwoGoroutines(t *testing.T) {
	gate := make(chan struct{})
	var lead counts
	clienttest.Run(t, clienttest.World{}, director(t, gate, map[string]any{"frames": 1}),
		clienttest.Simulator{Name: "lead", Run: func(ctx context.Context, options ...client.Option) error {
			b := client.NewBuilder("lead")
			n, err := follower.Declare(b, follower.Options{Role: follower.Controller})
			require.NoError(t, err)
			c, err := b.Complete(ctx, options...)
			require.NoError(t, err)
			require.NoError(t, n.Join(c))
			awaited := make(chan error)
			go func() {
				f, err := n.Await(ctx, 0)
				for errors.Is(err, follower.ErrTwoGoroutines) { // the other goroutine was just sending
					f, err = n.Await(ctx, 0)
				}
				awaited <- lead.show(ctx, n, f, err)
			}()
			for err = n.SendFollowerData(nil); !errors.Is(err, follower.ErrTwoGoroutines); err = n.SendFollowerData(nil) {
				require.ErrorIs(t, err, follower.ErrNoFrame, "the goroutine has not begun")
			}
			close(gate)
			require.NoError(t, <-awaited)
			_, err = n.Await(ctx, 0)
			assert.ErrorIs(t, err, follower.ErrQuit)
			return c.Leave(ctx)
		}})
	assert.Equal(t, []string{"0 0s 16.666667ms 1"}, lead.seen)
}

// Who waits no longer, as its context has ended, has lost nothing either; Close ends the wait.
func TestACancelledAwait(t *testing.T) {
	gate := make(chan struct{})
	var lead counts
	clienttest.Run(t, clienttest.World{}, director(t, gate, map[string]any{"frames": 2}),
		node("lead", follower.Options{Role: follower.Controller}, 0, lead.show),
		node("other", follower.Options{}, time.Minute, func(ctx context.Context, n *follower.Node, f follower.FrameData, err error) error {
			if f.Frame == 0 {
				ended, end := context.WithCancel(ctx)
				end()
				_, err := n.Await(ended, time.Minute)
				assert.ErrorIs(t, err, context.Canceled)
				next, err := n.Await(ctx, time.Minute)
				require.NoError(t, err)
				assert.EqualValues(t, 1, next.Frame)
			}
			return nil
		}),
		clienttest.Simulator{Name: "starter", Run: func(ctx context.Context, options ...client.Option) error {
			c, err := client.NewBuilder("starter").Complete(ctx, options...)
			require.NoError(t, err)
			close(gate)
			return c.Leave(ctx)
		}})
	assert.Len(t, lead.seen, 2)
}

// What a device says at one node is applied in one frame at all.
func TestInteraction(t *testing.T) {
	seen := map[string][]string{}
	show := func(name string) func(context.Context, *follower.Node, follower.FrameData, error) error {
		s := &counts{}
		seen[name] = nil
		return func(ctx context.Context, n *follower.Node, f follower.FrameData, err error) error {
			if err := s.show(ctx, n, f, err); err != nil {
				return err
			}
			inputs, err := n.ReceiveInteractionData()
			require.NoError(t, err)
			for _, i := range inputs {
				seen[name] = append(seen[name], fmt.Sprintf("%d %s", f.Frame, i))
			}
			if f.Frame%3 == 1 {
				require.NoError(t, n.SendInteractionData([]byte(name)))
			}
			if name == "b" { // it is slow, within the frame
				return n.Compute(ctx, 5*time.Millisecond)
			}
			return nil
		}
	}
	transcript := clienttest.Run(t, clienttest.World{}, director(t, nil, map[string]any{"frames": 8}),
		node("a", follower.Options{Role: follower.Controller}, 0, show("a")), node("b", follower.Options{}, 0, show("b")))
	assert.Equal(t, []string{"2 a", "2 b", "5 a", "5 b"}, seen["a"])
	assert.Equal(t, seen["a"], seen["b"])
	var r struct {
		Frames uint64 `json:"frames"`
	}
	require.NoError(t, json.Unmarshal(transcript.Results["director"], &r))
	assert.EqualValues(t, 8, r.Frames)
}

// The controller that sends nothing is told so, and so is everybody else; the next frame goes on.
func TestAFrameWithoutASend(t *testing.T) {
	var errs []string
	note := func(_ context.Context, n *follower.Node, f follower.FrameData, err error) error {
		if err != nil {
			errs = append(errs, err.Error())
			return nil
		}
		if leads, _ := n.IsController(); leads && f.Frame != 1 {
			return n.SendFollowerData(nil)
		}
		return nil
	}
	clienttest.Run(t, clienttest.World{Links: nil, Until: metasim.Second}, director(t, nil, map[string]any{"frames": 3}),
		node("lead", follower.Options{Role: follower.Controller}, 0, note))
	clienttest.Run(t, clienttest.World{}, director(t, nil, map[string]any{"frames": 3}),
		node("lead", follower.Options{Role: follower.Controller}, 0, func(ctx context.Context, n *follower.Node, f follower.FrameData, err error) error {
			if err != nil {
				return nil
			}
			return note(ctx, n, f, nil)
		}), node("other", follower.Options{}, 0, note))
	assert.Equal(t, []string{"node lead, frame 1: the controller has sent nothing in this frame; send once in each frame while synchronisation is on",
		"controller lead did not send for tTracked 16.666667ms (frame 1)"}, errs)
}

// controller is a controller that does something in each frame, and leaves in one. The error is that of Await.
func controller(t *testing.T, leaves uint64, do func(n *follower.Node, frame uint64, err error)) clienttest.Simulator {
	return clienttest.Simulator{Name: "lead", Run: func(ctx context.Context, options ...client.Option) error {
		b := client.NewBuilder("lead")
		n, err := follower.Declare(b, follower.Options{Role: follower.Controller})
		require.NoError(t, err)
		c, err := b.Complete(ctx, options...)
		require.NoError(t, err)
		require.NoError(t, n.Join(c))
		for {
			f, err := n.Await(ctx, 0)
			if f.Frame == leaves {
				return c.Leave(ctx)
			}
			do(n, f.Frame, err)
		}
	}}
}

// An understudy that takes over after a frame that was not sent has what came from outside for that frame.
func TestAMissingFrameLosesNoInput(t *testing.T) {
	hashOf := func(button string) string {
		lead := controller(t, 4, func(n *follower.Node, frame uint64, err error) {
			if frame == 2 {
				require.NoError(t, n.SendInteractionData([]byte(button)))
			}
			if err == nil && frame != 3 {
				require.NoError(t, n.SendFollowerData([]byte{1}))
			}
		})
		transcript := clienttest.Run(t, clienttest.World{}, director(t, nil, map[string]any{"frames": 10}), lead, model(t, "next", "render-node",
			map[string]any{"role": "understudy"}, follower.RenderNode))
		var r struct {
			AsController uint64 `json:"as_controller"`
			Missing      uint64 `json:"missing"`
			DataHash     string `json:"data_hash"`
		}
		require.NoError(t, json.Unmarshal(transcript.Results["next"], &r))
		assert.EqualValues(t, 6, r.AsController)
		assert.EqualValues(t, 1, r.Missing)
		return r.DataHash
	}
	assert.Equal(t, hashOf("left"), hashOf("left"))
	assert.NotEqual(t, hashOf("left"), hashOf("right"))
}

// A node that has not joined refuses all calls.
func TestCallsBeforeJoin(t *testing.T) {
	_, wrong := follower.Declare(client.NewBuilder("a"), follower.Options{Role: follower.Controller + 1})
	require.ErrorContains(t, wrong, "the role of a node is 3; use follower.Follower")
	n, err := follower.Declare(client.NewBuilder("early"), follower.Options{Role: follower.Controller})
	require.NoError(t, err)
	_, err = n.Await(t.Context(), time.Minute)
	require.ErrorIs(t, err, follower.ErrNotJoined)
	require.ErrorIs(t, n.SendFollowerData(nil), follower.ErrNotJoined)
	_, err = n.IsController()
	require.ErrorIs(t, err, follower.ErrNotJoined)
	require.ErrorIs(t, n.SetFollower(true), follower.ErrNotJoined)
	_, err = n.BeginFollowerFrame(t.Context(), 0)
	require.ErrorIs(t, err, follower.ErrNotJoined)
	code, _ := follower.CodeOf(err)
	assert.Equal(t, "RS_ERROR_NOT_INITIALISED", code.String())
	assert.Zero(t, n.Refused())
	n.Close()
}

// An engine subscribes to channels of its own: their messages are its own affair. The dot of a director's name is a dot.
func TestAnEngineSubscribesItself(t *testing.T) {
	run := func(other func(client.Message) error) (seen []string, failed error) {
		lead := clienttest.Simulator{Name: "lead", Run: func(ctx context.Context, options ...client.Option) error {
			b := client.NewBuilder("lead")
			n, err := follower.Declare(b, follower.Options{Director: "wall.1", Role: follower.Controller, Other: other})
			require.NoError(t, err)
			require.NoError(t, b.Subscribe("STEERING", nil))
			c, err := b.Complete(ctx, options...)
			require.NoError(t, err)
			require.NoError(t, n.Join(c))
			for {
				f, err := n.Await(ctx, 0)
				if errors.Is(err, follower.ErrQuit) {
					return c.Leave(ctx)
				}
				if err == nil {
					err = n.SendFollowerData(nil)
				}
				if err == nil {
					err = n.Compute(ctx, 5*time.Millisecond)
				}
				if errors.Is(err, follower.ErrQuit) {
					return c.Leave(ctx)
				}
				if err != nil {
					failed = err
					return c.Leave(ctx)
				}
				seen = append(seen, fmt.Sprint(f.Frame))
			}
		}}
		wheel := clienttest.Simulator{Name: "wheel", Run: func(ctx context.Context, options ...client.Option) error {
			b := client.NewBuilder("wheel")
			steering, mistaken := b.Publication("STEERING"), b.Publication("wall-1/orders")
			c, err := b.Complete(ctx, options...)
			require.NoError(t, err)
			for range 3 {
				require.NoError(t, steering.Publish([]byte("left")))
				require.NoError(t, mistaken.Publish([]byte("no order")))
				if _, err := c.Step(ctx, c.Now().Time.Add(7*metasim.Millisecond)); err != nil {
					return err
				}
			}
			return c.Leave(ctx)
		}}
		clienttest.Run(t, clienttest.World{}, model(t, "wall.1", "director", map[string]any{"frames": 3, "patience": "100ms"}, follower.Director), lead, wheel)
		return seen, failed
	}
	var heard []string
	seen, err := run(func(m client.Message) error {
		heard = append(heard, fmt.Sprintf("%s %s", m.Channel, m.Payload))
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"0", "1", "2"}, seen)
	assert.Equal(t, []string{"STEERING left", "STEERING left", "STEERING left"}, heard)
	_, err = run(nil)
	assert.EqualError(t, err, `client "wheel" has sent a message on STEERING, to which the engine of node lead has subscribed itself; take such messages with Options.Other`)
	_, err = run(func(client.Message) error { return io.ErrUnexpectedEOF })
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
}
