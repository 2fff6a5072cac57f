package client_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/internal/shortdir"
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport/stream"
)

// servers listens as one server after the other does, by hand: each connection is a host of its own. The second one never answers a Leave.
func servers(t *testing.T, patience time.Duration) (url string, hosts chan *host, known chan wire.Known) {
	t.Helper()
	l, err := stream.Unix().Listen("unix://" + filepath.Join(shortdir.Make(t), "s"))
	require.NoError(t, err)
	hosts, known = make(chan *host, 10), make(chan wire.Known, 10)
	go func() {
		for n := 1; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			h := &host{t: t, conn: conn, heard: make(chan wire.Body, 1000), welcome: welcome{until: theEnd, patience: patience, known: known, stays: n == 2}}
			go h.serve()
			hosts <- h
		}
	}()
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l.URL(), hosts, known
}

// A client whose server dies while it waits comes back by itself: it sends again what the new server lacks, drops what it has handled, and the Step that
// waited returns as if nothing had been. Then its server dies again, while it leaves.
func TestComesBack(t *testing.T) {
	url, hosts, known := servers(t, time.Minute)
	b := client.NewBuilder("a")
	out := b.Publication("Y")
	require.NoError(t, b.Subscribe("X", nil))
	c, err := b.Complete(t.Context(), client.WithServer(url))
	require.NoError(t, err)
	first := <-hosts
	require.True(t, hears[wire.Hello](first).Returns)
	first.grant(ms(5), ms(1))
	msgs, err := c.Step(t.Context(), ms(3).Time)
	require.NoError(t, err)
	require.Equal(t, []metasim.Instant{ms(1)}, dues(msgs))
	require.NoError(t, out.Publish([]byte("lost")))

	stepped := make(chan error)
	go func() {
		_, err := c.Step(t.Context(), ms(10).Time)
		stepped <- err
	}()
	for waits := false; !waits; {
		body := <-first.heard
		poll, ok := body.(*metasim.PollWait)
		waits = ok && poll.Want == ms(10)
	}
	known <- wire.Known{}
	require.NoError(t, first.conn.Close())
	second := <-hosts
	require.Equal(t, &wire.Back{Sent: 1, Handled: 1}, hears[wire.Hello](second).Back)
	require.Equal(t, ms(3), hears[*metasim.PollWait](second).Want, "it asks for where it sent what the server lacks")
	second.grant(ms(4), ms(1))
	again := hears[*metasim.Send](second)
	require.Equal(t, "lost", string(again.Payload))
	require.Equal(t, ms(3), again.Sent)
	require.Equal(t, ms(10), hears[*metasim.PollWait](second).Want)
	second.grant(theEnd)
	require.NoError(t, <-stepped)
	require.Equal(t, ms(10), c.Now())

	known <- wire.Known{Sent: 1, Delivered: 1, Now: ms(10), NoSendBefore: ms(10)}
	left := make(chan error)
	go func() { left <- c.Leave(t.Context()) }()
	hears[*metasim.Leave](second)
	require.NoError(t, second.conn.Close())
	third := <-hosts
	hears[wire.Hello](third)
	hears[*metasim.PollWait](third)
	third.grant(theEnd)
	hears[*metasim.Leave](third)
	require.NoError(t, <-left)
}

// A client waits for its server no longer than the scenario says, and says what to do.
func TestDoesNotComeBack(t *testing.T) {
	url, hosts, _ := servers(t, time.Millisecond)
	c, err := client.NewBuilder("a").Complete(t.Context(), client.WithServer(url))
	require.NoError(t, err)
	h := <-hosts
	hears[wire.Hello](h)
	require.NoError(t, h.conn.Close())
	_, err = c.Step(t.Context(), ms(10).Time)
	require.ErrorContains(t, err, "nobody was at its address again within 1ms")
	require.ErrorContains(t, err, "use metasim resume, or start its relay there again, as the client knows no other address; raise start_timeout")
}

// A server that has more of a client than the client has sent is told so, and the client ends.
func TestComesBackToAStranger(t *testing.T) {
	url, hosts, known := servers(t, time.Minute)
	c, err := client.NewBuilder("a").Complete(t.Context(), client.WithServer(url))
	require.NoError(t, err)
	h := <-hosts
	hears[wire.Hello](h)
	known <- wire.Known{Sent: 7}
	require.NoError(t, h.conn.Close())
	_, err = c.Step(t.Context(), ms(10).Time)
	require.ErrorContains(t, err, "the resumed server has 7 messages of it, and it has sent 0")
}

// A latest keeps the last message that it was given.
type latest struct {
	c       *client.Client
	payload string
	given   metasim.Instant
	fails   error
}

func (l *latest) Take(m client.Message) error {
	l.payload, l.given = string(m.Payload), l.c.Given()
	return l.fails
}
func (l *latest) Save() ([]byte, error)  { return []byte(l.payload), nil }
func (l *latest) Restore(b []byte) error { l.payload = string(b); return nil }

// An input is given messages before Step returns, which it does not show, unless a subscription asks for them too; and what it fails with is what
// Step returns.
func TestInputs(t *testing.T) {
	b := client.NewBuilder("a")
	in := &latest{}
	require.NoError(t, b.Input("X", in))
	require.Error(t, client.NewBuilder("a").Input("(", in), "no pattern")
	out := b.Publication("Y")
	require.True(t, b.Publishes("Y"))
	require.False(t, b.Publishes("X"))
	c, h := join(t, b)
	in.c = c
	require.Same(t, c, out.Client())
	require.Empty(t, c.About().Entry, "this server tells nothing")
	require.Same(t, c.Rand("x"), c.Rand("x"), "the stream goes on")
	h.grant(ms(4), ms(1), ms(2))
	msgs, err := c.Step(t.Context(), ms(3).Time)
	require.NoError(t, err)
	require.Empty(t, msgs)
	require.Equal(t, ms(2).String(), in.payload)
	require.Equal(t, ms(2), in.given, "it is asked while the message is given")
	require.Equal(t, msStep(3, 1), c.Given())
	require.False(t, c.InRun())
	require.NoError(t, out.PublishOwned([]byte("mine")))

	in.fails = errors.New("it cannot be read")
	h.grant(theEnd, ms(4))
	_, err = c.Step(t.Context(), ms(5).Time)
	require.ErrorIs(t, err, in.fails)
	require.NoError(t, c.Leave(t.Context()))
}

// A checkpoint has what the inputs keep, and a client that begins at it has it again; one that has other inputs is refused.
func TestInputsInACheckpoint(t *testing.T) {
	begin := func(inputs int, at wire.Checkpoint) ([]*latest, *client.Client, *host, error) {
		b := client.NewBuilder("a")
		var all []*latest
		for range inputs {
			all = append(all, &latest{})
			require.NoError(t, b.Input("X", all[len(all)-1]))
		}
		require.NoError(t, b.Checkpoints(saver{func() {}}))
		c, h, err := completeAs(t, b, welcome{until: theEnd, saves: at})
		for _, in := range all {
			in.c = c
		}
		t.Cleanup(func() { require.NoError(t, h.conn.Close()) })
		return all, c, h, err
	}
	_, c, h, err := begin(1, wire.Checkpoint{Every: metasim.Millisecond})
	require.NoError(t, err)
	h.grant(theEnd, ms(1))
	_, err = c.Step(t.Context(), ms(2).Time)
	require.NoError(t, err)
	_, err = c.Step(t.Context(), ms(3).Time)
	require.NoError(t, err)
	require.NoError(t, c.Leave(t.Context()))
	var made wire.Checkpoint
	for body := range h.heard {
		if kept, ok := body.(wire.Checkpoint); ok {
			made = kept
			break
		}
	}
	require.Empty(t, made.Failed)
	made.Every = metasim.Millisecond

	all, c, _, err := begin(1, made)
	require.NoError(t, err)
	require.Equal(t, made.Now, c.Now())
	require.Equal(t, ms(1).String(), all[0].payload)
	require.NoError(t, c.Leave(t.Context()))
	_, _, _, err = begin(2, made)
	require.ErrorContains(t, err, "it has other inputs than when the checkpoint was made")
}
