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
