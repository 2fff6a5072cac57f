package stream

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/shortdir"
)

// sockets returns both ends of a connection of each kind.
func sockets(t *testing.T, each func(t *testing.T, a, b *socket)) {
	for network, address := range map[string]string{"unix": shortdir.Make(t) + "/s", "tcp": "127.0.0.1:0"} {
		t.Run(network, func(t *testing.T) {
			l, err := net.Listen(network, address)
			require.NoError(t, err)
			dialed, err := net.Dial(network, l.Addr().String())
			require.NoError(t, err)
			accepted, err := l.Accept()
			require.NoError(t, err)
			a, b := movable(dialed).(*socket), movable(accepted).(*socket)
			each(t, a, b)
			for _, s := range []*socket{a, b} {
				if err := s.Close(); err != nil {
					require.ErrorIs(t, err, net.ErrClosed)
				}
			}
			require.NoError(t, l.Close())
			require.Zero(t, outside.Load())
		})
	}
}

// places has a test look at a socket in Go's netpoller, and outside.
func places(t *testing.T, each func(t *testing.T, a, b *socket)) {
	for _, polled := range []bool{false, true} {
		name := map[bool]string{false: "inside", true: "outside"}[polled]
		t.Run(name, func(t *testing.T) {
			sockets(t, func(t *testing.T, a, b *socket) {
				a.settle(polled)
				require.Equal(t, polled, a.at.Load().outside)
				each(t, a, b)
			})
		})
	}
}

// Whatever moves while both sides read, write and wait, each byte comes once and in order.
func TestASocketThatMovesLosesNothing(t *testing.T) {
	sockets(t, func(t *testing.T, a, b *socket) {
		const size = 30 << 20
		stop := make(chan struct{})
		var moves, ends sync.WaitGroup
		var moved atomic.Int32
		for _, s := range []*socket{a, b} {
			moves.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
						s.settle(i%2 == 0)
						moved.Add(1)
						for range i % 3 * 1000 { // some of the time at one place
							runtime.Gosched()
						}
					}
				}
			})
		}
		for i, from := range []*socket{a, b} {
			to := []*socket{b, a}[i]
			random := rand.New(rand.NewPCG(1, uint64(i)))
			sent, got := sha256.New(), sha256.New()
			both := make(chan []byte, 2)
			ends.Go(func() {
				defer func() { both <- sent.Sum(nil) }()
				part := make([]byte, 1<<20)
				for i := range part {
					part[i] = byte(random.Uint32())
				}
				for left := size; left > 0; part[0]++ {
					n := min(left, 1+random.IntN(len(part)))
					done, err := from.Write(part[:n])
					if err != nil || done != n {
						t.Errorf("a write of %d bytes has written %d: %v", n, done, err)
						return
					}
					_, _ = sent.Write(part[:n]) // a hash does not fail
					left -= n
				}
			})
			ends.Go(func() {
				defer func() { both <- got.Sum(nil) }()
				if n, err := io.Copy(got, io.LimitReader(to, size)); n != size || err != nil {
					t.Errorf("%d bytes came: %v", n, err)
				}
			})
			defer func() { require.True(t, bytes.Equal(<-both, <-both)) }()
		}
		ends.Wait()
		require.Greater(t, moved.Load(), int32(10))
		close(stop)
		moves.Wait()
	})
}

// A deadline wakes who sleeps, and is over with the next one. What comes meanwhile is not lost, nor what comes after that.
func TestDeadlinesOfSockets(t *testing.T) {
	places(t, func(t *testing.T, a, b *socket) {
		read := func() chan error {
			done := make(chan error, 1)
			go func() {
				_, err := io.ReadFull(a, make([]byte, 1))
				done <- err
			}()
			return done
		}
		write := func() {
			_, err := b.Write([]byte{1})
			require.NoError(t, err)
		}
		for range 20 {
			done := read()
			require.NoError(t, a.SetDeadline(time.Unix(1, 0)))
			require.ErrorIs(t, <-done, os.ErrDeadlineExceeded)
			write() // rings for nobody
			require.NoError(t, a.SetDeadline(time.Time{}))
			require.NoError(t, <-read())
			done = read()
			write()
			require.NoError(t, <-done)
		}
		require.NoError(t, a.SetReadDeadline(time.Now().Add(time.Millisecond)))
		require.ErrorIs(t, <-read(), os.ErrDeadlineExceeded)
		a.settle(!a.at.Load().outside)
		require.ErrorIs(t, <-read(), os.ErrDeadlineExceeded, "a move takes its deadline along")
	})
}

// Somebody who begins to sleep is woken by what has come just before, also where that has rung for a sleeper who had gone.
func TestWhatHasComeWakes(t *testing.T) {
	places(t, func(t *testing.T, a, b *socket) {
		for range 3 {
			require.NoError(t, a.SetReadDeadline(time.Now().Add(time.Millisecond)))
			require.ErrorIs(t, a.read(func(uintptr) bool { return false }), os.ErrDeadlineExceeded)
			_, err := b.Write([]byte{1})
			require.NoError(t, err)
			require.NoError(t, a.SetReadDeadline(time.Time{}))
			if a.at.Load().outside {
				looks := 0
				require.NoError(t, a.read(func(uintptr) bool { looks++; return looks == 2 }))
			}
			_, err = a.Read(make([]byte, 1))
			require.NoError(t, err)
		}
	})
}

// The end of the other side is told to who has looked just before it, and then goes to sleep.
func TestWhoseEndHasComeWakes(t *testing.T) {
	places(t, func(t *testing.T, a, b *socket) {
		looks := 0
		require.NoError(t, a.read(func(fd uintptr) bool {
			_, err := syscall.Read(int(fd), make([]byte, 1))
			if looks++; looks == 1 {
				require.ErrorIs(t, err, syscall.EAGAIN)
				if c, ok := b.conn.(*net.TCPConn); ok {
					require.NoError(t, c.SetLinger(0)) // a reset
				}
				require.NoError(t, b.Close())
				runtime.GC() // the netpoller hears of it meanwhile
			}
			return !errors.Is(err, syscall.EAGAIN)
		}))
	})
}

// What a socket says of a deadline and of a Close does not depend on where it is, or was.
func TestErrorsOfSockets(t *testing.T) {
	places(t, func(t *testing.T, a, b *socket) {
		require.NoError(t, a.SetDeadline(time.Now().Add(time.Millisecond)))
		_, err := a.Read(make([]byte, 1))
		timeout := net.Error(nil)
		require.ErrorAs(t, err, &timeout)
		require.True(t, timeout.Timeout(), err)
		require.NotErrorIs(t, err, syscall.EAGAIN)
		a.settle(!a.at.Load().outside)
		a.settle(!a.at.Load().outside)
		require.NoError(t, a.Close())
		_, tried := a.TryRead(make([]byte, 1))
		_, read := a.Read(make([]byte, 1))
		_, written := a.Write(make([]byte, 1))
		for _, err := range []error{tried, read, written, a.SetDeadline(time.Now()), a.CloseWrite(), a.Close()} {
			require.ErrorIs(t, err, net.ErrClosed)
		}
	})
}

// A Write waits while the socket is full. It goes on when the peer reads, and fails at a deadline or a Close.
func TestFullSockets(t *testing.T) {
	places(t, func(t *testing.T, a, b *socket) {
		much := make([]byte, 64<<20)
		require.NoError(t, a.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
		n, err := a.Write(much)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Positive(t, n)
		require.Less(t, n, len(much))
		require.NoError(t, a.SetWriteDeadline(time.Time{}))
		done := make(chan error, 1)
		go func() {
			_, err := a.Write(much[:1<<20])
			done <- err
		}()
		_, err = io.CopyN(io.Discard, b, int64(n+1<<20))
		require.NoError(t, err)
		require.NoError(t, <-done)
		go func() {
			_, err := a.Write(much)
			done <- err
		}()
		_, err = io.ReadFull(b, make([]byte, 1)) // it has begun
		require.NoError(t, err)
		require.NoError(t, a.Close())
		require.ErrorIs(t, <-done, net.ErrClosed)
	})
}

// Close wakes who sleeps, and leaves no descriptor. What comes after it is refused.
func TestClosedSockets(t *testing.T) {
	places(t, func(t *testing.T, a, b *socket) {
		before := openFiles(t)
		done := make(chan error, 1)
		go func() {
			_, err := a.Read(make([]byte, 1))
			done <- err
		}()
		require.NoError(t, a.Close())
		require.ErrorIs(t, <-done, net.ErrClosed)
		require.ErrorIs(t, a.Close(), net.ErrClosed)
		_, err := a.Write([]byte{1})
		require.ErrorIs(t, err, net.ErrClosed)
		_, err = a.TryRead(make([]byte, 1))
		require.Error(t, err)
		a.settle(true)
		a.settle(false)
		require.Less(t, openFiles(t), before)
		_, err = b.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
	})
}

// A peer that closes, or goes away with bytes unread, is told to who sleeps.
func TestTheOtherEndGoesAway(t *testing.T) {
	places(t, func(t *testing.T, a, b *socket) {
		done := make(chan error, 2)
		go func() {
			_, err := a.Read(make([]byte, 1))
			done <- err
		}()
		go func() {
			_, err := a.Write(make([]byte, 64<<20))
			done <- err
		}()
		_, err := io.ReadFull(b, make([]byte, 1<<20))
		require.NoError(t, err)
		require.NoError(t, b.Close())
		require.Error(t, errors.Join(<-done, <-done))
	})
}

// Few sockets leave the netpoller, and where one comes back, another may.
func TestFewSocketsLeave(t *testing.T) {
	var all []*socket
	l, err := net.Listen("unix", shortdir.Make(t)+"/s")
	require.NoError(t, err)
	for range mostOutside/2 + 1 {
		a, err := net.Dial("unix", l.Addr().String())
		require.NoError(t, err)
		b, err := l.Accept()
		require.NoError(t, err)
		all = append(all, movable(a).(*socket), movable(b).(*socket))
	}
	for _, s := range all {
		s.settle(true)
	}
	require.True(t, all[mostOutside-1].at.Load().outside)
	require.False(t, all[mostOutside].at.Load().outside)
	require.EqualValues(t, mostOutside, outside.Load())
	all[0].settle(false)
	all[mostOutside].settle(true)
	require.True(t, all[mostOutside].at.Load().outside)
	for _, s := range all {
		require.NoError(t, s.Close())
	}
	require.NoError(t, l.Close())
	require.Zero(t, outside.Load())
}
