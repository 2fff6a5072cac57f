//go:build unix

package relay_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
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
	os.Exit(testprogram.Main(m, map[string]testprogram.Program{"clients": clientsProgram, "relay": relayProgram}))
}

// clientsProgram is some clients of a host in a process of their own.
func clientsProgram(args []string) error {
	numbers := make([]int, 3)
	for i := range numbers {
		var err error
		if numbers[i], err = strconv.Atoi(args[i]); err != nil {
			return err
		}
	}
	var clients sync.WaitGroup
	errs := make([]error, numbers[1])
	for i := range errs {
		clients.Go(func() { errs[i] = star(context.Background(), numbers[0]+i, numbers[2], args[3]) })
	}
	clients.Wait()
	return errors.Join(errs...)
}

// relayProgram is the relay of a host. It says where its clients reach it.
func relayProgram(args []string) error {
	table := all.Table()
	near, err := table.Listen("unix", "")
	if err != nil {
		return err
	}
	fmt.Println(near.URL())
	r := relay.New(relay.Config{Name: "host", Server: args[0], Dial: table.DialAs})
	var accepting sync.WaitGroup
	accepting.Go(func() { _ = r.Accept(near) }) // it ends with the run
	defer accepting.Wait()
	return r.Serve(context.Background())
}

// star runs a client that steps in time with all others: the first one hears all, and all hear the first one.
func star(ctx context.Context, i, steps int, url string) error {
	says, hears := "DONE", "GO"
	if i == 0 {
		says, hears = hears, says
	}
	return inStep(ctx, fmt.Sprint("c", i), says, hears, steps, url)
}

// BenchmarkHosts measures one step of 64 clients on four hosts. Each client is a process, and so is the relay of each host. It reports the processor time of the server, and that
// of all others together. On a cluster the others compute at the same time, on processors of their own, and all wait for the server: there its time counts.
func BenchmarkHosts(b *testing.B) {
	for _, how := range []string{"direct", "relayed"} {
		b.Run(how, func(b *testing.B) { onHosts(b, how == "relayed", 4, 64, 64) })
	}
}

// BenchmarkRoundTrip measures how long two clients, each in a process, need to hear one another: each over a QUIC connection to the server, or both over unix sockets
// and a relay in a process of its own.
func BenchmarkRoundTrip(b *testing.B) {
	for _, how := range []string{"direct", "relayed"} {
		b.Run(how, func(b *testing.B) { onHosts(b, how == "relayed", 1, 2, 2) })
	}
}

// onHosts has the clients of some processes step in time, on hosts with a relay each or without.
func onHosts(b *testing.B, relayed bool, hosts, processes, clients int) {
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
	urls := slices.Repeat([]string{l.URL()}, hosts)
	var started []*process
	for i := range urls {
		if !relayed {
			break
		}
		p := start(b, "relay", l.URL())
		started = append(started, p)
		urls[i], err = bufio.NewReader(p.out).ReadString('\n')
		require.NoError(b, err)
	}
	each := clients / processes
	for i := range processes {
		started = append(started, start(b, "clients", fmt.Sprint(i*each), fmt.Sprint(each), fmt.Sprint(b.N), strings.TrimSpace(urls[i*hosts/processes])))
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
	for _, p := range started {
		require.NoError(b, p.cmd.Wait(), "%s", p.err.String())
		u := p.cmd.ProcessState.SysUsage().(*syscall.Rusage)
		others += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	serving.Wait()
	b.ReportMetric(float64(server)/float64(b.N), "server-cpu-ns/op")
	b.ReportMetric(float64(others)/float64(b.N), "hosts-cpu-ns/op")
	b.ReportMetric(float64(srv.Result().Wakeups)/float64(b.N), "rounds/op")
	b.ReportMetric(float64(srv.Result().Traffic.FramesIn)/float64(b.N), "frames-in/op")
}

// A process is one that a benchmark has started.
type process struct {
	cmd *exec.Cmd
	out io.Reader
	err bytes.Buffer
}

func start(b *testing.B, program string, args ...string) *process {
	self, err := os.Executable()
	require.NoError(b, err)
	p := &process{cmd: exec.Command(self, args...)}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), testprogram.Env(program)), &p.err
	p.out, err = p.cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, p.cmd.Start())
	return p
}
