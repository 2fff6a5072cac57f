package follower_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/client/clienttest"
	"metasim/federates/follower"
	"metasim/metasim"
)

// ship is an engine of the older kind that leads: it publishes its state itself, with the frame's time.
func ship(seen *[]string, fails uint64) clienttest.Simulator {
	return olderNode("lead", follower.Controller, func(ctx context.Context, e *olderEngine) error {
		f, err := e.Await(ctx, 0)
		if err != nil {
			return err
		}
		if f.Frame == fails {
			return follower.ErrQuit // it leaves without a word to the others
		}
		return e.lead(ctx, f)
	}, seen)
}

// obey is an engine of the older kind that follows, until it is to lead.
func obey(name string, role follower.Role, seen *[]string) clienttest.Simulator {
	return olderNode(name, role, func(ctx context.Context, e *olderEngine) error {
		if e.leads {
			f, err := e.Await(ctx, 0)
			if err != nil {
				return err
			}
			return e.lead(ctx, f)
		}
		if err := e.SetFollower(true); err != nil {
			return err
		}
		for len(e.came) == 0 {
			if err := e.Hear(ctx); err != nil {
				return err
			}
		}
		tracked := metasim.Time(binary.LittleEndian.Uint64(e.came[0]))
		f, err := e.BeginFollowerFrame(ctx, tracked)
		if err != nil {
			return err
		}
		e.state, e.came = e.came[0][8], e.came[1:]
		e.see(f)
		return e.SendFrame([32]byte{1, e.state}, nil)
	}, seen)
}

// An olderEngine has its state in a message of its own.
type olderEngine struct {
	*follower.Node
	out   *client.Publication
	state byte
	leads bool
	came  [][]byte
	seen  *[]string
}

func (e *olderEngine) see(f follower.FrameData) { *e.seen = append(*e.seen, fmt.Sprint(f, e.state)) }

func (e *olderEngine) lead(ctx context.Context, f follower.FrameData) error {
	e.state++
	e.see(f)
	if err := e.out.Publish(append(binary.LittleEndian.AppendUint64(nil, uint64(f.Tracked)), e.state)); err != nil {
		return err
	}
	if sync, _ := e.SyncEnabled(); sync { // nothing: it says that the frame is released
		if err := e.SendFollowerData(nil); err != nil {
			return err
		}
	}
	if f.Frame%20 < 5 {
		if err := e.Compute(ctx, 40*time.Millisecond); err != nil {
			return err
		}
	}
	return e.SendFrame([32]byte{1, e.state}, nil)
}

func olderNode(name string, role follower.Role, turn func(context.Context, *olderEngine) error, seen *[]string) clienttest.Simulator {
	return clienttest.Simulator{Name: name, Run: func(ctx context.Context, options ...client.Option) error {
		b := client.NewBuilder(name)
		e := &olderEngine{out: b.Publication("STATE"), seen: seen}
		n, err := follower.Declare(b, follower.Options{Role: role, Other: func(m client.Message) error {
			if m.From != name {
				e.came = append(e.came, m.Payload)
			}
			return nil
		}})
		if err != nil {
			return err
		}
		if err := b.Subscribe("STATE", nil); err != nil {
			return err
		}
		c, err := b.Complete(ctx, options...)
		if err != nil {
			return err
		}
		e.Node = n
		if err := n.Join(c); err != nil {
			return err
		}
		for {
			err := turn(ctx, e)
			switch {
			case errors.Is(err, follower.ErrQuit):
				return c.Leave(ctx)
			case errors.Is(err, follower.ErrStreamsChanged):
				*seen = append(*seen, err.Error())
			case errors.Is(err, follower.ErrLeads):
				e.leads = true
				err = n.SetFollower(false)
				if err != nil {
					return err
				}
			case err != nil:
				return errors.Join(err, c.Fail(err))
			}
		}
	}}
}

// Acceptance test 11: the older pair of calls has the same frames as Await, with synchronisation and without, with discards, resets, changes of the
// streams, and when another node takes over.
func TestTheOlderPairHasTheSameFrames(t *testing.T) {
	for name, with := range map[string]map[string]any{
		"synchronised":     {"frames": 100, "frame_rate": "60000/1001", "reset": []any{7, 50}, "streams_changed": []any{0, 9}},
		"not synchronised": {"frames": 100, "sync": false, "reset": []any{7}, "streams_changed": []any{9}},
		"discarded":        {"frames": 60, "bounded": 1},
		"fails":            {"frames": 60},
	} {
		t.Run(name, func(t *testing.T) {
			var lead, second, third, awaits []string
			fails := uint64(1000)
			if name == "fails" {
				fails = 33
			}
			clienttest.Run(t, clienttest.World{}, director(t, nil, with), ship(&lead, fails), obey("second", follower.Understudy, &second),
				obey("third", follower.Follower, &third), node("awaits", follower.Options{}, 0, func(_ context.Context, n *follower.Node, f follower.FrameData, err error) error {
					if errors.Is(err, follower.ErrStreamsChanged) {
						awaits = append(awaits, err.Error())
						return nil
					}
					awaits = append(awaits, fmt.Sprint(f, byte(f.Frame+1)))
					return err
				}))
			require.NotEmpty(t, lead)
			if name == "fails" {
				assert.Len(t, lead, 33)
				lead = third
				assert.Len(t, lead, 60)
			}
			assert.Equal(t, lead, second)
			assert.Equal(t, lead, third)
			if name != "discarded" { // there a state is not that of the frame's number
				assert.Equal(t, lead, awaits)
			}
		})
	}
}

// Calls of the older pair that may not be made are refused, each with its own error, and the frame stays where it is.
func TestWrongCallsOfTheOlderPair(t *testing.T) {
	var lead, other counts
	clienttest.Run(t, clienttest.World{}, director(t, nil, map[string]any{"frames": 3}),
		node("lead", follower.Options{Role: follower.Controller}, 0, lead.show),
		node("other", follower.Options{}, 0, func(ctx context.Context, n *follower.Node, f follower.FrameData, err error) error {
			if err := other.show(ctx, n, f, err); err != nil {
				return err
			}
			if f.Frame > 0 {
				return nil
			}
			_, err = n.BeginFollowerFrame(ctx, 1)
			assert.ErrorIs(t, err, follower.ErrNotSet)
			require.NoError(t, n.SetFollower(true))
			_, err = n.Await(ctx, 0)
			assert.ErrorIs(t, err, follower.ErrSetFollower)
			_, err = n.BeginFollowerFrame(ctx, 0)
			assert.ErrorIs(t, err, follower.ErrOtherFrame)
			assert.ErrorContains(t, err, "node other, frame 1: ")
			code, _ := follower.CodeOf(err)
			assert.EqualValues(t, 8, code)
			f, err = n.BeginFollowerFrame(ctx, 16_666_667)
			require.NoError(t, other.show(ctx, n, f, err))
			return n.SetFollower(false)
		}))
	assert.Equal(t, lead.seen, other.seen)
	assert.Len(t, lead.seen, 3)
}
