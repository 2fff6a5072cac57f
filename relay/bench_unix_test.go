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

// inStep runs a client that says something at each step, and hears others.
func inStep(ctx context.Context, name, says, hears string, steps int, at client.Option) error {
	b := client.NewBuilder(name)
	out := b.Publication(says)
	if err := b.Subscribe(hears, nil); err != nil {
		return err
	}
	c, err := b.Complete(ctx, at, client.WithToken(token), client.WithTransports(all.Table()))
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

// BenchmarkLockStep measures a step of two clients that hear one another: each over a QUIC connection of its own to the server, or over unix sockets through
// a relay, which has one QUIC connection. All is in one process, whose processor time is told too: on a busy machine that is what can be compared. Many clients
// over relays are measured by BenchmarkHosts.
func BenchmarkLockStep(b *testing.B) {
	b.Run("direct", func(b *testing.B) { lockStep(b, false) })
	b.Run("relayed", func(b *testing.B) { lockStep(b, true) })
}

func lockStep(b *testing.B, relayed bool) {
	b.Setenv("TMPDIR", shortdir.Make(b))
	srv, err := server.New(server.Config{Scenario: "relayed", Token: token, Core: metasim.Config{Clients: []string{"c0", "c1"}}})
	require.NoError(b, err)
	table := all.Table()
	l, err := table.Listen("quic", "")
	require.NoError(b, err)
	var serving, working sync.WaitGroup
	serving.Go(func() { _ = srv.Accept(l) }) // it ends with the run
	url := l.URL()
	if relayed {
		near, err := table.Listen("unix", "")
		require.NoError(b, err)
		r := relay.New(relay.Config{Name: "host", Server: l.URL(), Dial: table.DialAs})
		serving.Go(func() { _ = r.Accept(near) })                // likewise
		serving.Go(func() { _ = r.Serve(context.Background()) }) // likewise
		url = near.URL()
	}
	for i := range 2 {
		working.Go(func() {
			if err := inStep(b.Context(), fmt.Sprint("c", i), fmt.Sprint("T", i), fmt.Sprint("T", 1-i), b.N, client.WithServer(url)); err != nil {
				b.Errorf("client %d: %v", i, err)
			}
		})
	}
	began := make(chan time.Duration, 1)
	go func() {
		<-srv.Joined()
		b.ResetTimer()
		began <- cpu()
	}()
	require.NoError(b, srv.Serve(b.Context()))
	b.StopTimer()
	b.ReportMetric(float64(cpu()-<-began)/float64(b.N), "cpu-ns/op")
	working.Wait()
	serving.Wait()
}

// cpu is the processor time of this process.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it knows this process
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
