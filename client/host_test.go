package client_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/transport/mem"
)

// lockStep runs n clients that step together and hear one another, each over its own connection or all over one, and
// returns the run's digest.
func lockStep(t *testing.T, n, steps int, shared bool) metasim.Digest {
	config := server.Config{Scenario: "lock-step"}
	for i := range n {
		config.Core.Clients = append(config.Core.Clients, fmt.Sprintf("c%03d", i))
	}
	srv, err := server.New(config)
	require.NoError(t, err)
	net := mem.NewNet()
	var work sync.WaitGroup
	work.Go(func() { require.NoError(t, srv.Accept(net)) })
	var host *client.Host
	if shared {
		conn, err := net.Dial(t.Context())
		require.NoError(t, err)
		host, err = client.Connect(t.Context(), client.WithConn(conn))
		require.NoError(t, err)
	}
	for _, name := range config.Core.Clients {
		work.Go(func() {
			option := client.WithHost(host)
			if !shared {
				conn, err := net.Dial(t.Context())
				require.NoError(t, err)
				option = client.WithConn(conn)
			}
			b := client.NewBuilder(name)
			out := b.Publication("TICK")
			require.NoError(t, b.Subscribe("TICK", nil))
			c, err := b.Complete(t.Context(), option)
			require.NoError(t, err)
			for k := range steps {
				msgs, err := c.Step(t.Context(), metasim.Time(k))
				require.NoError(t, err)
				if k > 0 {
					require.Len(t, msgs, n)
				}
				require.NoError(t, out.Publish([]byte(name)))
			}
			require.NoError(t, c.Leave(t.Context()))
		})
	}
	require.NoError(t, srv.Serve(t.Context()))
	work.Wait()
	if shared {
		require.NoError(t, host.Close())
	}
	return srv.Result().Digest
}

// Clients that share a connection see what they would see alone on one.
func TestHost(t *testing.T) {
	alone, shared := lockStep(t, 20, 10, false), lockStep(t, 20, 10, true)
	require.Equal(t, alone, shared)
}

// serveShared serves a run whose clients share one connection, and returns the error of Serve.
func serveShared(t *testing.T, config server.Config, clients ...func(*client.Host)) error {
	srv, err := server.New(config)
	require.NoError(t, err)
	net := mem.NewNet()
	conn, err := net.Dial(t.Context())
	require.NoError(t, err)
	host, err := client.Connect(t.Context(), client.WithConn(conn))
	require.NoError(t, err)
	var work sync.WaitGroup
	work.Go(func() { require.NoError(t, srv.Accept(net)) })
	for _, run := range clients {
		work.Go(func() { run(host) })
	}
	err = srv.Serve(t.Context())
	work.Wait()
	require.NoError(t, host.Close())
	return err
}

// A client that fails on a shared connection ends alone: the server is told why, and the run goes on without it if it may.
func TestHostFailsAlone(t *testing.T) {
	for _, detached := range []bool{true, false} {
		config := server.Config{Core: metasim.Config{Clients: []string{"bad", "good"}}}
		if detached {
			config.Detach = map[string]bool{"bad": true}
		}
		good := func(host *client.Host) {
			b := client.NewBuilder("good")
			require.NoError(t, b.Subscribe("X", nil))
			c, err := b.Complete(t.Context(), client.WithHost(host))
			require.NoError(t, err)
			msgs, err := c.Step(t.Context(), 10)
			if !detached {
				require.ErrorIs(t, err, &wire.RefusedError{Reason: wire.RunFailed})
				require.ErrorIs(t, c.Leave(t.Context()), err)
				return
			}
			require.NoError(t, err)
			require.Len(t, msgs, 1, "what it sent before it failed")
			require.NoError(t, c.Leave(t.Context()))
		}
		bad := func(host *client.Host) {
			b := client.NewBuilder("bad")
			out := b.Publication("X")
			c, err := b.Complete(t.Context(), client.WithHost(host))
			require.NoError(t, err)
			_, err = c.Step(t.Context(), 5)
			require.NoError(t, err)
			require.NoError(t, out.Publish([]byte("last")))
			require.NoError(t, c.Fail(errors.New("no fuel")))
			require.NoError(t, c.Close(), "once is enough")
			require.ErrorContains(t, out.Publish(nil), "no fuel")
		}
		err := serveShared(t, config, good, bad)
		if detached {
			require.NoError(t, err)
			continue
		}
		var lost *server.LostError
		require.ErrorAs(t, err, &lost)
		require.Equal(t, "bad", lost.Client)
		require.Equal(t, "it failed: no fuel", lost.Cause)
		require.EqualError(t, lost, `client "bad" was lost (it failed: no fuel): it was last heard of at 5ns, may have been anywhere after that, `+
			"and had promised to send nothing before 5ns; with on_exit: detach the run goes on without it")
		lost.Process.Exit = "exit status 0"
		require.ErrorContains(t, lost, `client "bad" was lost (it failed: no fuel; exit status 0): it was`, "the reason comes first")
		require.Equal(t, metasim.At(5), lost.Now)
	}
}

// A client that the server refuses, or that has no name, does not disturb the other clients of its connection.
func TestHostRefusesOne(t *testing.T) {
	config := server.Config{Core: metasim.Config{Clients: []string{"a"}}}
	require.NoError(t, serveShared(t, config, func(host *client.Host) {
		_, err := client.NewBuilder("z").Complete(t.Context(), client.WithHost(host))
		require.ErrorIs(t, err, &wire.RefusedError{Reason: wire.UnknownName})
		_, err = client.NewBuilder("").Complete(t.Context(), client.WithHost(host))
		require.ErrorContains(t, err, "no name")
		c, err := client.NewBuilder("a").Complete(t.Context(), client.WithHost(host))
		require.NoError(t, err)
		require.NoError(t, c.Leave(t.Context()))
	}))
}
