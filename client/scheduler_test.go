package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/transport/mem"
)

// carriedOut serves clients that a scheduler carries out over one connection, and returns what the run came to.
func carriedOut(t *testing.T, names []string, connect func(wire.Conn) wire.Conn, live func(name string, b *client.Builder,
	complete func() (*client.Client, error)) error,
) (*server.Result, error) {
	t.Helper()
	srv, err := server.New(server.Config{Core: metasim.Config{Clients: names}})
	require.NoError(t, err)
	net := mem.NewNet()
	var work sync.WaitGroup
	work.Go(func() { require.NoError(t, srv.Accept(net)) })
	conn, err := net.Dial(t.Context())
	require.NoError(t, err)
	host, err := client.Connect(t.Context(), client.WithConn(connect(conn)))
	require.NoError(t, err)
	scheduler := client.NewScheduler()
	errs := make([]error, len(names))
	for i, name := range names {
		scheduler.Go(func(scheduled client.Option) {
			b := client.NewBuilder(name)
			errs[i] = live(name, b, func() (*client.Client, error) {
				return b.Complete(t.Context(), client.WithHost(host), scheduled)
			})
		})
	}
	failed := srv.Serve(t.Context())
	scheduler.Wait()
	work.Wait()
	require.NoError(t, host.Close())
	result := srv.Result()
	return &result, errors.Join(append(errs, failed)...)
}

func crowd(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("c%03d", i))
	}
	return names
}

// stepAll has a client step with all others, and hear all of them.
func stepAll(t *testing.T, n, steps int) func(string, *client.Builder, func() (*client.Client, error)) error {
	return func(name string, b *client.Builder, complete func() (*client.Client, error)) error {
		out := b.Publication("TICK")
		if err := b.Subscribe("TICK", nil); err != nil {
			return err
		}
		c, err := complete()
		if err != nil {
			return err
		}
		for k := range steps {
			msgs, err := c.Step(t.Context(), metasim.Time(k))
			if err == nil && k > 0 && len(msgs) != n {
				err = fmt.Errorf("%d messages in step %d", len(msgs), k)
			}
			if err = errors.Join(err, out.Publish([]byte(name))); err != nil {
				return err
			}
		}
		return c.Leave(t.Context())
	}
}

func direct(c wire.Conn) wire.Conn { return c }

// Clients of a scheduler see what they would see in goroutines of their own, over a connection inside the process and over
// one that somebody reads.
func TestScheduler(t *testing.T) {
	const n, steps = 20, 10
	alone := lockStep(t, n, steps, false)
	for name, connect := range map[string]func(wire.Conn) wire.Conn{
		"direct": direct,
		"read":   func(c wire.Conn) wire.Conn { return plainConn{c} },
	} {
		result, err := carriedOut(t, crowd(n), connect, stepAll(t, n, steps))
		require.NoError(t, err, name)
		require.Equal(t, alone, result.Digest, name)
	}
}

// A gathering connection counts its writes.
type gathering struct {
	wire.Conn
	writes *atomic.Int32
}

func (g gathering) WriteFrames(frames []byte) error {
	g.writes.Add(1)
	return g.Conn.WriteFrames(frames)
}

// What the clients of a scheduler say before they wait goes out in one write, not in one of each.
func TestSchedulerSharesWrites(t *testing.T) {
	const n, steps = 50, 20
	var writes atomic.Int32
	_, err := carriedOut(t, crowd(n), func(c wire.Conn) wire.Conn { return gathering{plainConn{c}, &writes} }, stepAll(t, n, steps))
	require.NoError(t, err)
	const joinAndLeave = 2 * n // each of which is at once
	require.Less(t, int(writes.Load()), joinAndLeave+steps*n/5, "a step of %d clients takes few writes", n)
}

// A client that computes does not keep the others from going on, however cheap it used to be: what it has just said
// wakes another, and it computes until that has answered.
func TestSchedulerComputesAside(t *testing.T) {
	answered := make(chan struct{})
	_, err := carriedOut(t, []string{"busy", "quick"}, direct,
		func(name string, b *client.Builder, complete func() (*client.Client, error)) error {
			out := b.Publication("X")
			if err := b.Subscribe("X", nil); err != nil {
				return err
			}
			c, err := complete()
			if err != nil {
				return err
			}
			const cheap = 200 // steps in which nobody computes
			for k := range cheap {
				if _, err := c.Step(t.Context(), metasim.Time(k)); err != nil {
					return err
				}
			}
			if name == "quick" {
				msgs, err := c.Next(t.Context(), metasim.Forever)
				if err != nil || len(msgs) != 1 {
					return fmt.Errorf("%d messages: %w", len(msgs), err)
				}
				close(answered)
				return c.Leave(t.Context())
			}
			if err := errors.Join(out.Publish(nil), c.Promise(metasim.Second)); err != nil {
				return err
			}
			<-answered
			return c.Leave(t.Context())
		})
	require.NoError(t, err)
}

// A context that ends while a client of a scheduler waits ends the client.
func TestSchedulerIsCancelled(t *testing.T) {
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	over := make(chan struct{})
	_, err := carriedOut(t, []string{"patient", "silent"}, direct,
		func(name string, b *client.Builder, complete func() (*client.Client, error)) error {
			b.Publication("X")
			if err := b.Subscribe("X", nil); err != nil {
				return err
			}
			c, err := complete()
			if err != nil {
				return err
			}
			if name == "silent" { // it computes, so the other waits
				<-over
				return c.Close()
			}
			defer close(over)
			go cancel(stop)
			_, err = c.Step(ctx, metasim.Second)
			return err
		})
	require.ErrorIs(t, err, stop)
}
