package relay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/internal/shortdir"
	"metasim/metasim"
	"metasim/relay"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/transport/all"
	"metasim/wire/transport/mem"
)

// A rig is a server that is reached over QUIC, and a relay to it that listens in three ways.
type rig struct {
	*testing.T
	srv     *server.Server
	quic    string
	urls    map[string]string // of the relay, by scheme
	dials   atomic.Int32
	far     chan wire.Conn // the connections of the relay
	done    chan error     // how the relay ended
	stop    context.CancelCauseFunc
	clients sync.WaitGroup
}

const token = "sesame"

func newRig(t *testing.T, names ...string) *rig {
	t.Setenv("TMPDIR", shortdir.Make(t))
	r := &rig{T: t, urls: map[string]string{}, far: make(chan wire.Conn, 9), done: make(chan error, 1)}
	var err error
	r.srv, err = server.New(server.Config{Scenario: "relayed", Token: token, Core: metasim.Config{Clients: names}})
	require.NoError(t, err)
	table := all.Table()
	l, err := table.Listen("quic", "")
	require.NoError(t, err)
	r.quic = l.URL()
	go func() { _ = r.srv.Accept(l) }()
	rel := relay.New(relay.Config{Name: "host-1", Server: r.quic, Dial: func(ctx context.Context, url, token string) (wire.Conn, error) {
		r.dials.Add(1)
		c, err := table.DialAs(ctx, url, token)
		if err == nil {
			r.far <- c
		}
		return c, err
	}})
	for _, scheme := range []string{"unix", "tcp", "shm"} {
		l, err := table.Listen(scheme, "")
		require.NoError(t, err)
		r.urls[scheme] = l.URL()
		go func() { _ = rel.Accept(l) }()
	}
	ctx, stop := context.WithCancelCause(context.WithoutCancel(t.Context()))
	r.stop = stop
	go func() { r.done <- rel.Serve(ctx) }()
	t.Cleanup(func() { stop(errors.New("the test is over")) })
	return r
}

// step runs a client that steps in time with the others and hears them all, until the end or for ever.
func step(ctx context.Context, name string, steps int, began func(), options ...client.Option) error {
	b := client.NewBuilder(name)
	out := b.Publication("TICK")
	if err := b.Subscribe("TICK", nil); err != nil {
		return err
	}
	c, err := b.Complete(ctx, append(options, client.WithToken(token), client.WithTransports(all.Table()))...)
	if err != nil {
		return err
	}
	for k := 0; steps == 0 || k < steps; k++ {
		msgs, err := c.Step(ctx, metasim.Time(k))
		if err != nil {
			return err
		}
		if k == 1 && began != nil {
			began()
		}
		var heard bytes.Buffer
		for _, m := range msgs {
			fmt.Fprint(&heard, m.From, len(m.Payload), " ")
		}
		if err := out.Publish(heard.Bytes()); err != nil {
			return err
		}
	}
	return c.Leave(ctx)
}

var six = []string{"a", "b", "c", "d", "e", "f"}

const steps = 50

// plain returns the digest of six clients that need no relay.
func plain(t *testing.T) metasim.Digest {
	srv, err := server.New(server.Config{Scenario: "relayed", Token: token, Core: metasim.Config{Clients: six}})
	require.NoError(t, err)
	inside := mem.NewNet()
	go func() { _ = srv.Accept(inside) }()
	for _, name := range six {
		go func() {
			if conn, err := inside.Dial(t.Context()); err == nil {
				_ = step(t.Context(), name, steps, nil, client.WithConn(conn)) // the server says what is wrong
			}
		}()
	}
	require.NoError(t, srv.Serve(t.Context()))
	return srv.Result().Digest
}

// Clients of one host, alone or many on a connection, reach a far server over one connection, beside one that needs no relay.
func TestOneConnection(t *testing.T) {
	r := newRig(t, six...)
	host, err := client.Connect(t.Context(), client.WithServer(r.urls["shm"]), client.WithToken(token))
	require.NoError(t, err)
	defer func() { _ = host.Close() }()
	for name, how := range map[string]client.Option{
		"a": client.WithServer(r.urls["unix"]), "b": client.WithServer(r.urls["tcp"]), "c": client.WithServer(r.urls["shm"]),
		"d": client.WithHost(host), "e": client.WithHost(host), "f": client.WithServer(r.quic),
	} {
		r.clients.Go(func() {
			if err := step(t.Context(), name, steps, nil, how); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	require.NoError(t, r.srv.Serve(t.Context()))
	r.clients.Wait()
	require.NoError(t, <-r.done)
	require.EqualValues(t, 1, r.dials.Load())
	require.Equal(t, plain(t), r.srv.Result().Digest)
}

// begin starts two clients through the relay that never end by themselves, and returns how they end. going is done when both have begun.
func (r *rig) begin() (going *sync.WaitGroup, ends [2]chan error) {
	going = new(sync.WaitGroup)
	going.Add(len(ends))
	for i, scheme := range []string{"unix", "tcp"} {
		ends[i] = make(chan error, 1)
		go func() {
			ends[i] <- step(context.WithoutCancel(r.Context()), six[i], 0, going.Done, client.WithServer(r.urls[scheme]))
		}()
	}
	return going, ends
}

// Whoever ends, the others learn who it was.
func TestWhoEnds(t *testing.T) {
	t.Run("a client", func(t *testing.T) {
		r := newRig(t, "a", "b", "c")
		going, ends := r.begin()
		conn, err := all.Table().Dial(t.Context(), r.urls["unix"])
		require.NoError(t, err)
		go func() { _ = step(t.Context(), "c", 0, nil, client.WithConn(conn)) }()
		go func() {
			going.Wait()
			_ = conn.Close()
		}()
		require.ErrorContains(t, r.srv.Serve(t.Context()), `client "c" was lost (its connection to the relay host-1 was closed): it was last heard of`)
		for _, end := range ends {
			require.ErrorContains(t, <-end, `client "c" was lost`)
		}
		require.ErrorContains(t, <-r.done, `client "c" was lost`)
	})
	t.Run("the relay, with a word", func(t *testing.T) {
		r := newRig(t, "a", "b")
		going, ends := r.begin()
		go func() {
			going.Wait()
			r.stop(errors.New("a signal"))
		}()
		require.ErrorContains(t, r.srv.Serve(t.Context()), `was lost (the relay host-1 ended: a signal)`)
		for _, end := range ends {
			require.EqualError(t, <-end, "the relay host-1 ended: a signal")
		}
		require.EqualError(t, <-r.done, "the relay host-1 ended: a signal")
	})
	t.Run("the relay, without a word", func(t *testing.T) {
		r := newRig(t, "a", "b")
		going, _ := r.begin()
		go func() {
			going.Wait()
			_ = (<-r.far).Close()
		}()
		require.ErrorContains(t, r.srv.Serve(t.Context()), `client "a" was lost (the relay host-1 was lost: the connection was closed)`)
		require.ErrorContains(t, <-r.done, "the relay host-1 has lost the server")
	})
	t.Run("the server", func(t *testing.T) {
		r := newRig(t, "a", "b")
		going, ends := r.begin()
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			going.Wait()
			cancel(errors.New("a signal"))
		}()
		require.Error(t, r.srv.Serve(ctx))
		for _, end := range ends {
			require.EqualError(t, <-end, "the run failed: a signal")
		}
		require.EqualError(t, <-r.done, "the run failed: a signal")
	})
}

// Programs that reach the port of a relay, and have no token or are no clients, disturb nobody.
func TestStrangers(t *testing.T) {
	r := newRig(t, six...)
	serving := make(chan error, 1)
	go func() { serving <- r.srv.Serve(t.Context()) }()
	tcp, err := url.Parse(r.urls["tcp"])
	require.NoError(t, err)
	silent, err := net.Dial("tcp", tcp.Host)
	require.NoError(t, err)
	for _, bytes := range []string{"GET / HTTP/1.1\r\n\r\n", "\x00\x00\x00\x00", strings.Repeat("x", 10_000)} {
		c, err := net.Dial("tcp", tcp.Host)
		require.NoError(t, err)
		_, err = c.Write([]byte(bytes))
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
	}
	for _, hello := range []wire.Hello{
		{Version: wire.Version, Name: "a", Token: "guessed"}, {Version: wire.Version, Name: "nobody", Token: token}, {Version: 99, Name: "a", Token: token},
		{Version: wire.Version, Name: "a", Token: "guessed", Subscriptions: []string{strings.Repeat("x", 1000), strings.Repeat("y", 1000), strings.Repeat("z", 1000), strings.Repeat("v", 1000), strings.Repeat("w", 1000)}},
	} {
		c, err := all.Table().Dial(t.Context(), r.urls["tcp"])
		require.NoError(t, err)
		require.NoError(t, c.Write([]wire.Packet{{Member: 7, Body: hello}}))
		packets, err := c.Read()
		if len(hello.Subscriptions) == 0 {
			require.NoError(t, err)
			require.IsType(t, wire.Refuse{}, packets[0].Body)
			require.EqualValues(t, 7, packets[0].Member)
			_, err = c.Read()
		}
		require.Error(t, err, "the relay closes it")
		require.NoError(t, c.Close())
	}
	for _, name := range six {
		r.clients.Go(func() {
			if err := step(t.Context(), name, steps, nil, client.WithServer(r.urls["tcp"])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	require.NoError(t, <-serving)
	r.clients.Wait()
	require.NoError(t, <-r.done)
	require.Equal(t, plain(t), r.srv.Result().Digest)
	_, err = silent.Read(make([]byte, 1))
	require.Error(t, err)
}

// A client that does not read, because it computes or a debugger has stopped it, holds up nobody who need not wait for it.
func TestStandsStill(t *testing.T) {
	r := newRig(t, "still", "talks", "hears")
	serving := make(chan error, 1)
	go func() { serving <- r.srv.Serve(t.Context()) }()
	still, err := all.Table().Dial(t.Context(), r.urls["unix"])
	require.NoError(t, err)
	require.NoError(t, still.Write([]wire.Packet{{Body: wire.Hello{Version: wire.Version, Name: "still", Token: token, Subscriptions: []string{"FLOOD"}}}}))
	const messages, size = 200, 20_000 // more than the sockets hold
	ends := make(chan error, 2)
	go func() {
		b := client.NewBuilder("talks")
		out := b.Publication("FLOOD")
		c, err := b.Complete(t.Context(), client.WithServer(r.urls["unix"]), client.WithToken(token))
		for range messages {
			err = errors.Join(err, out.Publish(make([]byte, size)))
		}
		ends <- errors.Join(err, c.Leave(t.Context()))
	}()
	go func() {
		b := client.NewBuilder("hears")
		heard := 0
		err := b.Subscribe("FLOOD", func(client.Message) error { heard++; return nil })
		c, e := b.Complete(t.Context(), client.WithServer(r.urls["unix"]), client.WithToken(token))
		err = errors.Join(err, e, c.Run(t.Context()))
		if heard != messages {
			err = errors.Join(err, fmt.Errorf("%d messages came", heard))
		}
		ends <- err
	}()
	<-r.srv.Joined()
	report := metasim.Report{NoSendBefore: metasim.Infinity, NextEvent: metasim.Infinity}
	require.NoError(t, still.Write([]wire.Packet{{Body: &metasim.PollWait{Report: report, Want: metasim.Infinity}}}))
	for range 2 {
		require.NoError(t, <-ends)
	}
	require.NoError(t, still.Close())
	require.ErrorContains(t, <-serving, `client "still" was lost (its connection to the relay host-1`)
}
