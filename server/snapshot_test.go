package server_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
)

// A Snapshot shows each client in its state, and why it waits.
func TestSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config("a", "b", "c", "d")
		c.Detach = map[string]bool{"d": true}
		var after atomic.Int64 // several goroutines may call After at once
		c.After = func(bool) { after.Add(1) }
		r := serve(t, c)
		states := func() (all []string) {
			synctest.Wait()
			for _, c := range r.Snapshot().Clients {
				all = append(all, c.State.String())
			}
			return all
		}
		require.Equal(t, []string{"absent", "absent", "absent", "absent"}, states())
		peers := r.join(mutual("a"), mutual("b"), mutual("c"))
		require.Equal(t, []string{"initializing", "initializing", "initializing", "absent"}, states())
		peers = append(peers, r.join(mutual("d"))...)
		peers[2].say(&metasim.Leave{})
		require.NoError(t, peers[3].conn.Close())
		peers[0].say(until(at(0), at(1)))
		require.Equal(t, []string{"waiting", "initializing", "left", "lost"}, states())
		peers[1].say(until(at(0), at(2)))
		require.Equal(t, []string{"computing", "waiting", "left", "lost"}, states())
		peers[0].say(&metasim.Leave{})
		peers[1].say(&metasim.Leave{})
		require.NoError(t, r.end())
		synctest.Wait() // its clients have heard of it
		require.Positive(t, after.Load())
	})
}

// A client that waits for another is shown with it, and Blame says the same; one that is cut off is lost.
func TestBlame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config("a", "b")
		c.Detach = map[string]bool{"b": true}
		r := serve(t, c)
		peers := r.start(mutual("a"), mutual("b"))
		peers[0].say(until(at(0), at(5)))
		peers[1].say(until(at(0), at(1)))
		synctest.Wait()
		shot := r.Snapshot()
		require.Equal(t, server.Waiting, shot.Clients[0].State)
		require.Equal(t, server.Computing, shot.Clients[1].State)
		require.True(t, shot.Clients[0].Held)
		require.Equal(t, [2]metasim.ClientID{1, 1}, [2]metasim.ClientID{shot.Clients[0].Holder, shot.Clients[0].Root})
		chain := r.Blame(0)
		require.Len(t, chain, 1)
		require.Equal(t, metasim.ClientID(1), chain[0].From)
		require.NoError(t, peers[1].conn.Close())
		synctest.Wait()
		require.Equal(t, server.Lost, r.Snapshot().Clients[1].State)
		peers[0].say(&metasim.Leave{})
		require.NoError(t, r.end())
		synctest.Wait() // its clients have heard of it
	})
}

// Who waits for the run around this one waits for no client; the others wait for it.
func TestSnapshotOfCredit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := serve(t, config("a", "b"))
		speaks, hears := hello("a"), hello("b")
		speaks.Publications, hears.Subscriptions = []string{"A"}, []string{"A"}
		peers := r.start(speaks, hears)
		gate := r.Gate("the outer run", func([]wire.Packet) {})
		require.True(t, gate.Round(func(func(wire.Packet)) { gate.Credit(&metasim.Credit{Client: 0, Until: at(2)}) }))
		peers[0].say(until(at(0), at(3)))
		peers[1].say(until(at(0), metasim.Infinity))
		synctest.Wait()
		shot := r.Snapshot()
		require.Equal(t, metasim.NoCredit, shot.Clients[0].Halted)
		require.False(t, shot.Clients[0].Held)
		require.Zero(t, shot.Clients[1].Halted)
		require.True(t, shot.Clients[1].Held)
		require.Equal(t, []metasim.ClientID{0, 0}, []metasim.ClientID{shot.Clients[1].Holder, shot.Clients[1].Root})
		r.Fail(errObserver)
		require.ErrorIs(t, r.end(), errObserver)
		synctest.Wait()
	})
}
