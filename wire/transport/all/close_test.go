package all_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport/all"
)

// cleanClose: the peer reads io.EOF, again and again; this side gets net.ErrClosed; a second Close does nothing.
func cleanClose(t *testing.T, on tested) {
	client, server := pair(t, on)
	closed := inBackground(client.Close)
	for range 2 {
		_, err := within(t, "read", server.Read)
		require.Equal(t, io.EOF, err)
	}
	require.NoError(t, <-closed)
	_, err := client.Read()
	require.ErrorIs(t, err, net.ErrClosed)
	require.ErrorIs(t, client.Write([]wire.Packet{{Body: wire.Goodbye{}}}), net.ErrClosed)
	require.NoError(t, client.Close())
}

// writtenBeforeClose: all that was written is read, then the end. The reader starts late.
func writtenBeforeClose(t *testing.T, on tested) {
	client, server := pair(t, on)
	const n = 200
	for i := range n {
		write(t, server, numbered(i, 100))
	}
	closed := inBackground(server.Close)
	for i, p := range readN(t, client, n) {
		checkNumbered(t, i, 100, p)
	}
	_, err := within(t, "read", client.Read)
	require.Equal(t, io.EOF, err)
	require.NoError(t, <-closed)
}

// writtenWhilePeerSends: a last packet (a Refuse) arrives although its writer never reads what the peer still sends.
func writtenWhilePeerSends(t *testing.T, on tested) {
	client, server := pair(t, on)
	first := make(chan struct{})
	sent := inBackground(func() error {
		for i := range 1000 {
			if err := client.Write([]wire.Packet{numbered(i, 10_000)}); err != nil {
				return nil // the peer has closed, as it should
			}
			if i == 0 {
				close(first)
			}
		}
		return nil
	})
	<-first
	refuse := wire.Packet{Member: 9, Body: wire.Refuse{Reason: wire.RuleBroken, Text: "enough"}}
	write(t, server, refuse)
	closed := inBackground(server.Close)
	require.Equal(t, refuse, readN(t, client, 1)[0])
	_, err := within(t, "read", client.Read)
	require.Equal(t, io.EOF, err)
	require.NoError(t, <-closed)
	require.NoError(t, <-sent)
}

func closeWakesRead(t *testing.T, on tested) {
	for i := range 10 { // Close may come before the Read or while it waits
		client, server := pair(t, on)
		c := [...]wire.Conn{client, server}[i%2]
		started := make(chan struct{})
		woken := inBackground(func() error {
			close(started)
			_, err := c.Read()
			return err
		})
		<-started
		closed := inBackground(c.Close)
		err := await(t, "a read on a closed connection", woken)
		require.ErrorIs(t, err, net.ErrClosed)
		closeBoth(t, client, server)
		require.NoError(t, <-closed)
	}
}

// closeWakesWrite: nobody reads, so sooner or later a write waits.
func closeWakesWrite(t *testing.T, on tested) {
	client, server := pair(t, on)
	woken := writeUntilError(server)
	readSome(t, client)
	closed := inBackground(server.Close)
	err := await(t, "a write on a closed connection", woken)
	require.ErrorIs(t, err, net.ErrClosed)
	go func() { // ends a Close that waits for its reader
		for err := error(nil); err == nil; {
			_, err = client.Read()
		}
	}()
	err = await(t, "close", closed)
	require.NoError(t, err)
}

// peersCloseEndsWrite: a write ends when the peer has closed.
func peersCloseEndsWrite(t *testing.T, on tested) {
	client, server := pair(t, on)
	ended := writeUntilError(server)
	readSome(t, client)
	require.NoError(t, client.Close())
	err := await(t, "a write to a closed peer", ended)
	require.Error(t, err, "writes to a closed peer succeed")
}

// writeUntilError writes mebibytes until that fails.
func writeUntilError(c wire.Conn) <-chan error {
	return inBackground(func() error {
		for i := 0; ; i++ {
			if err := c.Write([]wire.Packet{numbered(i, 1<<20)}); err != nil {
				return err
			}
		}
	})
}

func readSome(t *testing.T, c wire.Conn) {
	t.Helper()
	packets, err := within(t, "read", c.Read)
	require.NoError(t, err)
	require.Equal(t, uint64(0), packets[0].Body.(*metasim.Deliver).Number)
}

func acceptAfterClose(t *testing.T, on tested) {
	l := listen(t, on)
	waiting := inBackground(func() error {
		_, err := l.Accept()
		return err
	})
	require.NoError(t, l.Close())
	err := await(t, "an accept on a closed listener", waiting)
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = within(t, "accept", l.Accept)
	require.ErrorIs(t, err, net.ErrClosed)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if c, err := on.dial(ctx, l); err == nil {
		t.Fatalf("dialed %s after the listener was closed", c.Peer())
	}
}

func connectionsOutliveListener(t *testing.T, on tested) {
	l := listen(t, on)
	client := dial(t, on, l)
	write(t, client, numbered(1, 8))
	server := accept(t, l)
	readN(t, server, 1)
	require.NoError(t, l.Close())
	write(t, server, numbered(2, 8))
	checkNumbered(t, 2, 8, readN(t, client, 1)[0])
	write(t, client, numbered(3, 8))
	checkNumbered(t, 3, 8, readN(t, server, 1)[0])
}

// hostile connects a peer that sends these bytes, whatever they are.
func hostile(t *testing.T, on tested, bytes ...byte) (peer, c wire.Conn) {
	t.Helper()
	l := listen(t, on)
	peer = dial(t, on, l)
	require.NoError(t, peer.WriteFrames(bytes))
	c = accept(t, l)
	t.Cleanup(func() { closeBoth(t, peer, c) })
	return peer, c
}

func wantProtocolError(t *testing.T, c wire.Conn) error {
	t.Helper()
	_, err := within(t, "read", c.Read)
	var refused *wire.ProtocolError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, c.Peer(), refused.Peer)
	return err
}

// garbage has the length of a frame but is none. The server can still send the reason.
func garbage(t *testing.T, on tested) {
	_, c := hostile(t, on, 4, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef)
	_ = wantProtocolError(t, c) // the tests of wire check its text
	write(t, c, wire.Packet{Body: wire.Refuse{Reason: wire.BadMessage, Text: "what was that?"}})
}

func oversizedLength(t *testing.T, on tested) {
	_, c := hostile(t, on, binary.LittleEndian.AppendUint32(nil, 1<<32-1)...)
	_ = wantProtocolError(t, c) // as above
}

func halfFrame(t *testing.T, on tested) {
	peer, c := hostile(t, on, 4, 0, 0, 0, 0x0a)
	closed := inBackground(peer.Close) // it may wait for its reader
	require.ErrorIs(t, wantProtocolError(t, c), io.ErrUnexpectedEOF)
	require.NoError(t, <-closed)
}

// killed: a Read ends soon after the death of the peer, with io.EOF or an error.
func killed(t *testing.T, on tested) {
	l := listen(t, on)
	if l, ok := l.(interface{ SetPeerTimeout(time.Duration) }); ok {
		l.SetPeerTimeout(3 * time.Second) // of QUIC, where nothing else tells of the death
	}
	peer := exec.CommandContext(t.Context(), os.Args[0])
	peer.Env = append(os.Environ(), victimOf+"="+l.URL())
	peer.Stderr = os.Stderr
	require.NoError(t, peer.Start())
	c := accept(t, l)
	require.Equal(t, goodbye, readN(t, c, 1)[0])
	require.NoError(t, peer.Process.Kill())
	require.Error(t, peer.Wait())
	packets, err := within(t, "a read from a dead peer", c.Read)
	require.Error(t, err, "a dead peer sent %v", packets)
	require.NotErrorIs(t, err, net.ErrClosed, "it looks like this side's own Close")
}

// victimOf is the variable that makes the test binary the peer which is killed: the URL of its server.
const victimOf = "METASIM_TRANSPORT_TEST_VICTIM"

var goodbye = wire.Packet{Body: wire.Goodbye{}}

// victim says goodbye and waits for its end.
func victim(url string) error {
	c, err := all.Table().Dial(context.Background(), url)
	if err != nil {
		return err
	}
	if err := c.Write([]wire.Packet{goodbye}); err != nil {
		return err
	}
	_, err = c.Read()
	return errors.Join(err, c.Close())
}
