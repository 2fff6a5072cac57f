package client_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/internal/shortdir"
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/stream"
)

// aloneOnSocket completes a client that is alone in its process, as far as the environment says, against a server by hand
// on a unix socket.
func aloneOnSocket(t *testing.T) (*client.Client, wire.Conn) {
	l, err := stream.Unix().Listen("unix://" + filepath.Join(shortdir.Make(t), "s"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	t.Setenv("METASIM_SERVER", l.URL())
	t.Setenv("METASIM_CLIENT", "alone")
	accepted := make(chan wire.Conn, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, err = conn.Read()
		}
		if err == nil {
			err = conn.Write([]wire.Packet{{Body: wire.Welcome{Timed: true}}, {Body: wire.Start{Until: metasim.At(metasim.Second)}}})
		}
		if err == nil {
			accepted <- conn
		}
	}()
	c, err := client.NewBuilder("somebody").Complete(t.Context())
	require.NoError(t, err)
	require.Equal(t, "alone", c.Name())
	conn := <-accepted
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return c, conn
}

// polled returns the next PollWait of the client.
func polled(t *testing.T, conn wire.Conn) metasim.PollWait {
	for {
		packets, err := conn.Read()
		require.NoError(t, err)
		for _, p := range packets {
			if poll, ok := p.Body.(*metasim.PollWait); ok {
				return *poll
			}
		}
	}
}

// A client that is alone in its process says what processor time it took, if it computed for long. It finds what the
// server has told ahead of need by looking at its connection, so that it does not wait.
func TestAloneOnASocket(t *testing.T) {
	c, conn := aloneOnSocket(t)
	stepped := make(chan error, 1)
	step := func(to metasim.Time) {
		for began := time.Now(); time.Since(began) < busy; {
		}
		_, err := c.Step(t.Context(), to)
		stepped <- err
	}
	authorize := func(until metasim.Time) {
		require.NoError(t, conn.Write([]wire.Packet{{Body: &metasim.Authorize{Until: metasim.At(until)}}}))
	}
	go step(1)
	require.Positive(t, polled(t, conn).CPU)
	authorize(3)
	authorize(100) // it is there before the client asks
	require.NoError(t, <-stepped)
	for to := metasim.Time(2); to < 60; to++ {
		_, err := c.Step(t.Context(), to)
		require.NoError(t, err)
	}
	_, err := c.Step(t.Context(), 50)
	require.ErrorIs(t, err, metasim.TimeRegress)
	require.NoError(t, c.Close())
}

// A context that ends wakes a client that reads its own connection, and closes it.
func TestCancelledOnASocket(t *testing.T) {
	c, conn := aloneOnSocket(t)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		polled(t, conn)
		cancel(enough)
	}()
	_, err := c.Step(ctx, 5)
	require.ErrorIs(t, err, enough)
	require.EqualError(t, err, `client "alone": waiting at 0s: enough`)
	_, err = c.Step(ctx, 5)
	require.ErrorIs(t, err, enough, "and it stays so")
	for err = nil; err == nil; { // it may say why first
		_, err = conn.Read()
	}
}

// A context that has ended before the client waits ends it, too.
func TestCancelledBefore(t *testing.T) {
	c, _ := aloneOnSocket(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Step(ctx, 5)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, err, c.Leave(t.Context()))
}

// A context that ends while a handler runs ends Run after it.
func TestRunIsCancelled(t *testing.T) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	c, h := join(t, client.NewBuilder("a"))
	c.At(5, func() error { cancel(enough); return nil })
	c.At(6, func() error { return errors.New("it goes on") })
	h.grant(theEnd)
	err := c.Run(ctx)
	require.ErrorIs(t, err, enough)
	require.EqualError(t, err, `client "a": at 5ns: enough`)
}

// Where there is no way to a server the error says which ways there are.
func TestConnectFails(t *testing.T) {
	_, err := client.Connect(t.Context())
	require.EqualError(t, err, "no server; set METASIM_SERVER, or use WithServer")
	_, err = client.Connect(t.Context(), client.WithServer("quic://127.0.0.1:1?sha256="+strings.Repeat("0", 64)))
	require.EqualError(t, err, `no transport has the scheme of "quic://"; use unix://, tcp:// or shm://; `+
		`for tls:// and quic:// give Complete or Connect client.WithTransports(all.Table()) of "metasim/wire/transport/all"`, "metasim run prints 200 characters of it")
	_, err = client.Connect(t.Context(), client.WithServer("tcp://127.0.0.1:1"), client.WithTransports(transport.Table{stream.Unix()}))
	require.ErrorAs(t, err, new(*transport.UnknownError))
	require.NotContains(t, err.Error(), "WithTransports")
}
