package client_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport/mem"
)

// Step returns all that is due at its time or before, and nothing of what lies beyond, however much is known of that.
func TestStep(t *testing.T) {
	c, h := join(t, client.NewBuilder("a"))
	ctx := t.Context()
	h.grant(ms(50), ms(1), ms(10), msStep(10, 1), ms(20), ms(30))
	msgs, err := c.Step(ctx, ms(10).Time)
	require.NoError(t, err)
	require.Equal(t, []metasim.Instant{ms(1), ms(10)}, dues(msgs))
	require.Equal(t, client.Message{From: "b", Channel: "X", Seq: 1, Due: ms(1), Payload: []byte("1ms")}, msgs[0])
	require.Equal(t, ms(10), c.Now())
	msgs, err = c.Step(ctx, ms(10).Time) // where it is already
	require.NoError(t, err)
	require.Empty(t, msgs)
	msgs, err = c.Step(ctx, ms(20).Time)
	require.NoError(t, err)
	require.Equal(t, []metasim.Instant{msStep(10, 1), ms(20)}, dues(msgs))
	_, err = c.Step(ctx, ms(19).Time)
	require.ErrorIs(t, err, metasim.TimeRegress)
	require.Equal(t, ms(20), c.Now(), "a refused step changes nothing")
	msgs, err = c.Next(ctx, ms(49).Time)
	require.NoError(t, err)
	require.Equal(t, []metasim.Instant{ms(30)}, dues(msgs))
	require.Equal(t, uint64(5), h.quitsAfter(c).Acked)
}

// quitsAfter has the client leave, and forgets what it said before.
func (h *host) quitsAfter(c *client.Client) *metasim.Leave {
	h.t.Helper()
	require.NoError(h.t, c.Leave(h.t.Context()))
	for body := range h.heard {
		if l, ok := body.(*metasim.Leave); ok {
			return l
		}
	}
	require.Fail(h.t, "no leave")
	return &metasim.Leave{}
}

// Next returns at the next message or at its limit; messages at several steps of one time come one step at a time.
func TestNext(t *testing.T) {
	c, h := join(t, client.NewBuilder("a"))
	ctx := t.Context()
	h.grant(ms(50), ms(5), msStep(5, 1), msStep(5, 1), ms(40))
	for _, want := range []struct {
		limit metasim.Time
		now   metasim.Instant
		n     int
	}{
		{4, ms(4), 0}, {9, ms(5), 1}, {5, ms(5), 0}, {6, msStep(5, 1), 2}, {5, msStep(5, 1), 0}, {40, ms(40), 1}, {49, ms(49), 0},
	} {
		msgs, err := c.Next(ctx, want.limit*metasim.Millisecond)
		require.NoError(t, err)
		require.Equal(t, want.now, c.Now())
		require.Len(t, msgs, want.n)
	}
	h.quitsAfter(c)
}

// At the end a Step gives what was due before it, and the client has promised to send nothing before where it wanted to
// go; whatever it asks for then, it breaks no rule.
func TestErrEnd(t *testing.T) {
	b := client.NewBuilder("a")
	out := b.Publication("X")
	c, h := join(t, b)
	ctx := t.Context()
	h.grant(theEnd, ms(1), ms(999))
	msgs, err := c.Step(ctx, 2*metasim.Second)
	require.ErrorIs(t, err, client.ErrEnd)
	require.Equal(t, []metasim.Instant{ms(1), ms(999)}, dues(msgs))
	require.Equal(t, metasim.Start, c.Now())
	require.ErrorIs(t, out.Publish(nil), metasim.SendBeforePromise)
	poll := hears[*metasim.PollWait](h)
	require.Equal(t, metasim.At(2*metasim.Second), poll.NoSendBefore)
	_, err = c.Next(ctx, metasim.Second)
	require.ErrorIs(t, err, client.ErrEnd)
	_, err = c.Step(ctx, ms(500).Time) // less than what it wanted before: the promise stays
	require.NoError(t, err)
	for range 2 {
		switch body := (<-h.heard).(type) {
		case *metasim.PollWait:
			require.Equal(t, poll.NoSendBefore, body.NoSendBefore)
		case *metasim.Advance:
			require.Equal(t, poll.NoSendBefore, body.NoSendBefore)
		}
	}
	require.ErrorIs(t, out.Publish(nil), metasim.SendBeforePromise)
	h.quitsAfter(c)
}

// What a client has promised it cannot send, and nothing of it reaches the wire; it may go on.
func TestPromise(t *testing.T) {
	b := client.NewBuilder("a")
	out := b.Publication("X")
	c, h := join(t, b)
	require.NoError(t, out.Publish([]byte("first")))
	h.silent() // it leaves with the next wait
	require.NoError(t, c.Promise(ms(5).Time))
	require.Equal(t, []byte("first"), hears[*metasim.Send](h).Payload)
	require.Equal(t, &metasim.Promise{NoSendBefore: ms(5)}, hears[*metasim.Promise](h))
	var v *metasim.Violation
	require.ErrorAs(t, out.Publish([]byte("second")), &v)
	require.Equal(t, &metasim.Violation{Rule: metasim.SendBeforePromise, Client: "a", Channel: "X", Bound: ms(5)}, v)
	require.ErrorIs(t, c.Promise(ms(4).Time), metasim.PromiseRegress)
	require.ErrorIs(t, c.Promise(-1), metasim.PromiseRegress)
	h.grant(ms(9), ms(2), msStep(6, 2))
	_, err := c.Next(t.Context(), ms(5).Time) // wakes at 2 ms, and may not answer
	require.NoError(t, err)
	require.ErrorAs(t, out.Publish([]byte("third")), &v)
	_, err = c.Next(t.Context(), ms(8).Time)
	require.NoError(t, err)
	require.Equal(t, msStep(6, 2), c.Now())
	require.NoError(t, c.Promise(ms(6).Time), "the present time is the present instant")
	require.NoError(t, out.Publish([]byte("fourth")))
	hears[*metasim.Advance](h)
	require.Equal(t, ms(5), hears[*metasim.Advance](h).NoSendBefore)
	require.Equal(t, &metasim.Promise{NoSendBefore: msStep(6, 2)}, hears[*metasim.Promise](h))
	require.NoError(t, c.Leave(t.Context()))
	require.Equal(t, []byte("fourth"), hears[*metasim.Send](h).Payload)
}

// A promise of a client that waits next is one write with what it publishes before and with its wait. It counts at once.
func TestPromiseThenWait(t *testing.T) {
	b := client.NewBuilder("a")
	out := b.Publication("X")
	c, h := join(t, b)
	before := h.reads.Load()
	require.NoError(t, out.Publish([]byte("first")))
	require.NoError(t, c.PromiseThenWait(ms(5).Time))
	require.ErrorIs(t, out.Publish(nil), metasim.SendBeforePromise)
	require.ErrorIs(t, c.PromiseThenWait(ms(4).Time), metasim.PromiseRegress)
	waited := make(chan error, 1)
	go func() {
		_, err := c.Next(t.Context(), ms(8).Time)
		waited <- err
	}()
	require.Equal(t, []byte("first"), hears[*metasim.Send](h).Payload)
	require.Equal(t, &metasim.Promise{NoSendBefore: ms(5)}, hears[*metasim.Promise](h))
	require.Equal(t, ms(5), hears[*metasim.PollWait](h).NoSendBefore)
	require.Equal(t, before+1, h.reads.Load())
	h.grant(ms(9))
	require.NoError(t, <-waited)
	require.Equal(t, ms(8), c.Now())
}

// A payload that no frame holds is refused before anything is sent, and so is a result.
func TestTooLarge(t *testing.T) {
	b := client.NewBuilder("a")
	out := b.Publication("X")
	c, h := join(t, b)
	require.ErrorAs(t, out.Publish(make([]byte, wire.MaxPayload+1)), new(*wire.ProtocolError))
	require.ErrorAs(t, c.SetResult(strings.Repeat("x", wire.MaxControl)), new(*wire.ProtocolError))
	require.ErrorContains(t, c.SetResult(func() {}), "client \"a\": result: json")
	require.NoError(t, c.SetResult(map[string]int{"rounds": 3}))
	require.JSONEq(t, `{"rounds":3}`, string(h.quits(c).Result))
}

// A payload in parts is sent as one, and the caller may use them again at once, however large they are. It is checked as any other.
func TestPublishParts(t *testing.T) {
	b := client.NewBuilder("a")
	out := b.Publication("X")
	require.ErrorContains(t, out.PublishParts([]byte("x")), "before the client has joined")
	c, h := join(t, b)
	head, state := []byte("head"), bytes.Repeat([]byte("state"), 1<<18)
	want := append(bytes.Clone(head), state...)
	for _, publish := range []func() error{
		func() error { return out.PublishParts(head, nil, state[:5]) },
		func() error { return out.PublishParts() },
		func() error { return out.PublishParts(head, state) },
		func() error { return out.Publish(state) },
	} {
		require.NoError(t, publish())
	}
	clear(head)
	clear(state)
	require.NoError(t, c.Promise(ms(5).Time))
	for _, payload := range [][]byte{want[:9], {}, want, want[4:]} {
		require.Equal(t, string(payload), string(hears[*metasim.Send](h).Payload))
	}
	hears[*metasim.Promise](h)
	require.ErrorIs(t, out.PublishParts([]byte("early")), metasim.SendBeforePromise)
	h.quitsAfter(c)
}

// A client that has left does nothing any more.
func TestAfterLeave(t *testing.T) {
	b := client.NewBuilder("a")
	out := b.Publication("X")
	c, h := join(t, b)
	h.quits(c)
	require.NoError(t, c.Leave(t.Context()), "leaving twice is no error")
	_, step := c.Step(t.Context(), 1)
	_, next := c.Next(t.Context(), 1)
	for _, err := range []error{out.Publish(nil), c.Promise(1), step, next, c.SetResult(1)} {
		require.ErrorIs(t, err, client.ErrLeft)
	}
	require.NoError(t, c.Run(t.Context()))
	require.NoError(t, c.Close())
	h.silent()
}

// A server that goes away ends the client, with the server's reason if it gave one: also when the client was writing.
func TestServerGoes(t *testing.T) {
	for _, writing := range []bool{false, true} {
		for _, reason := range []wire.Body{nil, wire.Refuse{Reason: wire.RunFailed, Text: "the run failed: no more"}} {
			b := client.NewBuilder("a")
			out := b.Publication("X")
			c, h := join(t, b)
			if reason != nil {
				h.say(reason)
			}
			require.NoError(t, h.conn.Close())
			var err error
			if writing {
				require.NoError(t, out.Publish(nil))
				err = c.Promise(1)
			} else {
				_, err = c.Step(t.Context(), 1)
			}
			if reason != nil {
				require.ErrorIs(t, err, &wire.RefusedError{Reason: wire.RunFailed})
				require.EqualError(t, err, "the run failed: no more")
			} else {
				require.ErrorContains(t, err, "client \"a\": the server went away at 0s")
			}
			require.Equal(t, err, c.Leave(t.Context()), "and it stays so")
			require.Equal(t, err, out.Publish(nil))
		}
	}
}

// A context that ends while the client waits ends the client, and its connection: nobody is to wait for it.
func TestCancelled(t *testing.T) {
	c, h := join(t, client.NewBuilder("a"))
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Millisecond, func() { cancel(enough) })
	_, err := c.Step(ctx, ms(5).Time)
	require.ErrorIs(t, err, enough)
	require.EqualError(t, err, "client \"a\": waiting at 0s: enough")
	hears[*metasim.PollWait](h)
	require.Equal(t, wire.Failed{Reason: "waiting at 0s: enough"}, hears[wire.Failed](h))
	select {
	case body, open := <-h.heard:
		require.False(t, open, "%v", body)
	case <-time.After(20 * time.Second):
		require.Fail(t, "the connection is still there")
	}
	_, err = c.Step(t.Context(), ms(5).Time)
	require.ErrorIs(t, err, enough, "it cannot be used afterwards")
}

// A client that sends at multiples of a period alone promises the next of them with each report, whatever it hears between them, and is held
// to it.
func TestSendsOnlyEvery(t *testing.T) {
	b := client.NewBuilder("a")
	out := b.Publication("X")
	require.NoError(t, b.SendsOnlyEvery(10*time.Millisecond))
	c, h := join(t, b)
	ctx := t.Context()
	require.NoError(t, out.Publish(nil), "at the start")
	h.grant(ms(6), ms(3))
	_, err := c.Next(ctx, ms(25).Time)
	require.NoError(t, err)
	hears[*metasim.Send](h)
	require.Equal(t, ms(10), hears[*metasim.Advance](h).NoSendBefore)
	var v *metasim.Violation
	err = out.Publish(nil)
	require.ErrorContains(t, err, "; it has promised to send only at multiples of 10ms (SendsOnlyEvery)")
	require.ErrorAs(t, err, &v)
	require.Equal(t, &metasim.Violation{Rule: metasim.SendBeforePromise, Client: "a", Channel: "X", At: ms(3), Bound: ms(10)}, v)

	h.grant(ms(18), ms(10), msStep(10, 1), ms(17))
	for _, at := range []metasim.Instant{ms(10), msStep(10, 1), ms(17)} {
		_, err = c.Next(ctx, ms(25).Time)
		require.NoError(t, err)
		require.Equal(t, at, c.Now())
		err := out.Publish(nil)
		require.Equal(t, at != ms(10), err != nil, "%v: %v", at, err)
	}
	h.grant(theEnd)
	for _, to := range []metasim.Time{25, 30, 35} { // steps that miss the period send nothing, however they came about
		_, err = c.Step(ctx, ms(to).Time)
		require.NoError(t, err)
		require.Equal(t, to != 30, out.Publish(nil) != nil)
	}
	require.NoError(t, c.Leave(ctx))
}

// Under Run a client acts at a multiple of its period as often as it has to, before it goes on.
func TestSendsOnlyEveryInRun(t *testing.T) {
	b := client.NewBuilder("a")
	require.NoError(t, b.SendsOnlyEvery(10*time.Millisecond))
	out := b.Publication("Y")
	lines, err := runs(t, b, func(c *client.Client, log func(string)) {
		send := func() error { log("sends"); return out.Publish(nil) }
		c.After(0, send)
		c.Every(10*time.Millisecond, func() error {
			c.After(0, send)
			return send()
		})
		c.At(ms(25).Time, func() error { return c.Leave(t.Context()) })
	}, ms(4))
	require.NoError(t, err)
	require.Equal(t, []string{"0s sends", "4ms message 1", "10ms sends", "10ms sends", "20ms sends", "20ms sends"}, lines)
	b = client.NewBuilder("a")
	require.EqualError(t, b.SendsOnlyEvery(0), `client "a": the period between sends is 0s; use a positive duration`)
	conn, _ := mem.Pipe("client", "server")
	_, err = b.Complete(t.Context(), client.WithConn(conn))
	require.ErrorContains(t, err, "the period between sends")
}
