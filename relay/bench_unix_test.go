//go:build unix

package relay_test

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/internal/shortdir"
	"metasim/metasim"
	"metasim/relay"
	"metasim/server"
	"metasim/wire/transport/all"
)

// ring runs a client that steps in time with the others, and hears the one before it.
func ring(ctx context.Context, i, of, steps int, url string) error {
	return inStep(ctx, fmt.Sprint("c", i), fmt.Sprint("T", i), fmt.Sprint("T", (i+of-1)%of), steps, url)
}

// inStep runs a client that says something at each step, and hears others.
func inStep(ctx context.Context, name, says, hears string, steps int, url string) error {
	b := client.NewBuilder(name)
	out := b.Publication(says)
	if err := b.Subscribe(hears, nil); err != nil {
		return err
	}
	c, err := b.Complete(ctx, client.WithServer(url), client.WithToken(token), client.WithTransports(all.Table()))
	if err != nil {
		return err
	}
	for k := range steps {
		if _, err := c.Step(ctx, metasim.Time(k)); err != nil {
			return err
		}
		if err := out.Publish([]byte("x")); err != nil {
			return err
		}
	}
	return c.Leave(ctx)
}

// BenchmarkLockStep measures a step of clients that hear one another: each over a QUIC connection of its own to the server, or over unix sockets through
// relays, each of which has one QUIC connection. All is in one process, whose processor time is told too: on a busy machine that is what can be compared.
func BenchmarkLockStep(b *testing.B) {
	for _, clients := range []int{2, 64} {
		for _, relays := range []int{0, 1, 4} {
			if relays > clients {
				continue
			}
			b.Run(fmt.Sprintf("clients=%d/relays=%d", clients, relays), func(b *testing.B) { lockStep(b, clients, relays) })
		}
	}
}

func lockStep(b *testing.B, clients, relays int) {
	b.Setenv("TMPDIR", shortdir.Make(b))
	var names []string
	for i := range clients {
		names = append(names, fmt.Sprint("c", i))
	}
	srv, err := server.New(server.Config{Scenario: "relayed", Token: token, Core: metasim.Config{Clients: names}})
	require.NoError(b, err)
	table := all.Table()
	l, err := table.Listen("quic", "")
	require.NoError(b, err)
	var serving, working sync.WaitGroup
	serving.Go(func() { _ = srv.Accept(l) }) // it ends with the run
	urls := []string{l.URL()}
	for i := range relays {
		near, err := table.Listen("unix", "")
		require.NoError(b, err)
		r := relay.New(relay.Config{Name: fmt.Sprint("host-", i), Server: l.URL(), Dial: table.DialAs})
		serving.Go(func() { _ = r.Accept(near) })                // likewise
		serving.Go(func() { _ = r.Serve(context.Background()) }) // likewise
		if i == 0 {
			urls = nil
		}
		urls = append(urls, near.URL())
	}
	for i := range clients {
		working.Go(func() {
			if err := ring(b.Context(), i, clients, b.N, urls[i*len(urls)/clients]); err != nil {
				b.Errorf("client %d: %v", i, err)
			}
		})
	}
	began := make(chan time.Duration, 1)
	go func() {
		<-srv.Joined()
		b.ResetTimer()
		began <- used()
	}()
	require.NoError(b, srv.Serve(b.Context()))
	b.StopTimer()
	b.ReportMetric(float64(used()-<-began)/float64(b.N), "cpu-ns/op")
	working.Wait()
	serving.Wait()
}

// used is the processor time of this process.
func used() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it knows this process
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
