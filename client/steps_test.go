package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/metasim"
	"metasim/wire"
)

// A loop of steps ends with the run, and then the client leaves.
func TestStepsEndWithTheRun(t *testing.T) {
	c, h := join(t, client.NewBuilder("a"))
	h.grant(theEnd, ms(1), ms(300), ms(999))
	seen := map[metasim.Time]int{}
	for at, msgs := range c.Steps(t.Context(), 250*time.Millisecond) {
		require.Equal(t, metasim.At(at), c.Now())
		seen[at] = len(msgs)
	}
	require.Equal(t, map[metasim.Time]int{0: 0, ms(250).Time: 1, ms(500).Time: 1, ms(750).Time: 0}, seen)
	require.NoError(t, c.Leave(t.Context()))
}

// The body of a loop of steps may break, leave, and step itself.
func TestStepsObeyTheirBody(t *testing.T) {
	for what, want := range map[string][]metasim.Time{"break": {0}, "leave": {0}, "step": {0, 7, 14}} {
		c, h := join(t, client.NewBuilder("a"))
		h.grant(theEnd)
		var seen []metasim.Time
		for at := range c.Steps(t.Context(), 7) {
			seen = append(seen, at)
			switch {
			case what == "leave":
				require.NoError(t, c.Leave(t.Context()))
			case len(seen) == 3:
				require.NoError(t, c.Leave(t.Context()))
			case what == "step":
				_, err := c.Step(t.Context(), at+7*metasim.Time(len(seen)-1)/2)
				require.NoError(t, err)
			}
			if what == "break" {
				break
			}
		}
		require.Equal(t, want, seen, what)
		require.NoError(t, c.Leave(t.Context()), what)
	}
}

// After its body has stepped further than the next step, a loop goes on with the next one that has not passed.
func TestStepsDoNotGoBack(t *testing.T) {
	c, h := join(t, client.NewBuilder("a"))
	h.grant(theEnd)
	var seen []metasim.Time
	for at := range c.Steps(t.Context(), 10) {
		if seen = append(seen, at); at > 60 {
			break
		}
		_, err := c.Step(t.Context(), at+25)
		require.NoError(t, err)
	}
	require.Equal(t, []metasim.Time{0, 30, 60, 90}, seen)
}

// What ends a loop of steps otherwise is what Leave returns, and the server is told.
func TestStepsFail(t *testing.T) {
	c, h := join(t, client.NewBuilder("a"))
	for range c.Steps(t.Context(), 0) {
		require.Fail(t, "it steps")
	}
	require.EqualError(t, c.Leave(t.Context()), `client "a": Steps(0s): use a positive step`)
	hears[*metasim.Advance](h)

	c, h = join(t, client.NewBuilder("a"))
	h.grant(ms(2))
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	for range c.Steps(ctx, time.Millisecond) {
		cancel(enough)
	}
	require.ErrorIs(t, c.Leave(t.Context()), enough)
}

// A run without an end says so.
func TestUntil(t *testing.T) {
	c, _ := join(t, client.NewBuilder("a"))
	end, ends := c.Until()
	require.True(t, ends)
	require.Equal(t, theEnd, end)

	c, _ = joinAs(t, client.NewBuilder("a"), welcome{until: metasim.Infinity})
	_, ends = c.Until()
	require.False(t, ends)
}

// An error of a handler ends Run, and the client: the server is told the reason, with the time.
func TestHandlerFails(t *testing.T) {
	fuel := errors.New("no fuel")
	for name, set := range map[string]func(b *client.Builder, fail func() error) func(c *client.Client){
		"message": func(b *client.Builder, fail func() error) func(c *client.Client) {
			require.NoError(t, b.Subscribe("X", func(client.Message) error { return fail() }))
			return func(*client.Client) {}
		},
		"timer": func(b *client.Builder, fail func() error) func(c *client.Client) {
			return func(c *client.Client) { c.Every(4*time.Millisecond, fail) }
		},
	} {
		calls := 0
		b := client.NewBuilder("a")
		begin := set(b, func() error { calls++; return fuel })
		c, h := join(t, b)
		begin(c)
		h.grant(theEnd, ms(4), ms(4))
		err := c.Run(t.Context())
		require.ErrorIs(t, err, fuel, name)
		require.EqualError(t, err, `client "a": at 4ms: no fuel`, name)
		require.Equal(t, 1, calls, name)
		_, again := c.Next(t.Context(), metasim.Forever)
		require.EqualError(t, again, err.Error(), "a client that has failed does nothing more, and says why")
		require.EqualError(t, c.Run(t.Context()), err.Error())
	}
}

// A handler cannot wait: that has its own sentence, and ends Run also where the handler drops the error.
func TestStepInAHandler(t *testing.T) {
	for _, wait := range []func(*client.Client) error{
		func(c *client.Client) error { _, err := c.Step(t.Context(), ms(9).Time); return err },
		func(c *client.Client) error { _, err := c.Next(t.Context(), ms(9).Time); return err },
		func(c *client.Client) error { return c.Run(t.Context()) },
	} {
		c, h := join(t, client.NewBuilder("a"))
		var inside error
		c.At(ms(5).Time, func() error { inside = wait(c); return nil })
		h.grant(theEnd)
		err := c.Run(t.Context())
		require.EqualError(t, err, `client "a": at 5ms: a handler of Run cannot step, nor run; set a timer, or return and wait for the next message`)
		require.Equal(t, err.Error(), inside.Error())
	}
}

// The result is asked for when the client leaves, and not before.
func TestOnLeave(t *testing.T) {
	for how, leave := range map[string]func(*client.Client) error{
		"Run":   func(c *client.Client) error { return c.Run(t.Context()) },
		"Leave": func(c *client.Client) error { return c.Leave(t.Context()) },
	} {
		c, h := join(t, client.NewBuilder("a"))
		require.NoError(t, c.SetResult("not this"))
		state, asked := 1, 0
		c.OnLeave(func() any { asked++; return map[string]int{"state": state} })
		state = 2
		h.grant(theEnd)
		require.Zero(t, asked)
		require.NoError(t, leave(c), how)
		require.NoError(t, c.Leave(t.Context()))
		require.Equal(t, 1, asked)
		for body := range h.heard {
			if l, ok := body.(*metasim.Leave); ok {
				require.JSONEq(t, `{"state": 2}`, string(l.Result))
				break
			}
		}
	}
	c, _ := join(t, client.NewBuilder("a"))
	c.OnLeave(func() any { return func() {} })
	require.ErrorContains(t, c.Leave(t.Context()), `client "a": result: json: unsupported type: func()`)
	require.ErrorContains(t, c.Leave(t.Context()), `client "a": result: json: unsupported type: func()`)
}

// A saver has a state of nothing, and notes when it is saved.
type saver struct{ save func() }

func (s saver) Save() ([]byte, error) { s.save(); return nil, nil }
func (s saver) Restore([]byte) error  { return nil }

// A client whose body steps itself makes checkpoints where the loop has put it, and begins there as it went on: it acts at the same times.
func TestStepsBeginAgain(t *testing.T) {
	run := func(at wire.Checkpoint) (seen []metasim.Time, made []wire.Checkpoint) {
		body := false
		b := client.NewBuilder("a")
		require.NoError(t, b.Checkpoints(saver{func() { require.False(t, body, "in the middle of a body") }}))
		c, h := joinAs(t, b, welcome{until: metasim.At(100), saves: at})
		h.grant(metasim.At(100))
		for now := range c.Steps(t.Context(), 10) {
			body = true
			seen = append(seen, now)
			switch now {
			case 20, 60: // it is between two steps then
				_, err := c.Step(t.Context(), now+5)
				require.NoError(t, err)
			case 50: // a checkpoint is due here
				_, err := c.Step(t.Context(), now)
				require.NoError(t, err)
			}
			body = false
		}
		require.NoError(t, c.Leave(t.Context()))
		for {
			switch said := (<-h.heard).(type) {
			case wire.Checkpoint:
				made = append(made, said)
			case *metasim.Leave:
				return seen, made
			}
		}
	}
	seen, made := run(wire.Checkpoint{Every: 25})
	require.Equal(t, []metasim.Time{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}, seen)
	require.Len(t, made, 3)
	require.Contains(t, made[0].Failed, "the client is between two steps of the loop")
	for i, at := range []metasim.Time{50, 80} {
		made := made[i+1]
		require.Equal(t, at, made.Now.Time)
		made.Every = 25
		again, _ := run(made)
		require.Equal(t, seen[at/10+1:], again)
	}
}
