package server_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
)

// syncedDisk is a record and its disk: what was observed, and how much of it has reached the disk.
type syncedDisk struct {
	observed atomic.Int64
	reached  atomic.Int64
	commits  atomic.Int64
	err      error

	mu    sync.Mutex
	sends map[string]int64 // by payload: how much was observed with it
}

func (d *syncedDisk) Observe(_ int64, ev metasim.Event, _ []metasim.Effect) error {
	n := d.observed.Add(1)
	if send, ok := ev.(*metasim.Send); ok {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.sends[string(send.Payload)] = n
	}
	return nil
}

func (d *syncedDisk) Commit() func() error {
	n := d.observed.Load()
	d.commits.Add(1)
	return func() error {
		d.reached.Store(n)
		return d.err
	}
}

func (d *syncedDisk) hasSend(payload []byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sends[string(payload)] > 0 && d.reached.Load() >= d.sends[string(payload)]
}

func durable() (server.Config, *syncedDisk) {
	d := &syncedDisk{sends: map[string]int64{}}
	c := config("a", "b")
	c.Observers, c.Durable = []server.Observer{d}, d
	return c, d
}

// TestDurable: what a peer hears follows from what is on the disk.
func TestDurable(t *testing.T) {
	c, d := durable()
	r := serve(t, c)
	a, b := hello("a"), hello("b")
	a.Publications, b.Subscriptions = []string{"X"}, []string{"X"}
	peers := r.start(a, b)
	require.GreaterOrEqual(t, d.reached.Load(), int64(3), "both joins and the begin")
	peers[1].say(idle(0))
	for i := range uint64(20) {
		payload := []byte{byte(i)}
		now := at(metasim.Time(i))
		peers[0].say(&metasim.Send{Channel: "X", Sent: now, Payload: payload}, until(now, at(metasim.Time(i+1))))
		if i == 0 {
			hear[*metasim.Authorize](peers[0])
		}
		require.Equal(t, payload, hear[*metasim.Deliver](peers[1]).Message.Payload)
		require.True(t, d.hasSend(payload), "message %d of %d on the disk", d.observed.Load(), d.reached.Load())
		hear[*metasim.Authorize](peers[1])
		peers[1].say(idle(i + 1))
		if i > 0 {
			hear[*metasim.Authorize](peers[0])
		}
	}
	peers[0].say(&metasim.Leave{Now: at(19)})
	peers[1].say(&metasim.Leave{Now: at(19).Add(1), Acked: 20})
	require.NoError(t, r.end())
	require.Positive(t, d.commits.Load())
}

// TestDurableEnd: a peer in another process hears the end, and what comes with it.
func TestDurableEnd(t *testing.T) {
	c, _ := durable()
	r := serve(t, c)
	peers := r.elsewhere(hello("a"), hello("b"))
	for _, p := range peers {
		p.say(&metasim.Leave{})
	}
	for _, p := range peers {
		hear[wire.Goodbye](p)
	}
	require.NoError(t, r.end())
}

// TestDiskThatFails: a record that does not reach the disk ends the run.
func TestDiskThatFails(t *testing.T) {
	c, d := durable()
	d.err = errors.New("no space left on device")
	r := serve(t, c)
	r.dial().say(hello("a"))
	require.EqualError(t, r.end(), "the run cannot be recorded: no space left on device")
}
