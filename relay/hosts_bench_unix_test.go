//go:build unix

package relay_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/shortdir"
	"metasim/internal/testprogram"
	"metasim/metasim"
	"metasim/relay"
	"metasim/server"
	"metasim/wire/transport/all"
)

func TestMain(m *testing.M) {
	os.Exit(testprogram.Main(m, map[string]testprogram.Program{"host": hostProgram}))
}

// hostProgram is the clients of a host in a process of their own: with a relay, or each with a connection to the server.
func hostProgram(args []string) error {
	numbers := make([]int, 3)
	for i := range numbers {
		var err error
		if numbers[i], err = strconv.Atoi(args[i]); err != nil {
			return err
		}
	}
	first, count, steps, url := numbers[0], numbers[1], numbers[2], args[4]
	var relaying, clients sync.WaitGroup
	if args[3] == "relayed" {
		table := all.Table()
		near, err := table.Listen("unix", "")
		if err != nil {
			return err
		}
		r := relay.New(relay.Config{Name: fmt.Sprint("host-", first), Server: url, Dial: table.DialAs})
		relaying.Go(func() { _ = r.Accept(near) })                // it ends with the run
		relaying.Go(func() { _ = r.Serve(context.Background()) }) // likewise
		url = near.URL()
	}
	errs := make([]error, count)
	for i := range count {
		clients.Go(func() { errs[i] = star(context.Background(), first+i, steps, url) })
	}
	clients.Wait()
	relaying.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// star runs a client that steps in time with all others: the first one hears all, and all hear the first one.
func star(ctx context.Context, i, steps int, url string) error {
	says, hears := "DONE", "GO"
	if i == 0 {
		says, hears = hears, says
	}
	return inStep(ctx, fmt.Sprint("c", i), says, hears, steps, url)
}

// BenchmarkHosts measures a step of 64 clients on four hosts, which are processes here: the processor time of the server alone, and of all together. On a
// cluster the server has a host to itself, or shares one, and is what all wait for.
func BenchmarkHosts(b *testing.B) {
	for _, how := range []string{"direct", "relayed"} {
		b.Run(how, func(b *testing.B) { onHosts(b, how, 4, 64) })
	}
}

func onHosts(b *testing.B, how string, hosts, clients int) {
	b.Setenv("TMPDIR", shortdir.Make(b))
	var names []string
	for i := range clients {
		names = append(names, fmt.Sprint("c", i))
	}
	srv, err := server.New(server.Config{Scenario: "relayed", Token: token, Core: metasim.Config{Clients: names}})
	require.NoError(b, err)
	l, err := all.Table().Listen("quic", "")
	require.NoError(b, err)
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Accept(l) }) // it ends with the run
	self, err := os.Executable()
	require.NoError(b, err)
	var processes []*exec.Cmd
	said := make([]bytes.Buffer, hosts)
	for i := range hosts {
		each := clients / hosts
		cmd := exec.Command(self, fmt.Sprint(i*each), fmt.Sprint(each), fmt.Sprint(b.N), how, l.URL())
		cmd.Env, cmd.Stderr = append(os.Environ(), testprogram.Env("host")), &said[i]
		require.NoError(b, cmd.Start())
		processes = append(processes, cmd)
	}
	began := make(chan time.Duration, 1)
	go func() {
		<-srv.Joined()
		b.ResetTimer()
		began <- used()
	}()
	require.NoError(b, srv.Serve(b.Context()))
	b.StopTimer()
	server := used() - <-began
	var others time.Duration
	for i, cmd := range processes {
		require.NoError(b, cmd.Wait(), "%s", said[i].String())
		u := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		others += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	serving.Wait()
	b.ReportMetric(float64(server)/float64(b.N), "server-cpu-ns/op")
	b.ReportMetric(float64(others)/float64(b.N), "hosts-cpu-ns/op")
	b.ReportMetric(float64(srv.Result().Wakeups)/float64(b.N), "rounds/op")
	b.ReportMetric(float64(srv.Result().Traffic.FramesIn)/float64(b.N), "frames-in/op")
}
