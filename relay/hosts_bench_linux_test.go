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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"metasim/client"
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

// clientsProgram is some clients, which step in time with all others: the first of all hears all, and all hear it. Those that share a connection do so as with metasim run --pack.
func clientsProgram(args []string) error {
	var first, last, steps int
	if _, err := fmt.Sscan(strings.Join(args[:3], " "), &first, &last, &steps); err != nil {
		return err
	}
	at := client.WithServer(args[3])
	if args[4] == "shared" {
		h, err := client.Connect(context.Background(), at, client.WithToken(token), client.WithTransports(all.Table()))
		if err != nil {
			return err
		}
		defer func() { _ = h.Close() }() // its clients have left
		at = client.WithHost(h)
	}
	errs := make(chan error)
	for i := first; i < last; i++ {
		says, hears := "DONE", "GO"
		if i == 0 {
			says, hears = hears, says
		}
		go func() { errs <- inStep(context.Background(), fmt.Sprint("c", i), says, hears, steps, at) }()
	}
	var err error
	for range last - first {
		err = errors.Join(err, <-errs)
	}
	return err
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

// BenchmarkHosts compares a step of 64 clients on four hosts over 64 QUIC connections with one through four relays. Each relay is a process. So is each client; or behind a relay 16
// are one, as with metasim run --pack 16; or with connections of their own, too. On a cluster the hosts compute at the same time, on processors of their own, and all wait for the
// server: there its processor time counts.
func BenchmarkHosts(b *testing.B) {
	for _, pack := range []struct {
		name            string
		direct, relayed int
	}{{"processes", 1, 1}, {"packed", 1, 16}, {"both-packed", 16, 16}} {
		b.Run(pack.name, func(b *testing.B) {
			direct, relayed := compare(b, form{0, 64, pack.direct}, form{4, 64, pack.relayed})
			ratio(b, "clock-direct/relayed", direct, relayed, cost.ofClock)
			ratio(b, "server-direct/relayed", direct, relayed, cost.ofServer)
			ratio(b, "clients-direct/relayed", direct, relayed, cost.ofClients)
		})
	}
}

// BenchmarkRoundTrip compares how long two clients, each in a process, need to hear one another: each over a QUIC connection to the server, and both over unix sockets and a
// relay in a process of its own.
func BenchmarkRoundTrip(b *testing.B) {
	direct, relayed := compare(b, form{0, 2, 1}, form{1, 2, 1})
	ratio(b, "relayed/direct", relayed, direct, cost.ofClock)
}

// batch is how many steps are measured at a time.
const batch = 200

// A cost is what a step of a batch took, in nanoseconds: by the clock, and processor time.
type cost struct{ clock, server, relays, clients float64 }

func (c cost) ofClock() float64   { return c.clock }
func (c cost) ofServer() float64  { return c.server }
func (c cost) ofRelays() float64  { return c.relays }
func (c cost) ofClients() float64 { return c.clients }

// A form is how many hosts with a relay there are, how many clients, and how many of these are one process. Without a host each client has a connection to the server.
type form struct{ hosts, clients, pack int }

// compare has clients step in time in two forms. Both set-ups are there all the time, and go on by turns, as the speed of a machine changes; what waits
// takes no processor time.
func compare(b *testing.B, without, with form) (direct, relayed []cost) {
	b.Setenv("TMPDIR", shortdir.Make(b))
	far, near := newSetUp(b, with), newSetUp(b, without)
	for done := 0; done < b.N; done += batch {
		to := min(done+batch, b.N)
		if done/batch%2 == 0 {
			direct = append(direct, near.advance(done, to))
		}
		relayed = append(relayed, far.advance(done, to))
		if done/batch%2 == 1 {
			direct = append(direct, near.advance(done, to))
		}
	}
	far.end("relayed", relayed)
	near.end("direct", direct)
	b.ReportMetric(0, "ns/op") // it is that of both
	return direct, relayed
}

// ratio reports by how much one is more than the other: the median of the pairs of batches.
func ratio(b *testing.B, unit string, these, those []cost, of func(cost) float64) {
	var all []float64
	for i := range these {
		all = append(all, of(these[i])/of(those[i]))
	}
	b.ReportMetric(median(all), unit)
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// A setUp is a run with its server in this process, and its relays and clients in others.
type setUp struct {
	*testing.B
	srv             *server.Server
	serving         sync.WaitGroup
	relays, clients []*process
}

func newSetUp(b *testing.B, f form) *setUp {
	var names []string
	for i := range f.clients {
		names = append(names, fmt.Sprint("c", i))
	}
	u := &setUp{B: b}
	var err error
	u.srv, err = server.New(server.Config{Scenario: "relayed", Token: token, Driven: true, Core: metasim.Config{Clients: names}})
	require.NoError(b, err)
	l, err := all.Table().Listen("quic", "")
	require.NoError(b, err)
	u.serving.Go(func() { _ = u.srv.Accept(l) }) // it ends with the run
	u.serving.Go(func() {
		if err := u.srv.Serve(b.Context()); err != nil {
			b.Error(err)
		}
	})
	urls := []string{l.URL()}
	for i := range f.hosts {
		p := start(b, "relay", l.URL())
		u.relays = append(u.relays, p)
		url, err := bufio.NewReader(p.out).ReadString('\n')
		require.NoError(b, err)
		urls = append(urls[:i], strings.TrimSpace(url))
	}
	shares := "own"
	if f.hosts > 0 && f.pack > 1 {
		shares = "shared"
	}
	for i := 0; i < f.clients; i += f.pack {
		u.clients = append(u.clients, start(b, "clients", fmt.Sprint(i), fmt.Sprint(i+f.pack), fmt.Sprint(b.N), urls[i*len(urls)/f.clients], shares))
	}
	require.NoError(b, u.srv.Initialize(b.Context()))
	return u
}

// advance lets the clients make some steps.
func (u *setUp) advance(from, to int) cost {
	server, relays, clients, began := used(u.B, os.Getpid()), u.used(u.relays), u.used(u.clients), time.Now()
	_, err := u.srv.AdvanceTo(u.Context(), metasim.Time(to))
	require.NoError(u, err)
	clock, steps := time.Since(began), float64(to-from)
	each := func(d time.Duration) float64 { return float64(d) / steps }
	return cost{each(clock), each(used(u.B, os.Getpid()) - server), each(u.used(u.relays) - relays), each(u.used(u.clients) - clients)}
}

// end lets the clients leave, and reports what their steps took: the medians of the batches.
func (u *setUp) end(name string, costs []cost) {
	_, err := u.srv.AdvanceTo(u.Context(), metasim.Forever)
	require.NoError(u, err)
	for _, p := range slices.Concat(u.clients, u.relays) {
		require.NoError(u, p.cmd.Wait(), "%s", p.err.String())
	}
	u.serving.Wait()
	for unit, of := range map[string]func(cost) float64{"ns": cost.ofClock, "server-cpu-ns": cost.ofServer, "relays-cpu-ns": cost.ofRelays, "clients-cpu-ns": cost.ofClients} {
		var all []float64
		for _, c := range costs {
			all = append(all, of(c))
		}
		u.ReportMetric(median(all), name+"-"+unit+"/op")
	}
	u.ReportMetric(float64(u.srv.Result().Wakeups)/float64(u.N), name+"-rounds/op")
	u.ReportMetric(float64(u.srv.Result().Traffic.FramesIn)/float64(u.N), name+"-frames-in/op")
}

func (u *setUp) used(processes []*process) (sum time.Duration) {
	for _, p := range processes {
		sum += used(u.B, p.cmd.Process.Pid)
	}
	return sum
}

// used is the processor time of a process.
func used(b *testing.B, pid int) time.Duration {
	var t unix.Timespec
	const ofProcess = 2 // clock_getcpuclockid(3)
	require.NoError(b, unix.ClockGettime(int32(^pid<<3|ofProcess), &t))
	return time.Duration(t.Nano())
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
