package all_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport"
)

// patience bounds every wait of the suite. What takes longer is said to hang.
const patience = 30 * time.Second

// pair returns the two ends of a connection, which are closed with the test. The client has sent a Hello and the server has
// read it: on some transports the server cannot write before.
func pair(t *testing.T, on tested) (client, server wire.Conn) {
	t.Helper()
	l := listen(t, on)
	client = dial(t, on, l)
	write(t, client, wire.Packet{Body: wire.Hello{Version: wire.Version}})
	server = accept(t, l)
	t.Cleanup(func() { closeBoth(t, client, server) }) // at the same time: a Close may wait for its reader
	require.Equal(t, wire.Hello{Version: wire.Version}, readN(t, server, 1)[0].Body)
	return client, server
}

func listen(t *testing.T, on tested) wire.Listener {
	t.Helper()
	l, err := on.listen()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	if opened, ok := l.(*transport.Listener); ok && opened.Unsupported != nil {
		t.Skipf("SKIPPED LOUDLY: this system has no %s: %v", on.name, opened.Unsupported)
	}
	return l
}

func dial(t *testing.T, on tested, l wire.Listener) wire.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := on.dial(ctx, l)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func accept(t *testing.T, l wire.Listener) wire.Conn {
	t.Helper()
	c, err := within(t, "accept", l.Accept)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	require.NotEmpty(t, c.Peer(), "a connection does not name its peer")
	return c
}

func closeBoth(t *testing.T, client, server wire.Conn) {
	t.Helper()
	closed := inBackground(client.Close)
	require.NoError(t, server.Close())
	require.NoError(t, <-closed)
}

// within fails the test if f takes longer than patience.
func within[T any](t *testing.T, what string, f func() (T, error)) (value T, err error) {
	t.Helper()
	err = await(t, what, inBackground(func() (err error) {
		value, err = f()
		return err
	}))
	return value, err
}

func inBackground(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// await returns the result of inBackground.
func await(t *testing.T, what string, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		t.Fatalf("%s hangs", what)
		panic("unreachable")
	}
}

// readN reads n packets, which stay valid.
func readN(t *testing.T, c wire.Conn, n int) []wire.Packet {
	t.Helper()
	var all []wire.Packet
	for len(all) < n {
		packets, err := within(t, "read", c.Read)
		require.NoError(t, err)
		require.NotEmpty(t, packets, "a read returned nothing")
		for _, p := range packets {
			all = append(all, p.Keep())
		}
	}
	require.Len(t, all, n)
	return all
}

func write(t *testing.T, c wire.Conn, packets ...wire.Packet) {
	t.Helper()
	require.NoError(t, c.Write(packets))
}

// numbered is a packet that carries a number, and a payload of a size.
func numbered(n, size int) wire.Packet {
	payload := make([]byte, size)
	for i := range payload {
		payload[i] = byte(n + i)
	}
	return wire.Packet{Member: uint32(n), Body: &metasim.Deliver{
		Number: uint64(n), Message: metasim.Message{Channel: "NUMBERS", Payload: payload},
	}}
}

func checkNumbered(t *testing.T, n, size int, p wire.Packet) {
	t.Helper()
	got, want := p.Body.(*metasim.Deliver), numbered(n, size).Body.(*metasim.Deliver)
	if len(got.Message.Payload) == 0 {
		got.Message.Payload = want.Message.Payload // nil or empty: both are right
	}
	require.Equal(t, want, got)
}
