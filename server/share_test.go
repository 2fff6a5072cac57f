package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/session"
)

// A peer that repeats itself is read slowly, and the others are served meanwhile. What says something new is read at once.
func TestWhoRepeatsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := serve(t, config("a", "loud"))
		street := r.outside()
		loud := &peer{t: t, conn: street.come()}
		loud.say(hello("loud"))
		hear[wire.Welcome](loud)
		a := r.join(hello("a"))[0]
		hear[wire.Start](a)
		hear[wire.Start](loud)
		a.say(until(at(0), at(1)))
		began := time.Now()
		now := metasim.Start
		promise := func(times int) {
			for range times {
				now.Time++
				loud.say(&metasim.Promise{NoSendBefore: now})
			}
		}
		promise(64)
		require.Zero(t, time.Since(began))
		promise(5000) // a nanosecond more each time, and it is no further
		require.Greater(t, time.Since(began), 80*time.Millisecond)
		require.Less(t, time.Since(began), time.Second)
		began = time.Now()
		for range 50 {
			var same []wire.Body
			for range 100 {
				same = append(same, &metasim.PollWait{Report: metasim.Report{NoSendBefore: now, NextEvent: metasim.Infinity}, Want: metasim.Infinity, Messages: true})
			}
			loud.say(same...)
		}
		require.Greater(t, time.Since(began), 80*time.Millisecond)
		require.Less(t, time.Since(began), time.Second)
		hear[*metasim.Authorize](a)
		r.cancel(errTestOver)
		require.ErrorIs(t, r.end(), errTestOver)
	})
}

// A connection has a share of what waits: who brings more waits, and leaves room for the others.
func TestShareOfTheMailbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := onDisk("a", "loud")
		r := serve(t, c)
		street := r.outside()
		loud := &peer{t: t, conn: street.come()}
		loud.say(sender("loud"))
		hear[wire.Welcome](loud)
		a := r.join(sender("a"))[0]
		hear[wire.Start](loud)
		d.become(diskState{full: true})
		const many = 10_000
		said := 0
		go func() {
			for range many {
				loud.say(sendX("loud"))
				said++
			}
			loud.say(&metasim.Leave{})
			hear[wire.Goodbye](loud)
		}()
		synctest.Wait()
		require.Less(t, said, 2000)
		a.say(sendX("a"), &metasim.Leave{})
		d.become(diskState{})
		require.NoError(t, r.end())
		require.Len(t, d.sent, many+1)
		require.Contains(t, d.sent[:2000], "a")
	})
}

// A peer that sends one checkpoint after the other and comes no further is read slowly too.
func TestWhoSendsCheckpointsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config("loud")
		c.Checkpoints = &server.Checkpoints{
			Every: map[string]metasim.Time{"loud": metasim.Second},
			Keep:  func(metasim.ClientID, *session.Saved) bool { return false },
		}
		r := serve(t, c)
		loud := &peer{t: t, conn: r.outside().come()}
		h := hello("loud")
		h.Saves = true
		loud.say(h)
		hear[wire.Welcome](loud)
		hear[wire.Checkpoint](loud)
		hear[wire.Start](loud)
		began := time.Now()
		for range 5000 {
			loud.say(wire.Checkpoint{})
		}
		require.Greater(t, time.Since(began), 80*time.Millisecond)
		loud.leave()
		require.NoError(t, r.end())
	})
}
