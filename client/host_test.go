package client_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/metasim"
	"metasim/server"
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

// A client that fails on a shared connection takes it with it: the others are told, and so is the server.
func TestHostFailsWhole(t *testing.T) {
	srv, err := server.New(server.Config{Core: metasim.Config{Clients: []string{"bad", "good"}}})
	require.NoError(t, err)
	net := mem.NewNet()
	conn, err := net.Dial(t.Context())
	require.NoError(t, err)
	host, err := client.Connect(t.Context(), client.WithConn(conn))
	require.NoError(t, err)
	var work sync.WaitGroup
	work.Go(func() { require.NoError(t, srv.Accept(net)) })
	work.Go(func() {
		c, err := client.NewBuilder("good").Complete(t.Context(), client.WithHost(host))
		require.NoError(t, err)
		_, err = c.Step(t.Context(), 10)
		require.Error(t, err)
		require.ErrorIs(t, c.Leave(t.Context()), err)
	})
	work.Go(func() {
		c, err := client.NewBuilder("bad").Complete(t.Context(), client.WithHost(host))
		require.NoError(t, err)
		require.NoError(t, c.Close())
	})
	var lost *server.LostError
	require.ErrorAs(t, srv.Serve(t.Context()), &lost)
	work.Wait()
	require.NoError(t, host.Close())
}
