package client_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/metasim"
)

// runs runs a client against a server that lets it go on to the end at once, and returns the log that its handlers kept.
func runs(t *testing.T, b *client.Builder, set func(c *client.Client, log func(string)), dues ...metasim.Instant) ([]string, error) {
	t.Helper()
	var c *client.Client
	var lines []string
	log := func(what string) { lines = append(lines, fmt.Sprint(c.Now(), " ", what)) }
	require.NoError(t, b.Subscribe("X", func(m client.Message) error { log(fmt.Sprint("message ", m.Seq)); return nil }))
	c, h := join(t, b)
	set(c, log)
	h.grant(theEnd, dues...)
	return lines, c.Run(t.Context())
}

// does is a handler that does not fail.
func does(f func()) func() error { return func() error { f(); return nil } }

// At one instant messages come before timers, and timers in the order in which they were set.
func TestRunOrder(t *testing.T) {
	lines, err := runs(t, client.NewBuilder("a"), func(c *client.Client, log func(string)) {
		c.At(ms(10).Time, does(func() {
			log("first")
			c.After(0, does(func() { log("set at the present instant") }))
			c.At(ms(10).Time, does(func() { log("and this") }))
		}))
		every := c.Every(5*time.Millisecond, does(func() {
			log("every")
			c.After(5*time.Millisecond, does(func() { log("set before every's next") }))
		}))
		c.At(ms(10).Time, does(func() { log("second") }))
		c.AtInstant(msStep(10, 1), does(func() { log("a step later") }))
		c.At(ms(15).Time, does(every.Stop))
		stopped := c.At(ms(10).Time, does(func() { log("never") }))
		c.After(0, does(stopped.Stop))
		c.At(metasim.Second, does(func() { log("never: that is the end") }))
	}, ms(10), ms(10), msStep(10, 1))
	require.NoError(t, err)
	require.Equal(t, []string{
		"5ms every",
		"10ms message 1", "10ms message 2",
		"10ms first", "10ms second", "10ms set before every's next", "10ms every", "10ms set at the present instant", "10ms and this",
		"10ms+1 message 3", "10ms+1 a step later",
		"15ms set before every's next",
	}, lines)
}

// A periodic timer may stop itself; one that is stopped twice, or after it fired, minds not.
func TestStop(t *testing.T) {
	lines, err := runs(t, client.NewBuilder("a"), func(c *client.Client, log func(string)) {
		var every, once *client.Timer
		n := 0
		every = c.Every(time.Millisecond, does(func() {
			if n++; n == 3 {
				every.Stop()
				once.Stop()
			}
			log("every")
		}))
		once = c.At(ms(2).Time, does(func() { log("once") }))
	})
	require.NoError(t, err)
	require.Equal(t, []string{"1ms every", "2ms once", "2ms every", "3ms every"}, lines)
}

// A timer that cannot be is refused by Run, before or while it runs, and nothing happens after it.
func TestImpossibleTimers(t *testing.T) {
	for is, set := range map[string]func(c *client.Client){
		"went back in time at -1ns: the bound was 0s":     func(c *client.Client) { c.At(-1, nil) },
		"After(-1s) at 0s: use a positive duration, or 0": func(c *client.Client) { c.After(-time.Second, nil) },
		"Every(0s): use a positive period":                func(c *client.Client) { c.Every(0, nil) },
		"Every(-1s): use a positive period":               func(c *client.Client) { c.Every(-time.Second, nil) },
		"at 4ms: the bound was 5ms": func(c *client.Client) {
			c.At(ms(5).Time, does(func() { c.At(ms(4).Time, nil) }))
		},
	} {
		lines, err := runs(t, client.NewBuilder("a"), func(c *client.Client, log func(string)) {
			set(c)
			c.At(ms(6).Time, does(func() { log("after all") }))
		})
		require.ErrorContains(t, err, is)
		require.Empty(t, lines)
	}
}

// A publish that is refused ends Run with the violation, and nothing of it is sent; before Run the caller has dealt with it.
func TestRefusedPublishEndsRun(t *testing.T) {
	b := client.NewBuilder("a")
	out := b.Publication("Y")
	lines, err := runs(t, b, func(c *client.Client, log func(string)) {
		require.NoError(t, c.Promise(ms(5).Time))
		require.Error(t, out.Publish(nil))
		c.At(ms(4).Time, does(func() {
			log("early")
			require.Error(t, out.Publish(nil))
		}))
		c.At(ms(6).Time, does(func() { log("never") }))
	})
	require.Equal(t, []string{"4ms early"}, lines)
	var v *metasim.Violation
	require.ErrorAs(t, err, &v)
	require.Equal(t, &metasim.Violation{
		Rule: metasim.SendBeforePromise, Client: "a", Channel: "Y", At: ms(4), Bound: ms(5),
	}, v)
}

// An answer that is sooner than the declared reaction is refused here: in the handler, and from a timer that it set.
func TestReaction(t *testing.T) {
	for delay, ok := range map[time.Duration]bool{0: false, 9: false, 10: true, 11: true} {
		b := client.NewBuilder("a")
		out := b.Publication("Y")
		require.NoError(t, b.Reaction(10*time.Millisecond))
		var c *client.Client
		require.NoError(t, b.Subscribe("X", func(client.Message) error {
			c.After(delay*time.Millisecond, does(func() {
				err := out.Publish(nil)
				require.Equal(t, ok, err == nil, "%v: %v", delay, err)
			}))
			return nil
		}))
		c, h := join(t, b)
		h.grant(theEnd, ms(5), ms(20))
		if err := c.Run(t.Context()); ok {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, metasim.SendBeforePromise)
			require.ErrorContains(t, err, "; it has promised to answer messages after its Reaction of 10ms: send in a timer (After)")
		}
		require.Equal(t, 10*metasim.Millisecond, h.hello.Reaction)
	}
}

// The handler that leaves is the last that is called.
func TestHandlerLeaves(t *testing.T) {
	lines, err := runs(t, client.NewBuilder("a"), func(c *client.Client, log func(string)) {
		c.At(ms(5).Time, does(func() {
			log("leaves")
			require.NoError(t, c.Leave(t.Context()))
		}))
		c.At(ms(5).Time, does(func() { log("never") }))
	}, ms(6))
	require.NoError(t, err)
	require.Equal(t, []string{"5ms leaves"}, lines)
}

// Step, then Run: what Step left is handled in Run, and a timer that Step passed is called at the present instant.
func TestStepThenRun(t *testing.T) {
	b := client.NewBuilder("a")
	var lines []string
	var c *client.Client
	require.NoError(t, b.Subscribe("X", func(m client.Message) error { lines = append(lines, fmt.Sprint(c.Now(), " ", m.Due)); return nil }))
	c, h := join(t, b)
	c.At(ms(5).Time, does(func() { lines = append(lines, fmt.Sprint(c.Now(), " timer")) }))
	h.grant(theEnd, ms(3), ms(10), msStep(10, 1), ms(12))
	msgs, err := c.Step(t.Context(), ms(10).Time)
	require.NoError(t, err)
	require.Len(t, msgs, 2)
	require.NoError(t, c.Run(t.Context()))
	require.Equal(t, []string{"10ms timer", "10ms+1 10ms+1", "12ms 12ms"}, lines)
	now := metasim.Start
	for body := range h.heard {
		if a, ok := body.(*metasim.Advance); ok {
			require.False(t, a.Now.Before(now), "%v after %v", a.Now, now)
			now = a.Now
		}
		if _, ok := body.(*metasim.Leave); ok {
			break
		}
	}
}
