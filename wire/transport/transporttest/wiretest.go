package transporttest

import (
	"context"
	"errors"
	"io"
	"reflect"
	"testing"
	"time"

	"metasim/metasim"
	"metasim/wire"
)

// A Transport is what is tested.
type Transport struct {
	// Listen starts a listener that a test may have for itself. The suite closes it.
	Listen func(t *testing.T) wire.Listener
	// Dial connects to it.
	Dial func(ctx context.Context, l wire.Listener) (wire.Conn, error)
	// Raw connects to a listener's URL and sends bytes of the test's choice. Nil where no bytes travel.
	Raw func(t *testing.T, url string) Raw
}

// A Raw is a peer that does not keep to the protocol.
type Raw interface {
	io.Writer
	// Close ends the stream in the regular way.
	Close() error
	// Kill ends it as the death of the process or of the network would: without a word.
	Kill()
}

// Run runs the suite.
func Run(t *testing.T, transport Transport) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Transport)
	}{
		{"EveryBody", everyBody},
		{"ManyMembersInOneWrite", manyMembers},
		{"ThousandSmallWrites", smallWrites},
		{"LargePayloads", largePayloads},
		{"BothWaysAtOnce", bothWays},
		{"RefusesWhatCannotTravel", refusesBadPackets},
		{"ManyConnections", manyConnections},
		{"Traffic", traffic},
		{"CleanClose", cleanClose},
		{"WrittenBeforeClose", writtenBeforeClose},
		{"WrittenBeforeCloseWhilePeerSends", writtenWhilePeerSends},
		{"CloseWakesRead", closeWakesRead},
		{"CloseWakesWrite", closeWakesWrite},
		{"PeersCloseEndsWrite", peersCloseEndsWrite},
		{"AcceptAfterClose", acceptAfterClose},
		{"ConnectionsOutliveListener", connectionsOutliveListener},
		{"Garbage", garbage},
		{"OversizedLength", oversizedLength},
		{"HalfFrame", halfFrame},
		{"Killed", killed},
	} {
		if byBytes[c.name] && transport.Raw == nil {
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.test(t, transport) })
	}
}

// byBytes are the tests of what only a peer that sends bytes can do wrong.
var byBytes = map[string]bool{"Garbage": true, "OversizedLength": true, "HalfFrame": true, "Killed": true}

// patience bounds every wait of the suite: who is later hangs.
const patience = 30 * time.Second

// pair returns a connection's two ends, closed with the test. The client has said Hello, and the server heard it, as
// on some transports the server cannot write before.
func pair(t *testing.T, transport Transport) (client, server wire.Conn) {
	t.Helper()
	l := listen(t, transport)
	client = dial(t, transport, l)
	write(t, client, wire.Packet{Body: wire.Hello{Version: wire.Version}})
	server = accept(t, l)
	t.Cleanup(func() { closeBoth(t, client, server) }) // at once: a Close may wait for its reader
	equal(t, wire.Hello{Version: wire.Version}, readN(t, server, 1)[0].Body)
	return client, server
}

func listen(t *testing.T, transport Transport) wire.Listener {
	t.Helper()
	l := transport.Listen(t)
	t.Cleanup(func() { must(t, l.Close()) })
	return l
}

func dial(t *testing.T, transport Transport, l wire.Listener) wire.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := transport.Dial(ctx, l)
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

func accept(t *testing.T, l wire.Listener) wire.Conn {
	t.Helper()
	c, err := within(t, "accept", l.Accept)
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	if c.Peer() == "" {
		t.Fatal("a connection does not say who its peer is")
	}
	return c
}

func closeBoth(t *testing.T, client, server wire.Conn) {
	t.Helper()
	closed := inBackground(client.Close)
	must(t, server.Close())
	must(t, <-closed)
}

// within fails the test if f takes longer than patience.
func within[T any](t *testing.T, what string, f func() (T, error)) (T, error) {
	t.Helper()
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-time.After(patience):
		t.Fatalf("%s hangs", what)
		panic("unreachable")
	}
}

// readN reads until n packets are there. Their slices are the caller's.
func readN(t *testing.T, c wire.Conn, n int) []wire.Packet {
	t.Helper()
	var all []wire.Packet
	for len(all) < n {
		packets, err := within(t, "read", c.Read)
		must(t, err)
		if len(packets) == 0 {
			t.Fatal("a read returned nothing")
		}
		for _, p := range packets {
			all = append(all, p.Keep())
		}
	}
	if len(all) != n {
		t.Fatalf("read %d packets, want %d", len(all), n)
	}
	return all
}

func write(t *testing.T, c wire.Conn, packets ...wire.Packet) {
	t.Helper()
	must(t, c.Write(packets))
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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, want, got any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("got  %.500v\nwant %.500v", got, want)
	}
}

func isError(t *testing.T, want, got error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("got error %v, want %v", got, want)
	}
}
