package follower_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"metasim/client/clienttest"
	"metasim/federates/follower"
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
