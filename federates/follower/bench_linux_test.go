package follower_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/delay"
	"metasim/federates/catalog"
	"metasim/federates/follower"
	"metasim/metasim"
	"metasim/server"
	"metasim/wire/transport/all"
)

// processorTime is what this process has computed, in the kernel too.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLargeStates measures the processor time of a frame whose state of 16 MiB goes to three followers, over each transport between processes, and of its floor: the same
// bytes on bare sockets, from the controller to a server and from there to each follower.
func BenchmarkLargeStates(b *testing.B) {
	const size, followers = 16 << 20, 3
	b.Run("floor", func(b *testing.B) {
		l, err := net.Listen("unix", filepath.Join(b.TempDir(), "s"))
		require.NoError(b, err)
		var reading sync.WaitGroup
		var writers []net.Conn
		for range 1 + followers {
			w, err := net.Dial("unix", l.Addr().String())
			require.NoError(b, err)
			r, err := l.Accept()
			require.NoError(b, err)
			writers = append(writers, w)
			reading.Go(func() {
				_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, make([]byte, size/2))
				require.NoError(b, err)
			})
		}
		state := make([]byte, size)
		began := processorTime(b)
		for b.Loop() {
			for _, w := range writers {
				_, err := w.Write(state)
				require.NoError(b, err)
			}
		}
		for _, w := range writers {
			require.NoError(b, w.Close())
		}
		reading.Wait()
		b.ReportMetric(float64(processorTime(b)-began)/1e6/float64(b.N), "cpu-ms/op")
	})
	for _, scheme := range []string{"unix", "shm"} {
		b.Run(scheme, func(b *testing.B) {
			serve, end := overTransport(b, scheme, followers, b.N, func(ctx context.Context, name string, leads bool, options []client.Option) error {
				return render(ctx, name, size, leads, options)
			})
			began := processorTime(b)
			b.ResetTimer()
			serve()
			b.StopTimer()
			b.ReportMetric(float64(processorTime(b)-began)/1e6/float64(b.N), "cpu-ms/op")
			end()
		})
	}
}

// overTransport begins a cluster of a director, a controller and so many followers, each with a connection of its own. The director makes so many frames when serve
// is called.
func overTransport(tb testing.TB, scheme string, followers, frames int, node func(ctx context.Context, name string, leads bool, options []client.Option) error) (serve, end func()) {
	l, err := all.Table().Listen(scheme, "")
	require.NoError(tb, err)
	table, err := delay.NewTable(1, nil)
	require.NoError(tb, err)
	names := []string{"director"}
	for i := range 1 + followers {
		names = append(names, fmt.Sprint("node-", i))
	}
	s, err := server.New(server.Config{Core: metasim.Config{Delays: table, Clients: names}, Scenario: "bench", Token: "t"})
	require.NoError(tb, err)
	var parts sync.WaitGroup
	parts.Go(func() { _ = s.Accept(l) })
	errs := make([]error, len(names))
	for i, name := range names {
		options := []client.Option{client.WithServer(l.URL()), client.WithToken("t"), client.WithName(name), client.WithTransports(all.Table())}
		parts.Go(func() {
			if i == 0 {
				errs[i] = direct(tb.Context(), frames, options)
			} else {
				errs[i] = node(tb.Context(), name, i == 1, options)
			}
		})
	}
	serve = func() { require.NoError(tb, s.Serve(tb.Context())) }
	end = func() {
		require.NoError(tb, l.Close())
		parts.Wait()
		require.NoError(tb, errors.Join(errs...))
	}
	return serve, end
}

func direct(ctx context.Context, frames int, options []client.Option) error {
	in, err := catalog.Make("director", map[string]any{"frames": frames}, catalog.Env{Name: "director"})
	if err != nil {
		return err
	}
	b := client.NewBuilder("director")
	var out []*client.Publication
	for _, channel := range in.Ports.Publications {
		out = append(out, b.Publication(channel))
	}
	for _, pattern := range in.Ports.Subscriptions {
		if err := b.Subscribe(pattern, nil); err != nil {
			return err
		}
	}
	c, err := b.Complete(ctx, options...)
	if err != nil {
		return err
	}
	return follower.Director(ctx, c, in, out)
}

func render(ctx context.Context, name string, size int, leads bool, options []client.Option) error {
	state := make([]byte, size)
	return showFrames(ctx, name, leads, options, func(n *follower.Node, _ follower.FrameData) (err error) {
		if leads {
			return n.SendFollowerData(state)
		}
		_, err = n.ReceiveFollowerData()
		return err
	})
}

// showFrames is a node that shows each frame.
func showFrames(ctx context.Context, name string, leads bool, options []client.Option, show func(*follower.Node, follower.FrameData) error) error {
	o := follower.Options{Role: follower.Follower}
	if leads {
		o.Role = follower.Controller
	}
	b := client.NewBuilder(name)
	n, err := follower.Declare(b, o)
	if err != nil {
		return err
	}
	c, err := b.Complete(ctx, options...)
	if err != nil {
		return err
	}
	if err := n.Join(c); err != nil {
		return err
	}
	for {
		f, err := n.Await(ctx, 0)
		if errors.Is(err, follower.ErrQuit) {
			return c.Leave(ctx)
		}
		if err == nil {
			err = show(n, f)
		}
		if err == nil {
			err = n.SendFrame([32]byte{})
		}
		if err != nil {
			return err
		}
	}
}

// A controller writes over its state as soon as it has sent it, and followers show what it was when it was sent: also where it travels in a file that all map.
func TestAStateMayBeUsedAgainAtOnce(t *testing.T) {
	const size, followers, frames = 3<<20 + 5, 3, 8
	for _, scheme := range []string{"unix", "shm"} {
		t.Run(scheme, func(t *testing.T) {
			var shown atomic.Int64
			serve, end := overTransport(t, scheme, followers, frames, func(ctx context.Context, name string, leads bool, options []client.Option) error {
				state := make([]byte, size)
				var before []byte // what was received in the frame before
				return showFrames(ctx, name, leads, options, func(n *follower.Node, f follower.FrameData) error {
					if leads {
						defer func() { fill(state, 0xff) }()
						fill(state, byte(f.Frame))
						return n.SendFollowerData(state)
					}
					got, err := n.ReceiveFollowerData()
					if err != nil {
						return err
					}
					for i, data := range [][]byte{got, before} {
						if data != nil && (len(data) != size || bytes.Count(data, []byte{byte(int(f.Frame) - i)}) != size) {
							return fmt.Errorf("%s has other data of frame %d in frame %d", name, int(f.Frame)-i, f.Frame)
						}
					}
					before = got
					shown.Add(1)
					return nil
				})
			})
			serve()
			end()
			require.EqualValues(t, followers*frames, shown.Load())
		})
	}
}

func fill(b []byte, with byte) {
	for i := range b {
		b[i] = with
	}
}
