package typed_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/client/typed"
	"metasim/metasim"
)

// A request whose time is over prevents no checkpoint, whether anybody has asked for it or not.
func TestACheckpointAfterALimit(t *testing.T) {
	var plan *caller
	fine(t, simulator{"robot", asks(&plan), func(ctx context.Context, c *client.Client) error {
		p, err := plan.Start(1, 5*time.Millisecond)
		require.NoError(t, err)
		_, err = c.Step(ctx, 4*metasim.Millisecond)
		require.NoError(t, err)
		_, err = plan.Save()
		require.EqualError(t, err, `1 requests to service "PLAN" are not answered`)
		_, err = c.Step(ctx, 5*metasim.Millisecond)
		require.NoError(t, err)
		_, err = plan.Save()
		require.NoError(t, err)
		_, done, err := p.Result()
		require.True(t, done)
		require.ErrorAs(t, err, new(*typed.LimitError))
		return c.Leave(ctx)
	}}, planner(run))
}

// An asker is an input that asks for the answer to a request with each message.
type asker struct{ ask func(client.Message) error }

func (a asker) Take(m client.Message) error { return a.ask(m) }
func (asker) Save() ([]byte, error)         { return nil, nil }
func (asker) Restore([]byte) error          { return nil }

// During a Step a request is over only for messages that arrived after its limit: its answer may follow in the same Step.
func TestAnAnswerFollowsInTheSameStep(t *testing.T) {
	var plan *caller
	var open *typed.Pending[string]
	var asked []bool
	fine(t, says("1", "2", "3", "4"), simulator{"robot", func(b *client.Builder) error {
		return errors.Join(asks(&plan)(b), b.Input("ANGLE", asker{func(client.Message) error {
			_, done, _ := open.Result()
			asked = append(asked, done)
			return nil
		}}))
	}, func(ctx context.Context, c *client.Client) (err error) {
		open, err = plan.Start(2, 4*time.Millisecond) // its answer arrives at 4 ms, and ANGLE at 2, 3, 4 and 5 ms
		require.NoError(t, err)
		_, err = c.Step(ctx, 8*metasim.Millisecond)
		require.NoError(t, err)
		answer, _, err := open.Result()
		require.NoError(t, err)
		require.Equal(t, "robot asked 2 at 0s", answer)
		require.False(t, asked[0] || asked[1])
		require.True(t, asked[3])
		return c.Leave(ctx)
	}}, planner(run))
}
