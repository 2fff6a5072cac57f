package follower_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/client/clienttest"
	"metasim/federates/follower"
	"metasim/metasim"
)

// An understudy that has become the controller receives nothing, as in RenderStream: the run gives it what it has sent itself, and the node leaves that aside.
func TestAControllerReceivesNothing(t *testing.T) {
	received, sent := 0, 0
	show := func(_ context.Context, n *follower.Node, _ follower.FrameData, err error) error {
		if err != nil {
			return err
		}
		assert.Zero(t, n.Refused())
		controls, err := n.IsController()
		if err != nil {
			return err
		}
		_, err = n.ReceiveFollowerData()
		if !controls {
			received++
			return err
		}
		sent++
		assert.ErrorIs(t, err, follower.ErrNotFollower)
		return n.SendFollowerData([]byte("state"))
	}
	clienttest.Run(t, clienttest.World{}, director(t, nil, map[string]any{"frames": 10}),
		model(t, "lead", "render-node", map[string]any{"role": "controller", "state_bytes": 8, "fail_at": 4}, follower.RenderNode),
		node("next", follower.Options{Role: follower.Understudy}, 0, show), model(t, "floor", "render-node", nil, follower.RenderNode))
	assert.Equal(t, []int{4, 6}, []int{received, sent})
}

// What makes no sense on the channel of replies fails who has sent it, a node or any other client, and the others miss no frame.
func TestRepliesThatMakeNoSense(t *testing.T) {
	for _, joins := range []bool{true, false} {
		var told string
		vandal := clienttest.Simulator{Name: "vandal", Run: func(ctx context.Context, options ...client.Option) error {
			b := client.NewBuilder("vandal")
			n, err := follower.Declare(b, follower.Options{})
			require.NoError(t, err)
			replies := b.Publication("director/replies")
			c, err := b.Complete(ctx, options...)
			if err != nil {
				return err
			}
			if joins {
				require.NoError(t, n.Join(c))
			} else if _, err := c.Next(ctx, metasim.Time(50e6)); err != nil {
				return err
			}
			for i := 0; joins; i++ {
				_, err := n.Await(ctx, 0)
				quit := new(follower.QuitError)
				if errors.As(err, &quit) {
					told = quit.Reason
					break
				}
				if err != nil {
					return err
				}
				if i == 3 {
					require.NoError(t, replies.Publish([]byte("junk")))
				}
			}
			if !joins {
				require.NoError(t, replies.Publish([]byte("junk")))
			}
			return c.Leave(ctx)
		}}
		transcript := clienttest.Run(t, clienttest.World{}, director(t, nil, map[string]any{"frames": 10}),
			model(t, "lead", "render-node", map[string]any{"role": "controller", "state_bytes": 8}, follower.RenderNode), vandal, model(t, "floor", "render-node", nil, follower.RenderNode))
		var d struct {
			Frames  uint64   `json:"frames"`
			Missing uint64   `json:"missing"`
			Failed  []string `json:"failed"`
		}
		require.NoError(t, json.Unmarshal(transcript.Results["director"], &d))
		assert.EqualValues(t, 10, d.Frames)
		assert.Zero(t, d.Missing)
		require.Len(t, d.Failed, 1)
		assert.Contains(t, d.Failed[0], `client "vandal"`)
		if joins {
			assert.Equal(t, d.Failed[0]+"; the others go on without it", told)
		}
		var floor struct {
			Frames uint64 `json:"frames"`
		}
		require.NoError(t, json.Unmarshal(transcript.Results["floor"], &floor))
		assert.EqualValues(t, 10, floor.Frames)
	}
}

// onAnother carries out a call on a goroutine of its own, and waits for it.
func onAnother(call func() error) error {
	done := make(chan error)
	go func() { done <- call() }()
	return <-done
}

// The data of a frame is sent and received on the goroutine that has awaited it: another one is refused also where the first one waits for it, and the frame goes on.
func TestAnotherGoroutineThanThatOfAwait(t *testing.T) {
	sent, received := 0, 0
	show := func(_ context.Context, n *follower.Node, _ follower.FrameData, err error) error {
		if err != nil {
			return err
		}
		send := func() error { return n.SendFollowerData([]byte("state")) }
		receive := func() error { _, err := n.ReceiveFollowerData(); return err }
		controls, err := n.IsController()
		require.NoError(t, err)
		call, counts := receive, &received
		if controls {
			call, counts = send, &sent
		}
		err = onAnother(call)
		assert.ErrorIs(t, err, follower.ErrTwoGoroutines)
		code, known := follower.CodeOf(err)
		assert.True(t, known)
		assert.Equal(t, "RS_ERROR_INVALID_PARAMETERS", code.String())
		*counts++
		return call()
	}
	transcript := clienttest.Run(t, clienttest.World{}, director(t, nil, map[string]any{"frames": 10}),
		node("lead", follower.Options{Role: follower.Controller}, 0, show), node("floor", follower.Options{}, 0, show))
	assert.Equal(t, []int{10, 10}, []int{sent, received})
	var d struct {
		Frames uint64 `json:"frames"`
	}
	require.NoError(t, json.Unmarshal(transcript.Results["director"], &d))
	assert.EqualValues(t, 10, d.Frames)
}

// A node joins once: a second hello of the same node, or a new beginning of its frames, would lose some.
func TestJoiningTwice(t *testing.T) {
	clienttest.Run(t, clienttest.World{}, director(t, nil, map[string]any{"frames": 1}),
		clienttest.Simulator{Name: "lead", Run: func(ctx context.Context, options ...client.Option) error {
			b := client.NewBuilder("lead")
			n, err := follower.Declare(b, follower.Options{Role: follower.Controller})
			require.NoError(t, err)
			c, err := b.Complete(ctx, options...)
			require.NoError(t, err)
			require.NoError(t, n.Join(c))
			_, err = n.Await(ctx, 0)
			require.NoError(t, err)
			err = n.Join(c)
			assert.ErrorIs(t, err, follower.ErrJoinedTwice)
			code, _ := follower.CodeOf(err)
			assert.Equal(t, "RS_ERROR_ALREADYINITIALISED", code.String())
			require.NoError(t, n.SendFollowerData(nil), "the frame goes on")
			_, err = n.Await(ctx, 0)
			assert.ErrorIs(t, err, follower.ErrQuit)
			return c.Leave(ctx)
		}})
}
