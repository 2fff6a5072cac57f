package follower_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
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
			l, err := all.Table().Listen(scheme, "")
			require.NoError(b, err)
			table, err := delay.NewTable(1, nil)
			require.NoError(b, err)
			names := []string{"director"}
			for i := range 1 + followers {
				names = append(names, fmt.Sprint("node-", i))
			}
			s, err := server.New(server.Config{Core: metasim.Config{Delays: table, Clients: names}, Scenario: "bench", Token: "t"})
			require.NoError(b, err)
			var parts sync.WaitGroup
			parts.Go(func() { _ = s.Accept(l) })
			errs := make([]error, len(names))
			for i, name := range names {
				options := []client.Option{client.WithServer(l.URL()), client.WithToken("t"), client.WithName(name), client.WithTransports(all.Table())}
				parts.Go(func() {
					if i == 0 {
						errs[i] = direct(b.Context(), b.N, options)
					} else {
						errs[i] = render(b.Context(), name, size, i == 1, options)
					}
				})
			}
			began := processorTime(b)
			b.ResetTimer()
			require.NoError(b, s.Serve(b.Context()))
			b.StopTimer()
			b.ReportMetric(float64(processorTime(b)-began)/1e6/float64(b.N), "cpu-ms/op")
			require.NoError(b, l.Close())
			parts.Wait()
			require.NoError(b, errors.Join(errs...))
		})
	}
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
	state := make([]byte, size)
	for {
		_, err := n.Await(ctx, 0)
		if errors.Is(err, follower.ErrQuit) {
			return c.Leave(ctx)
		}
		if err == nil && leads {
			err = n.SendFollowerData(state)
		} else if err == nil {
			_, err = n.ReceiveFollowerData()
		}
		if err == nil {
			err = n.SendFrame([32]byte{})
		}
		if err != nil {
			return err
		}
	}
}
