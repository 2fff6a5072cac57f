package server_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/golden"
	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
)

// stages are the points of a client's life at which its connection drops. They leave the other client, b, waiting for a,
// except where a waits for b.
var stages = []struct {
	name string
	live func(r *running) *peer // returns a
}{
	{"joined", func(r *running) *peer { return r.join(mutual("a"))[0] }},
	{"epsilon", func(r *running) *peer {
		peers := r.start(mutual("a"), mutual("b"))
		peers[1].say(idle(0))
		return peers[0]
	}},
	{"computing", func(r *running) *peer {
		peers := r.start(mutual("a"), mutual("b"))
		peers[1].say(idle(0))
		poll := until(at(0), at(5))
		poll.NoSendBefore = at(3)
		peers[0].say(&metasim.Promise{NoSendBefore: at(3)}, poll)
		hear[*metasim.Authorize](peers[0])
		peers[0].say(&metasim.Promise{NoSendBefore: at(7)})
		return peers[0]
	}},
	{"waiting", func(r *running) *peer {
		peers := r.start(mutual("a"), mutual("b"))
		peers[1].say(until(at(0), at(2)))
		peers[0].say(until(at(0), at(1)))
		hear[*metasim.Authorize](peers[0])
		peers[0].say(until(at(1), metasim.Infinity))
		hear[*metasim.Authorize](peers[1])
		return peers[0]
	}},
}

// mutual is a client that gets every message, its own included, so that each client may wait for each.
func mutual(name string) wire.Hello {
	h := hello(name)
	h.Publications, h.Subscriptions = []string{"X"}, []string{"X"}
	return h
}

// untilTheEnd hears authorizations until there is nothing more to wait for.
func (p *peer) untilTheEnd() {
	p.t.Helper()
	for hear[*metasim.Authorize](p).Until != metasim.Infinity {
	}
}

// A connection that drops ends the run with all that is known of the client; the others are told.
func TestLost(t *testing.T) {
	var story strings.Builder
	for _, stage := range stages {
		for _, o := range []server.ProcessEnd{{}, {Exit: "signal: killed", Output: []string{"panic: out of pole", "goroutine 1"}}} {
			c := config("a", "b")
			if o.Exit != "" {
				c.ProcessEnd = func(client string) server.ProcessEnd {
					require.Equal(t, "a", client)
					return o
				}
			}
			r := serve(t, c)
			require.NoError(t, stage.live(r).conn.Close())
			var lost *server.LostError
			require.ErrorAs(t, r.end(), &lost)
			require.Equal(t, o, lost.Process)
			require.True(t, lost.Joined)
			fmt.Fprintf(&story, "%s: %v\n", stage.name, lost)
		}
	}
	golden.Equal(t, "testdata/lost.golden", story.String())
}

// A connection without a member may come and go.
func TestLostBeforeJoin(t *testing.T) {
	r := serve(t, config("a"))
	p := r.dial()
	require.NoError(t, p.conn.Close())
	r.start(hello("a"))[0].leave()
	require.NoError(t, r.end())
	require.True(t, r.Result().Deterministic)
}

// journal keeps what an observer sees.
type journal struct {
	events  []metasim.Event
	fail    error
	failsAt int
}

func (j *journal) Observe(_ int64, ev metasim.Event, _ []metasim.Effect) error {
	j.events = append(j.events, ev)
	if len(j.events) == j.failsAt {
		return j.fail
	}
	return nil
}

// A client that the scenario lets go is cut off, whatever it did; the others go on, and the result says so.
func TestDetach(t *testing.T) {
	for _, stage := range stages[1:] {
		t.Run(stage.name, func(t *testing.T) {
			j := &journal{}
			c := config("a", "b")
			c.Detach = map[string]bool{"a": true}
			c.Observers = []server.Observer{j}
			r := serve(t, c)
			a := stage.live(r)
			b := r.peers["b"]
			require.NoError(t, a.conn.Close())
			if stage.name == "waiting" {
				b.say(until(at(2), metasim.Infinity))
			}
			b.untilTheEnd() // it waits for no client any more
			b.say(&metasim.Leave{Now: at(2)})
			hear[wire.Goodbye](b)
			require.NoError(t, r.end())
			result := r.Result()
			require.False(t, result.Deterministic)
			require.True(t, result.Clients[0].Cut)
			require.False(t, result.Clients[0].Left)
			require.True(t, result.Clients[1].Left)
			cuts := 0
			for _, ev := range j.events {
				if l, ok := ev.(*metasim.Leave); ok && l.Cut {
					cuts++
				}
			}
			require.Equal(t, 1, cuts)
		})
	}
}

// Before the run has begun no client can be detached.
func TestDetachBeforeTheStart(t *testing.T) {
	c := config("a", "b")
	c.Detach = map[string]bool{"a": true}
	r := serve(t, c)
	require.NoError(t, r.join(hello("a"))[0].conn.Close())
	require.ErrorAs(t, r.end(), new(*server.LostError))
}

// When several are lost at once the first in order is named, and only its process is asked for.
func TestOneProcessEnd(t *testing.T) {
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("c%02d", i))
	}
	asked := make(chan string, len(names))
	c := config(names...)
	c.ProcessEnd = func(client string) server.ProcessEnd {
		asked <- client
		return server.ProcessEnd{Exit: "exit status 1"}
	}
	r := serve(t, c)
	p := r.dial()
	for i := len(names) - 1; i > 0; i-- {
		p.member = uint32(i)
		p.say(hello(names[i]))
		hear[wire.Welcome](p)
	}
	require.NoError(t, p.conn.Close())
	require.ErrorContains(t, r.end(), `client "c01" was lost`)
	require.Equal(t, "c01", <-asked)
	require.Empty(t, asked)
}

// A client that breaks a rule is told which; the others are told that the run failed, and why; Serve returns it.
func TestViolation(t *testing.T) {
	for _, broken := range []wire.Body{
		&metasim.Send{Channel: "X"},
		&metasim.Leave{Acked: 3},
		&metasim.Advance{Report: metasim.Report{Now: at(1)}},
	} {
		r := serve(t, config("a", "b"))
		peers := r.start(hello("a"), hello("b"))
		peers[0].say(broken, &metasim.Leave{})
		var v *metasim.Violation
		require.ErrorAs(t, r.end(), &v)
		require.Equal(t, "a", v.Client)
		require.Equal(t, wire.Refuse{Reason: wire.RuleBroken, Text: v.Error()}, hear[wire.Refuse](peers[0]))
		peers[0].hangsUp() // and no Goodbye
		require.Equal(t, wire.Refuse{Reason: wire.RunFailed, Text: "the run failed: " + v.Error()}, hear[wire.Refuse](peers[1]))
		peers[1].hangsUp()
	}
}

// Clients that answer each other without delay for ever are stopped.
func TestMaxSteps(t *testing.T) {
	c := config("a")
	c.Core.MaxSteps = 3
	r := serve(t, c)
	h := hello("a")
	h.Publications, h.Subscriptions = []string{"X"}, []string{"X"}
	a := r.start(h)[0]
	a.say(&metasim.Send{Channel: "X"}, idle(0))
	for n := uint64(1); n <= 3; n++ {
		due := hear[*metasim.Deliver](a).Message.Due
		hear[*metasim.Authorize](a)
		poll := idle(n)
		poll.Now = due
		a.say(&metasim.Send{Channel: "X", Sent: due}, poll)
	}
	var steps *metasim.StepsError
	require.ErrorAs(t, r.end(), &steps)
	require.Equal(t, wire.RunFailed, hear[wire.Refuse](a).Reason)
}

// A run that is cancelled fails with the cause.
func TestCancelled(t *testing.T) {
	r := serve(t, config("a", "b"))
	peers := r.start(hello("a"), hello("b"))
	enough := errors.New("enough of it")
	r.cancel(enough)
	require.ErrorIs(t, r.end(), enough)
	for _, p := range peers {
		require.Equal(t, wire.Refuse{Reason: wire.RunFailed, Text: "the run failed: enough of it"}, hear[wire.Refuse](p))
		p.hangsUp()
	}
}

// A run that cannot be recorded ends, at whatever event that happens. No client gets an answer to that event.
func TestObserverError(t *testing.T) {
	full := errors.New("no space left on device")
	for failsAt := 1; failsAt <= 5; failsAt++ { // two joins, begin, two leaves
		c := config("a", "b")
		c.Observers = []server.Observer{&journal{fail: full, failsAt: failsAt}}
		r := serve(t, c)
		p := r.dial()
		require.NoError(t, p.conn.Write([]wire.Packet{
			{Member: 0, Body: hello("a")}, {Member: 1, Body: hello("b")},
			{Member: 1, Body: &metasim.Leave{}}, {Member: 0, Body: &metasim.Leave{}},
		}))
		var e *server.ObserverError
		require.ErrorAs(t, r.end(), &e)
		require.EqualError(t, e, "the run cannot be recorded: no space left on device")
		require.ErrorIs(t, e, full)
		goodbyes := 0
		for packet, err := p.next(); err == nil; packet, err = p.next() {
			if _, ok := packet.Body.(wire.Goodbye); ok {
				goodbyes++
			}
		}
		require.Equal(t, max(0, failsAt-4), goodbyes)
	}
}

// A peer that polls and does not read is dropped when too much waits for it.
func TestPollsWithoutReading(t *testing.T) {
	c := config("a", "b")
	c.OutboxLimit = 2000
	r := serve(t, c)
	peers := r.start(mutual("a"), mutual("b"))
	peers[1].say(idle(0))
	flood(peers[0])
	require.Regexp(t, `^client "a" was lost \(\d+ bytes wait to be read by it, the limit is 2000: it asks without reading\): `+
		`it was last heard of at 0s, may have been up to .*, and had promised to send nothing before 0s; a client ends with a leave, or has on_exit: detach$`, r.end().Error())
}

// If it may be detached, the clients that waited for it go on at once: no other packet comes that would start a round.
func TestPollsWithoutReadingDetached(t *testing.T) {
	c := config("a", "b")
	c.OutboxLimit = 2000
	c.Detach = map[string]bool{"a": true}
	r := serve(t, c)
	peers := r.start(mutual("a"), mutual("b"))
	peers[1].say(idle(0))
	flood(peers[0])
	peers[1].untilTheEnd()
	peers[1].leave()
	require.NoError(t, r.end())
	require.False(t, r.Result().Deterministic)
}

// flood polls and reads nothing, until the connection is closed: what was put before the last answer is too much for
// an outbox of 2000 bytes once the connection holds no more.
func flood(p *peer) {
	p.t.Helper()
	p.say(until(at(0), at(0)))
	hear[*metasim.Authorize](p)
	polls := make([]wire.Packet, 64)
	for i := range polls {
		polls[i] = wire.Packet{Member: p.member, Body: until(at(0), at(0))}
	}
	for began := time.Now(); time.Since(began) < 20*time.Second; { // the server may not get the processor for a while
		if p.conn.Write(polls) != nil {
			return
		}
	}
	require.Fail(p.t, "it may poll for ever")
}

// A peer that reads nothing while it computes is not dropped, however much waits for it: it asks for nothing.
func TestComputesWithoutReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config("a", "b")
		c.Core.Ahead = 8 << 20
		c.OutboxLimit = 2000
		r := serve(t, c)
		ha, hb := hello("a"), hello("b")
		ha.Publications, hb.Subscriptions = []string{"X"}, []string{"X"}
		peers := r.start(ha, hb)
		const sends = 4
		peers[0].say(until(at(0), at(1)))
		peers[1].say(idle(0)) // it is given the first message, and computes from then on
		synctest.Wait()
		for k := range metasim.Time(sends) { // each goes out by itself
			now := at(1 << k)
			peers[0].say(&metasim.Send{Channel: "X", Sent: now, Payload: make([]byte, 1<<20)},
				&metasim.Promise{NoSendBefore: at(2 << k)})
			synctest.Wait()
		}
		peers[0].say(until(at(1<<sends), metasim.Infinity))
		synctest.Wait()
		pass(time.Hour)
		for came, end := 0, false; !end; {
			packet, err := peers[1].next()
			require.NoError(t, err)
			switch body := packet.Body.(type) {
			case *metasim.Deliver:
				came++
				require.Equal(t, uint64(came), body.Number)
			case *metasim.Authorize:
				end = came == sends && body.Until == metasim.Infinity
			}
		}
		peers[0].say(&metasim.Leave{Now: at(1 << sends)})
		peers[1].say(&metasim.Leave{Acked: sends})
		require.NoError(t, r.end())
	})
}

// A peer that reads nothing keeps a run that is over from ending for a moment, not for ever.
func TestNeverReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config("a", "b")
		c.Core.Ahead = 8 << 20
		r := serve(t, c)
		ha, hb := hello("a"), hello("b")
		ha.Publications, hb.Subscriptions = []string{"X"}, []string{"X"}
		peers := r.start(ha, hb)
		for range 4 {
			peers[0].say(&metasim.Send{Channel: "X", Payload: make([]byte, 1<<20)})
			synctest.Wait()
		}
		peers[0].say(idle(0))
		peers[1].say(idle(0)) // and from now on b reads nothing: four mebibytes wait where one has room
		synctest.Wait()
		began := time.Now()
		r.cancel(errTestOver)
		require.ErrorIs(t, r.end(), errTestOver)
		require.LessOrEqual(t, time.Since(began), 2*time.Second)
	})
}
