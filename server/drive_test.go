package server_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
)

func sendX(payload string) *metasim.Send {
	return &metasim.Send{Channel: "X", Payload: []byte(payload)}
}

func driven(names ...string) server.Config {
	c := config(names...)
	c.Driven = true
	return c
}

// A run that is not driven runs by itself and says so.
func TestNotDriven(t *testing.T) {
	r := serve(t, config("a"))
	require.ErrorIs(t, r.Initialize(t.Context()), server.ErrNotDriven)
	_, err := r.AdvanceTo(t.Context(), metasim.Second)
	require.ErrorIs(t, err, server.ErrNotDriven)
	require.ErrorIs(t, server.Pace(t.Context(), r.Server, 1), server.ErrNotDriven)
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		require.ErrorContains(t, server.Pace(t.Context(), r.Server, rate), "use a positive number")
	}
}

// ticker acts at each of some instants, as it is allowed to, and then leaves. What it did is read after the run.
func ticker(p *peer, did *[]metasim.Instant, instants ...metasim.Instant) {
	now := metasim.Start
	for _, next := range instants {
		p.say(until(now, next))
		for !next.Before(hear[*metasim.Authorize](p).Until) {
		}
		now = next
		*did = append(*did, now)
	}
	p.say(&metasim.Leave{Now: now})
	hear[wire.Goodbye](p)
}

// AdvanceTo lets everything strictly before its time happen, and nothing else.
func TestAdvanceTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := driven("a")
		c.Core.Until = metasim.Second
		r := serve(t, c)
		ctx := t.Context()
		initialized := false
		go func() {
			require.NoError(t, r.Initialize(ctx))
			initialized = true
		}()
		synctest.Wait()
		require.False(t, initialized, "nobody has joined")
		a := r.start(hello("a"))[0]
		synctest.Wait()
		require.False(t, initialized, "a has not initialized")
		var did []metasim.Instant
		go ticker(a, &did, at(5), metasim.Instant{Time: at(5).Time, Step: 3}, at(9))
		synctest.Wait()
		require.True(t, initialized)
		require.Empty(t, did)
		for _, s := range []struct {
			to, next metasim.Instant
			done     int
		}{
			{at(3), at(5), 0},
			{at(5), at(5), 0}, // half-open
			{at(5), at(5), 0}, // nothing new
			{metasim.At(at(5).Time + 1), at(9), 2},
		} {
			next, err := r.AdvanceTo(ctx, s.to.Time)
			require.NoError(t, err)
			require.Equal(t, s.next, next)
			require.Len(t, did, s.done)
			require.Equal(t, s.next.Time, r.Time())
		}
		next, err := r.AdvanceTo(ctx, 2*metasim.Second) // past the end: all leave
		require.NoError(t, err)
		require.Equal(t, metasim.Infinity, next)
		require.Len(t, did, 3)
		require.NoError(t, r.end())
		synctest.Wait()
		for range 2 { // after the end
			next, err = r.AdvanceTo(ctx, 3*metasim.Second)
			require.NoError(t, err)
			require.Equal(t, metasim.Infinity, next)
		}
		require.NoError(t, r.Initialize(ctx))
	})
}

// The answer to a call that was cancelled is not that of the next one.
func TestAdvanceToCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := serve(t, driven("a"))
		a := r.start(hello("a"))[0]
		a.say(until(at(0), at(1)))
		require.NoError(t, r.Initialize(t.Context()))
		impatient := errors.New("impatient")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(impatient) })
		_, err := r.AdvanceTo(ctx, at(2).Time) // a is authorized, and computes
		require.ErrorIs(t, err, impatient)
		hear[*metasim.Authorize](a)
		a.say(until(at(1), at(4)))
		synctest.Wait() // the answer has come, and nobody waits for it
		var next metasim.Instant
		answered := false
		go func() {
			next, err = r.AdvanceTo(t.Context(), at(5).Time)
			answered = true
		}()
		hear[*metasim.Authorize](a)
		synctest.Wait()
		require.False(t, answered, "a is at 4 ms and may do more before 5 ms")
		a.say(until(at(4), at(9)))
		synctest.Wait()
		require.True(t, answered)
		require.NoError(t, err)
		require.Equal(t, at(9), next)
	})
}

// The driver of a run that fails gets the error of the run.
func TestAdvanceToFails(t *testing.T) {
	r := serve(t, driven("a"))
	broken := errors.New("broken")
	go r.Fail(broken)
	require.ErrorIs(t, r.Initialize(t.Context()), broken)
	_, err := r.AdvanceTo(t.Context(), 0)
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, server.Pace(t.Context(), r.Server, 1), broken)
}

// Pace lets things happen at their time divided by the rate, whatever lies between, and the run ends at its end.
func TestPace(t *testing.T) {
	for _, rate := range []float64{0.5, 1, 2} {
		synctest.Test(t, func(t *testing.T) {
			c := driven("a")
			c.Core.Until = 3 * metasim.Second
			r := serve(t, c)
			a := r.join(hello("a"))[0]
			began := time.Now()
			paced := make(chan error, 1)
			go func() { paced <- server.Pace(t.Context(), r.Server, rate) }()
			hear[wire.Start](a)
			now := metasim.Start
			for _, ms := range []metasim.Time{1, 2, 1000, 1001, 2999} {
				a.say(until(now, at(ms)))
				for !at(ms).Before(hear[*metasim.Authorize](a).Until) {
				}
				now = at(ms)
				want := time.Duration(float64(ms) / rate * 1e6)
				require.InDelta(t, want, time.Since(began), 10, "%d ms at rate %v", ms, rate) // nanoseconds
			}
			a.say(until(now, metasim.Infinity))
			for hear[*metasim.Authorize](a).Until != metasim.At(c.Core.Until) {
			}
			require.InDelta(t, 3e9/rate, time.Since(began), 10)
			a.say(&metasim.Leave{Now: now})
			hear[wire.Goodbye](a)
			require.NoError(t, <-paced)
			require.NoError(t, r.end())
		})
	}
}

// A run that is behind real time does not sleep, and one whose next event is centuries away does not overflow.
func TestPaceBehindAndFarAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := serve(t, driven("a"))
		a := r.start(hello("a"))[0]
		ctx, cancel := context.WithCancelCause(t.Context())
		paced := make(chan error, 1)
		go func() { paced <- server.Pace(ctx, r.Server, 0.5) }()
		a.say(until(at(0), at(1)))
		hear[*metasim.Authorize](a)
		pass(time.Second) // it computes for a second of real time
		began := time.Now()
		a.say(until(at(1), at(100)))
		hear[*metasim.Authorize](a)
		require.Zero(t, time.Since(began))
		a.say(until(at(100), metasim.At(metasim.Forever-1)))
		authorized := false
		go func() {
			packet, err := a.next() // in the end, that the run has failed
			if _, ok := packet.Body.(*metasim.Authorize); ok && err == nil {
				authorized = true
			}
		}()
		pass(time.Hour)
		synctest.Wait()
		require.False(t, authorized)
		cancel(errTestOver)
		require.ErrorIs(t, <-paced, errTestOver)
	})
}
