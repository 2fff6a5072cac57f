package shm

import (
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport/stream"
)

// connPair connects two ends with rings of a size.
func connPair(t *testing.T, size uint32) (a, b *conn) {
	t.Helper()
	l := listen(t, socketURL(t)).(*listener)
	a, err := dial(t.Context(), l.URL(), size)
	require.NoError(t, err)
	arrived := <-l.arrived
	require.NoError(t, arrived.err)
	require.NoError(t, l.Close())
	a.maxSleep, arrived.conn.maxSleep = time.Hour, time.Hour // a wake-up that is lost hangs
	t.Cleanup(func() {
		require.NoError(t, a.Close())
		require.NoError(t, arrived.conn.Close())
	})
	return a, arrived.conn
}

// inBackground sends the result of a call.
func inBackground(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// A frame that is larger than the ring goes through it.
func TestFrameLargerThanRing(t *testing.T) {
	for _, size := range []uint32{minRingSize, 4096} {
		a, b := connPair(t, size)
		from, to := stream.New(a, a.peer), stream.New(b, b.peer)
		sent := []wire.Packet{{Body: &metasim.Send{Channel: "X", Payload: []byte(strings.Repeat("0123456789", 5000))}}}
		written := inBackground(func() error { return from.Write(sent) })
		got, err := to.Read()
		require.NoError(t, err)
		require.Equal(t, sent, got)
		require.NoError(t, <-written)
	}
}

// A peer that changes the words is refused, or delays only itself; this side can always close.
func TestCorruptIndices(t *testing.T) {
	a, b := connPair(t, 64)
	b.maxSleep = maxSleep
	var refused *wire.ProtocolError
	a.out.tail.Store(65)
	_, err := stream.New(b, b.peer).Read()
	require.ErrorAs(t, err, &refused)
	require.Equal(t, stream.New(b, b.peer).Peer(), refused.Peer)
	require.ErrorContains(t, err, "with 65 bytes unread: it holds 64")
	b.in.tail.Store(0)

	a.in.head.Store(1)
	_, err = b.Write(make([]byte, 100))
	require.ErrorAs(t, err, &refused)
	a.in.head.Store(0)

	reading := inBackground(func() error { _, err := b.Read(make([]byte, 1)); return err })
	stop := make(chan struct{})
	scribbled := inBackground(func() error { // the peer stores that b sleeps, again and again
		for {
			select {
			case <-stop:
				return nil
			default:
				a.out.reader.Store(1)
			}
		}
	})
	require.NoError(t, b.Close())
	require.ErrorIs(t, <-reading, net.ErrClosed)
	close(stop)
	require.NoError(t, <-scribbled)
}

// A sleep ends by itself, even if the peer keeps the word at 1 and never wakes this side.
func TestSleepEnds(t *testing.T) {
	var word atomic.Uint32
	w := wait{word: &word, maxSleep: time.Millisecond}
	require.NoError(t, w.once(time.Time{}))
	require.Equal(t, uint32(1), word.Load(), "a sleep is announced")
	require.NoError(t, w.once(time.Time{}))
	w.end()
	require.Equal(t, uint32(1), word.Load(), "who slept has nothing to take back")
}

func TestDeadlines(t *testing.T) {
	a, _ := connPair(t, 64)
	read := func() error { _, err := a.Read(make([]byte, 1)); return err }
	write := func() error { _, err := a.Write(make([]byte, 65)); return err }
	require.NoError(t, a.SetDeadline(time.Now().Add(time.Millisecond)))
	require.ErrorIs(t, read(), os.ErrDeadlineExceeded)
	require.NoError(t, a.SetDeadline(time.Time{}))
	reading, writing := inBackground(read), inBackground(write)
	require.NoError(t, a.SetDeadline(time.Unix(1, 0)))
	require.ErrorIs(t, <-reading, os.ErrDeadlineExceeded)
	require.ErrorIs(t, <-writing, os.ErrDeadlineExceeded)
}

// TestWakeUps sends back and forth, so that each side sleeps before each byte: none sleeps for ever.
func TestWakeUps(t *testing.T) {
	a, b := connPair(t, 64)
	const n = 5000
	echo := func(c *conn, first bool) error {
		buf := make([]byte, 1)
		for i := range n {
			if !first || i > 0 {
				if _, err := c.Read(buf); err != nil {
					return err
				}
			}
			if _, err := c.Write(buf); err != nil {
				return err
			}
		}
		return nil
	}
	done := inBackground(func() error { return echo(b, false) })
	require.NoError(t, echo(a, true))
	require.NoError(t, <-done)
}

// A peer that sends something on the socket is treated as closed.
func TestSocketStaysSilent(t *testing.T) {
	a, b := connPair(t, 64)
	_, err := a.socket.Write([]byte("x"))
	require.NoError(t, err)
	_, err = b.Read(make([]byte, 1))
	require.Equal(t, io.EOF, err)
	_, err = b.Write([]byte("x"))
	require.ErrorIs(t, err, syscall.EPIPE)
}

// After fifty connections there are as many files and mappings as before.
func TestNothingLeaks(t *testing.T) {
	once := func() {
		a, b := connPair(t, 4096)
		_, err := a.Write([]byte("hello"))
		require.NoError(t, err)
		require.NoError(t, a.Close())
		got, err := io.ReadAll(b)
		require.NoError(t, err)
		require.Equal(t, "hello", string(got))
		require.NoError(t, b.Close())
	}
	once() // the runtime opens its poller
	files, maps := openFiles(t), mappings(t)
	for range 50 {
		once()
	}
	require.Equal(t, files, openFiles(t))
	require.Equal(t, maps, mappings(t))
}

func openFiles(t *testing.T) int {
	files, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(files)
}

// mappings counts the mapped memories of this package.
func mappings(t *testing.T) int {
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return strings.Count(string(maps), "memfd:metasim")
}
