package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/server"
)

// A run is paused where it is, goes on by steps and to a time, and comes to the same end as one that is not paused.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config("a", "b")
		c.Core.Until = metasim.Second
		r := serve(t, c)
		synctest.Wait()
		require.NoError(t, r.Pause())
		var did, others []metasim.Instant
		started := r.start(hello("a"), hello("b"))
		go ticker(started[0], &did, at(5), metasim.Instant{Time: at(5).Time, Step: 3}, at(9), at(20))
		go ticker(started[1], &others, at(7), at(9), at(30))
		wait := func(n, m int) server.Snapshot {
			t.Helper()
			synctest.Wait()
			require.Len(t, did, n)
			require.Len(t, others, m)
			return r.Snapshot()
		}
		shot := wait(0, 0)
		require.True(t, shot.Halt.Paused && shot.Halt.Still)
		require.Equal(t, at(5), shot.Halt.Next)
		require.NoError(t, r.Pause(), "twice is once")
		require.NoError(t, r.Step())
		require.Equal(t, at(7), wait(2, 0).Halt.Next, "a step is all that happens at one time")
		require.NoError(t, r.Step())
		require.NoError(t, r.Step())
		require.Equal(t, at(20), wait(3, 2).Halt.Next)
		require.ErrorContains(t, r.PauseAt(at(19).Time), "already")
		require.NoError(t, r.PauseAt(at(21).Time))
		shot = wait(4, 2)
		require.Equal(t, at(21), shot.Halt.Limit)
		require.Equal(t, server.Left, shot.Clients[0].State)
		require.Equal(t, server.Waiting, shot.Clients[1].State)
		<-time.After(3 * time.Second) // of the clock of this test
		shot = wait(4, 2)
		require.Equal(t, 3*time.Second, shot.Paused)
		require.Equal(t, 3*time.Second, shot.Clients[1].Blocked)
		require.True(t, r.Progress().Still)
		require.NoError(t, r.Resume())
		shot = wait(4, 3)
		require.False(t, shot.Halt.Paused)
		require.True(t, shot.Over)
		require.Equal(t, 3*time.Second, shot.Paused)
		require.NoError(t, r.end())
		synctest.Wait() // its clients have heard of it
		require.ErrorIs(t, r.Resume(), server.ErrOver)
		require.ErrorIs(t, r.Step(), server.ErrOver)
		require.True(t, r.Progress().Over)
	})
}

// A driven run can be paused: its driver waits meanwhile.
func TestPauseDriven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := driven("a")
		c.Core.Until = metasim.Second
		r := serve(t, c)
		a := r.start(hello("a"))[0]
		var did []metasim.Instant
		go ticker(a, &did, at(5), at(9))
		require.NoError(t, r.Initialize(t.Context()))
		require.NoError(t, r.PauseAt(at(5).Time))
		reached := false
		go func() {
			next, err := r.AdvanceTo(t.Context(), at(8).Time)
			require.NoError(t, err)
			require.Equal(t, at(9), next)
			reached = true
		}()
		synctest.Wait()
		require.False(t, reached, "it is paused at 5")
		require.NoError(t, r.Step())
		require.NoError(t, r.Step())
		synctest.Wait()
		require.True(t, reached)
		shot := r.Snapshot()
		require.True(t, shot.Halt.Paused && shot.Halt.Still && shot.Halt.Driver, "what keeps it is not the pause, which comes later")
		require.Equal(t, metasim.Paused, shot.Clients[0].Halted)
		require.Len(t, did, 1, "the second step is beyond what the driver allows")
		require.NoError(t, r.Resume())
		_, err := r.AdvanceTo(t.Context(), metasim.Forever)
		require.NoError(t, err)
		require.Len(t, did, 2)
		require.NoError(t, r.end())
		synctest.Wait() // its clients have heard of it
	})
}

// The time for which a paced run is paused is not made up for.
func TestPausePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := driven("a")
		c.Core.Until = 10 * metasim.Second
		r := serve(t, c)
		a := r.start(hello("a"))[0]
		go func() { require.NoError(t, server.Pace(t.Context(), r.Server, 1)) }()
		var did []metasim.Instant
		second := func(n metasim.Time) metasim.Instant { return metasim.At(n * metasim.Second) }
		go ticker(a, &did, second(1), second(2), second(3), second(4))
		wait := func(d time.Duration, n int) {
			t.Helper()
			<-time.After(d) // of the clock of this test
			synctest.Wait()
			require.Len(t, did, n)
		}
		wait(1500*time.Millisecond, 1)
		require.NoError(t, r.Pause())
		wait(5*time.Second, 1)
		require.NoError(t, r.Resume())
		wait(400*time.Millisecond, 1)
		wait(200*time.Millisecond, 2)
		wait(time.Second, 3)
		wait(time.Second, 4)
		require.NoError(t, r.end())
		synctest.Wait() // its clients have heard of it
	})
}
