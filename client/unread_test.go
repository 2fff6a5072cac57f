package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/metasim"
	"metasim/wire"
)

// awaits is a client that has heard a message of 1 ms during an Await until 3 ms, and the host that goes on to grant as far as it is told to.
func awaits(t *testing.T, granted metasim.Instant, b *client.Builder) (*client.Client, *host) {
	t.Helper()
	c, h := join(t, b)
	h.grant(granted, ms(1))
	require.NoError(t, c.Await(t.Context(), ms(3).Time, func() bool { return false }))
	require.Equal(t, ms(3), c.Now())
	return c, h
}

// grantsAll has the host grant all that is left when the client waits for something after 3 ms.
func (h *host) grantsAll() {
	go func() {
		for body := range h.heard {
			if poll, ok := body.(*metasim.PollWait); ok && ms(3).Before(poll.Want) {
				h.grant(theEnd)
			}
		}
	}()
}

// Run calls the handlers of what came during an Await before it promises anything: they may send and set timers, whether the server has
// authorized the client to go on, or not yet.
func TestRunAfterAwait(t *testing.T) {
	for how, granted := range map[string]metasim.Instant{"granted early": theEnd, "granted late": ms(4)} {
		b := client.NewBuilder("a")
		out := b.Publication("Y")
		var c *client.Client
		var fired []metasim.Instant
		require.NoError(t, b.Subscribe("X", func(client.Message) error {
			c.After(500*time.Microsecond, func() error { fired = append(fired, c.Now()); return out.Publish(nil) })
			return out.Publish(nil)
		}))
		c, h := awaits(t, granted, b)
		c.After(2*time.Millisecond, func() error { fired = append(fired, c.Now()); return nil })
		h.grantsAll()
		require.NoError(t, c.Run(t.Context()), how)
		require.Equal(t, []metasim.Instant{metasim.At(3500 * metasim.Microsecond), ms(5)}, fired, how)
	}
}

// A Step that is interrupted, or refused, keeps what came during an Await for the next one.
func TestStepKeepsWhatIsUnread(t *testing.T) {
	c, h := awaits(t, ms(4), client.NewBuilder("a"))
	_, err := c.Step(t.Context(), ms(2).Time)
	require.ErrorAs(t, err, new(*metasim.Violation))
	ctx, cancel := context.WithCancel(client.Interruptible(t.Context()))
	cancel()
	for range 2 {
		msgs, err := c.Step(ctx, ms(5).Time)
		require.ErrorIs(t, err, client.ErrInterrupted)
		require.Empty(t, msgs)
	}
	h.grant(theEnd, ms(4))
	msgs, err := c.Step(t.Context(), ms(5).Time)
	require.NoError(t, err)
	require.Equal(t, []metasim.Instant{ms(1), ms(4)}, dues(msgs))
}

// After an Await that was interrupted another call does not see what came meanwhile: the client may do nothing before it has come to its goal.
func TestInterruptedAwait(t *testing.T) {
	c, h := join(t, client.NewBuilder("a"))
	h.grant(ms(2), ms(1))
	require.NoError(t, c.Await(t.Context(), ms(3).Time, func() bool { return c.Now() == ms(1) }))
	ctx, cancel := context.WithCancel(client.Interruptible(t.Context()))
	cancel()
	never := func() bool { return false }
	require.ErrorIs(t, c.Await(ctx, ms(3).Time, never), client.ErrInterrupted)
	_, err := c.Next(t.Context(), ms(3).Time)
	require.ErrorContains(t, err, "a wait was interrupted, and this is another one")
	h.grant(theEnd)
	require.NoError(t, c.Await(t.Context(), ms(3).Time, never))
	msgs, err := c.Next(t.Context(), ms(9).Time)
	require.NoError(t, err)
	require.Equal(t, []metasim.Instant{ms(1)}, dues(msgs))
}

// A Step of a client with a period promises the next multiple after its goal, whether it has to wait or not.
func TestAStepPromisesItsPeriod(t *testing.T) {
	for how, granted := range map[string]metasim.Instant{"granted early": theEnd, "granted late": ms(4)} {
		b := client.NewBuilder("a")
		require.NoError(t, b.SendsOnlyEvery(10*time.Millisecond))
		c, h := awaits(t, granted, b)
		h.grantsAll()
		_, err := c.Step(t.Context(), ms(12).Time)
		require.NoError(t, err)
		var regress *metasim.Violation
		require.ErrorAs(t, c.Promise(ms(15).Time), &regress, how)
		require.Equal(t, ms(20), regress.Bound, how)
	}
}

// A checkpoint that is due while messages of an Await are unread is left out, and the server is told why.
func TestNoCheckpointWithWhatIsUnread(t *testing.T) {
	b := client.NewBuilder("a")
	require.NoError(t, b.Checkpoints(saver{func() { require.Fail(t, "it is saved") }}))
	c, h := joinAs(t, b, welcome{until: theEnd, saves: wire.Checkpoint{Every: 2 * metasim.Millisecond}})
	h.grant(theEnd, ms(1))
	require.NoError(t, c.Await(t.Context(), ms(3).Time, func() bool { return false }))
	_, err := c.Step(t.Context(), ms(3).Time)
	require.NoError(t, err)
	require.NoError(t, c.Leave(t.Context()))
	var failed []string
	for body := range h.heard {
		if made, ok := body.(wire.Checkpoint); ok {
			failed = append(failed, made.Failed)
		}
		if _, ok := body.(*metasim.Leave); ok {
			break
		}
	}
	require.Len(t, failed, 1)
	require.Contains(t, failed[0], "messages that came during an Await or Call are not read yet")
}
