package client_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/internal/shortdir"
	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/transport/mem"
	"metasim/wire/transport/stream"
)

// A hasty client hears one that publishes each millisecond, and does not come to 5 ms before it is told to.
func hasty(t *testing.T, scheme string, live func(c *client.Client, goOn func()) error) metasim.Digest {
	t.Helper()
	srv, err := server.New(server.Config{Core: metasim.Config{Clients: []string{"hasty", "slow"}, Until: 10 * metasim.Millisecond}})
	require.NoError(t, err)
	net := mem.NewNet()
	listener, option := wire.Listener(net), func() client.Option {
		conn, err := net.Dial(t.Context())
		require.NoError(t, err)
		return client.WithConn(conn)
	}
	if scheme != "mem" {
		url, transport := "tcp://127.0.0.1:0", stream.TCP()
		if scheme == "unix" {
			url, transport = "unix://"+filepath.Join(shortdir.Make(t), "s"), stream.Unix()
		}
		listener, err = transport.Listen(url)
		require.NoError(t, err)
		option = func() client.Option { return client.WithServer(listener.URL()) }
	}
	told := make(chan struct{})
	goOn := sync.OnceFunc(func() { close(told) })
	var all sync.WaitGroup
	all.Go(func() { require.NoError(t, srv.Accept(listener)) })
	all.Go(func() {
		b := client.NewBuilder("slow")
		out := b.Publication("X")
		c, err := b.Complete(t.Context(), option())
		require.NoError(t, err)
		for at := range c.Steps(t.Context(), time.Millisecond) {
			if at == 5*metasim.Millisecond {
				<-told
			}
			require.NoError(t, out.Publish([]byte(at.String())))
		}
		require.NoError(t, c.Leave(t.Context()))
	})
	all.Go(func() {
		defer goOn()
		b := client.NewBuilder("hasty")
		require.NoError(t, b.Subscribe("X", nil))
		c, err := b.Complete(t.Context(), option())
		require.NoError(t, err)
		require.NoError(t, live(c, goOn))
		require.NoError(t, c.Leave(t.Context()))
	})
	require.NoError(t, srv.Serve(t.Context()))
	all.Wait()
	return srv.Result().Digest
}

// interrupted waits with contexts that end while it waits, or before.
func interrupted(t *testing.T, c *client.Client, wait func(ctx context.Context) error) {
	t.Helper()
	now := c.Now()
	for i := range 6 {
		ctx, cancel := context.WithTimeoutCause(client.Interruptible(t.Context()), time.Duration(i%3)*time.Millisecond, errors.New("redraw"))
		err := wait(ctx)
		cancel()
		require.ErrorIs(t, err, client.ErrInterrupted)
		require.EqualError(t, err, `client "hasty": the wait was interrupted, and the client is where it was: redraw`)
		require.Equal(t, now, c.Now())
	}
}

// A wait that is interrupted moves nothing and loses nothing, over each transport and in each kind of loop: the run is the same.
func TestInterrupted(t *testing.T) {
	step := func(c *client.Client) func(context.Context) error {
		return func(ctx context.Context) error { _, err := c.Step(ctx, ms(7).Time); return err }
	}
	quiet := hasty(t, "mem", func(c *client.Client, goOn func()) error { goOn(); return step(c)(t.Context()) })
	for _, scheme := range []string{"mem", "unix", "tcp"} {
		require.Equal(t, quiet, hasty(t, scheme, func(c *client.Client, goOn func()) error {
			interrupted(t, c, step(c))
			_, err := c.Step(t.Context(), ms(6).Time)
			require.EqualError(t, err, `client "hasty": at 0s: a wait was interrupted, and this is another one; call the same as then, or leave`)
			_, err = c.Next(t.Context(), ms(7).Time)
			require.ErrorContains(t, err, "this is another one")
			goOn()
			msgs, err := c.Step(t.Context(), ms(7).Time)
			require.NoError(t, err)
			require.Equal(t, []metasim.Instant{msStep(0, 1), msStep(1, 1), msStep(2, 1), msStep(3, 1), msStep(4, 1), msStep(5, 1), msStep(6, 1)}, dues(msgs), scheme)
			return nil
		}), scheme)
		hasty(t, scheme, func(c *client.Client, goOn func()) error {
			next := func(ctx context.Context) error { _, err := c.Next(ctx, metasim.Forever); return err }
			for range 5 {
				require.NoError(t, next(t.Context()))
			}
			interrupted(t, c, next)
			require.Equal(t, msStep(4, 1), c.Now())
			goOn()
			require.NoError(t, next(t.Context()))
			require.Equal(t, msStep(5, 1), c.Now())
			return c.Run(t.Context())
		})
		hasty(t, scheme, func(c *client.Client, goOn func()) error {
			fired := 0
			c.At(ms(8).Time, func() error { fired++; return nil })
			for range 5 { // the messages without delay wake Run
				_, err := c.Next(t.Context(), metasim.Forever)
				require.NoError(t, err)
			}
			interrupted(t, c, func(ctx context.Context) error { return c.Run(ctx) })
			goOn()
			err := c.Run(t.Context())
			require.Equal(t, 1, fired)
			return err
		})
		hasty(t, scheme, func(c *client.Client, goOn func()) error { // it leaves instead
			interrupted(t, c, step(c))
			goOn()
			return nil
		})
	}
}

// A Leave waits for the server whatever its context says, or ends the client.
func TestInterruptedLeave(t *testing.T) {
	c, _ := join(t, client.NewBuilder("a"))
	ctx, cancel := context.WithCancel(client.Interruptible(t.Context()))
	cancel()
	err := c.Leave(ctx)
	if err != nil { // the Goodbye was there as soon as the client looked
		require.ErrorIs(t, err, client.ErrInterrupted)
		_, again := c.Step(t.Context(), 1)
		require.ErrorContains(t, again, "interrupted")
	}
}

// A client that one goroutine waits with is not there for another: each call says so, and the wait goes on.
func TestTwoGoroutines(t *testing.T) {
	b := client.NewBuilder("a")
	out := b.Publication("X")
	c, h := join(t, b)
	stepped := make(chan error, 1)
	go func() {
		_, err := c.Step(t.Context(), ms(5).Time)
		stepped <- err
	}()
	hears[*metasim.PollWait](h)
	const want = `client "a": another goroutine waits with this client; use a client in one goroutine, and give the others what they need by a channel of Go`
	calls := map[string]func() error{
		"Step":            func() error { _, err := c.Step(t.Context(), ms(7).Time); return err },
		"Next":            func() error { _, err := c.Next(t.Context(), ms(7).Time); return err },
		"Await":           func() error { return c.Await(t.Context(), ms(7).Time, func() bool { return false }) },
		"Run":             func() error { return c.Run(t.Context()) },
		"Leave":           func() error { return c.Leave(t.Context()) },
		"Promise":         func() error { return c.Promise(ms(7).Time) },
		"PromiseThenWait": func() error { return c.PromiseThenWait(ms(7).Time) },
		"Publish":         func() error { return out.Publish(nil) },
	}
	waits := func() bool { return strings.Contains(out.Publish(nil).Error(), "another goroutine") } // at first it breaks the promise of Step
	require.Eventually(t, waits, 30*time.Second, time.Microsecond)
	for name, call := range calls {
		require.EqualError(t, call(), want, name)
	}
	h.grant(theEnd)
	require.NoError(t, <-stepped)
	require.Equal(t, ms(5), c.Now())
	h.silent()
	_, err := c.Step(t.Context(), ms(7).Time)
	require.NoError(t, err)
}

// A Complete that is interrupted ends the client: the server is told, also where others of the process keep the connection.
func TestInterruptedComplete(t *testing.T) {
	mine, theirs := mem.Pipe("client", "server")
	shared, err := client.Connect(t.Context(), client.WithConn(mine))
	require.NoError(t, err)
	defer func() { require.NoError(t, shared.Close()) }()
	ctx, cancel := context.WithCancelCause(client.Interruptible(t.Context()))
	cancel(errors.New("redraw"))
	_, err = client.NewBuilder("a").Complete(ctx, client.WithHost(shared))
	require.ErrorIs(t, err, client.ErrInterrupted)
	var said []wire.Body
	for len(said) < 2 {
		packets, err := theirs.Read()
		require.NoError(t, err)
		for _, p := range packets {
			said = append(said, p.Keep().Body)
		}
	}
	require.IsType(t, wire.Hello{}, said[0])
	require.Contains(t, said[1].(wire.Failed).Reason, "the wait was interrupted")
}
