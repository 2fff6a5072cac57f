package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/run"
)

// withCommand is a scenario with one of the programs of this test, and a sink that hears it.
func withCommand(program, arg, more string) string {
	return fmt.Sprintf(`name: commanded
clients:
  - {name: prog, run: [BIN, "%s"], env: [TEST_PROGRAM=%s]%s}
  - {name: sink, model: sink, with: {channels: [".*"]}}
`, arg, program, more)
}

// A process that ends before its client has joined makes the run fail: with its exit status and its last output.
func TestProcessEnds(t *testing.T) {
	t.Parallel()
	out := fails(t, t.Context(), parse(t, withCommand("exit3", "x", "")), options(t, "mem"))
	require.Contains(t, out.Error, `client "prog" was lost before it joined: its process ended (exit status 3)`)
	require.Contains(t, out.Error, "| so far so good", "there is nothing on the standard error")
	require.Equal(t, "lost", out.Clients[0].Exit)
	require.Equal(t, "aborted", out.Clients[1].Exit)
	require.Equal(t, "prog", manifest(t, out.RunDir).Lost)
}

// Shells and programs trust PWD, so it is the directory in which a command is started.
func TestPWD(t *testing.T) {
	sc := parse(t, withCommand("where", "x", ""))
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	sc.Clients[0].WorkDir = dir
	out := fails(t, t.Context(), sc, options(t, "mem"))
	require.Contains(t, out.Error, fmt.Sprintf("PWD %s dir %[1]s", dir))
}

// A file that is no program cannot be started.
func TestProcessDoesNotStart(t *testing.T) {
	t.Parallel()
	sc := parse(t, withCommand("exit3", "x", ""))
	file := filepath.Join(t.TempDir(), "prog")
	require.NoError(t, os.WriteFile(file, []byte("not a program"), 0o755))
	sc.Clients[0].Run = []string{file}
	out := fails(t, t.Context(), sc, options(t, "mem"))
	require.Contains(t, out.Error, `client "prog" cannot be started: `)
	require.Equal(t, "absent", out.Clients[0].Exit)

	sc.Clients[0].Run = []string{file + "-is-not-there"}
	out = fails(t, t.Context(), sc, options(t, "mem"))
	require.Contains(t, out.Error, `client "prog": `)
	require.Contains(t, out.Error, "-is-not-there")
}

// A process that ends badly after its client has left is a warning.
func TestProcessEndsBadly(t *testing.T) {
	t.Parallel()
	o := options(t, "mem")
	log, text := logger()
	o.Log = log
	out := carryOut(t, parse(t, withCommand("leaver", "x", "")), o)
	require.Equal(t, "left", out.Clients[0].Exit)
	require.Contains(t, text.String(), `msg="a process ended badly after its client left" client=prog exit="exit status 4"`)
}

// A model that fails in this process makes the run fail, with its error. So does one in a process, with its output.
func TestModelFails(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, taken.Close()) // nobody listens there
	text := fmt.Sprintf(`name: live
until: 1s
rate: 1
clients:
  - {name: real, model: bridge, with: {url: "tcpq://%s", out: [STATE]}}
  - {name: plant, model: source, with: {channel: STATE, period: 50ms}}
`, taken.Addr())
	for _, transport := range []string{"mem", "unix"} {
		out := fails(t, t.Context(), parse(t, text), options(t, transport))
		require.Contains(t, out.Error, `client "real" was lost (`)
		require.Contains(t, out.Error, taken.Addr().String())
		require.Contains(t, out.Error, "(it failed: the LCM network")
		require.Equal(t, transport == "unix", strings.Contains(out.Error, "; exit status 1)"))
		require.Equal(t, []string{"real"}, out.Live)
		require.False(t, out.Deterministic)
	}
}

// Where a client was lost is said as far as it can be known: where it was last heard of, and how far it may have come. How its
// process ended and what it said last comes before how its connection ended.
func TestLostAhead(t *testing.T) {
	t.Parallel()
	sc := parse(t, `name: ahead
until: 100ms
clients:
  - {name: runs, run: [BIN], env: [TEST_PROGRAM=ahead]}
  - {name: plant, model: source, with: {channel: STATE, period: 50ms}}
`)
	out := fails(t, t.Context(), sc, options(t, "mem"))
	require.Regexp(t, `^client "runs" was lost \(exit status 5\): it was last heard of at \d+(ms)?s?, may have been up to 100ms, `+
		`and had promised to send nothing before .*; a client ends with a leave, or has on_exit: detach\n`+
		`last output of "runs":\n  \| the pole has fallen\nafter that: .*$`, out.Error)
}

// A client that the scenario lets go is cut off, and the run goes on without it.
func TestDetached(t *testing.T) {
	t.Parallel()
	o := options(t, "mem")
	log, text := logger()
	o.Log = log
	out := carryOut(t, parse(t, withCommand("crash", "x", ", on_exit: detach")), o)
	require.False(t, out.Deterministic)
	require.Equal(t, "detached", out.Clients[0].Exit)
	require.Equal(t, "left", out.Clients[1].Exit)
	require.Contains(t, text.String(), "msg=detached client=prog")
}

// hung is a run whose one program hangs, and who can end it.
type hung struct {
	end  context.CancelCauseFunc
	done chan *run.Outcome
}

// hang begins a run, and returns when its program hangs.
func hang(t *testing.T, o run.Options) hung {
	t.Helper()
	file := filepath.Join(t.TempDir(), "here")
	sc := parse(t, withCommand("stuck", filepath.ToSlash(file), ""))
	ctx, cancel := context.WithCancelCause(t.Context())
	h := hung{cancel, make(chan *run.Outcome, 1)}
	go func() {
		out, err := run.Scenario(ctx, sc, o)
		if err != nil {
			out = &run.Outcome{Err: err}
		}
		h.done <- out
	}()
	require.Eventually(t, func() bool {
		_, err := os.Stat(file)
		return err == nil
	}, time.Minute, time.Millisecond)
	return h
}

// Who stops a run, with Ctrl-C, say, is named as the cause, and the processes are ended.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	o := options(t, "mem")
	h := hang(t, o)
	stop := errors.New("stopped by somebody")
	h.end(stop)
	out := <-h.done
	require.ErrorIs(t, out.Err, stop)
	require.Equal(t, "stopped by somebody", out.Error)
	require.Equal(t, "aborted", out.Clients[0].Exit)
	require.Equal(t, "stopped by somebody", manifest(t, o.Out).Error)
	text, err := os.ReadFile(filepath.Join(o.Out, "clients", "prog.stdout"))
	require.NoError(t, err)
	require.Equal(t, "about to hang\n", string(text))
}

const twoSources = `name: two
until: 10ms
clients:
  - {name: s, count: 2, model: source, with: {channel: A, period: 1ms}}
  - {name: k, model: sink, with: {channels: [A]}}
links:
  - {delay: 1ms}
`

// Clients that somebody else starts are told where, and take part: two models on one connection, and one on its own.
func TestServe(t *testing.T) {
	want := carryOut(t, parse(t, twoSources), options(t, "mem"))
	for _, transport := range []string{"unix", "tcp", "quic"} {
		o := options(t, transport)
		o.Serve, o.Self = true, nil
		require.Equal(t, want.Digest, serve(t, o).Digest, transport)
	}
}

// serve carries out twoSources with clients from outside.
func serve(t *testing.T, o run.Options) *run.Outcome {
	t.Helper()
	var clients sync.WaitGroup
	var errs [2]error
	o.Ready = func(url, token, _ string) error {
		require.Equal(t, o.Transport != "unix", token != "", "only this user reaches a unix socket")
		for i, in := range []run.Instance{
			{Model: "source", With: map[string]any{"channel": "A", "period": "1ms"}, Entry: "s", Count: 2, Group: 2},
			{Model: "sink", With: map[string]any{"channels": []any{"A"}}, Entry: "k", Count: 1},
		} {
			text, err := json.Marshal(in)
			require.NoError(t, err)
			again, err := run.ParseInstance(string(text))
			require.NoError(t, err)
			parts, err := again.Parts("k")
			require.NoError(t, err)
			clients.Go(func() { errs[i] = run.TakePart(t.Context(), parts, url, token) })
		}
		return nil
	}
	out := carryOut(t, parse(t, twoSources), o)
	clients.Wait()
	require.NoError(t, errors.Join(errs[:]...))
	return out
}

// Clients that cannot be told where to join cannot come.
func TestNotReady(t *testing.T) {
	o := options(t, "unix")
	o.Ready = func(string, string, string) error { return errors.New("nobody can be told") }
	out := fails(t, t.Context(), parse(t, twoSources), o)
	require.Equal(t, "nobody can be told", out.Error)
	require.Equal(t, "absent", out.Clients[0].Exit)
}

// A run that cannot begin leaves nothing behind, so that the next one may have its directory.
func TestDoesNotBegin(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	for name, c := range map[string]struct {
		change func(*run.Options)
		says   string
	}{
		"path":    {func(o *run.Options) { o.Transport, o.Listen = "unix", "no/such/dir/s" }, "clients cannot join: "},
		"port":    {func(o *run.Options) { o.Transport, o.Listen = "tcp", taken.Addr().String() }, "clients cannot join: "},
		"address": {func(o *run.Options) { o.Transport, o.Listen = "quic", "nonsense" }, "clients cannot join: "},
		"page":    {func(o *run.Options) { o.Live = &run.Live{HTTP: "0.0.0.0:0"} }, "the run cannot be shown: other hosts could reach 0.0.0.0:0"},
		"taken":   {func(o *run.Options) { o.Live = &run.Live{HTTP: taken.Addr().String()} }, "; use a free port, or 0 for any"},
		"no port": {func(o *run.Options) { o.Live = &run.Live{HTTP: "8080"} }, "the run cannot be shown: "},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, "mem")
			o.Out = filepath.Join(o.Out, "below", "run")
			c.change(&o)
			out, err := run.Scenario(t.Context(), parse(t, twoSources), o)
			require.Nil(t, out)
			require.ErrorContains(t, err, c.says)
			require.NoDirExists(t, filepath.Dir(o.Out), "it was made for the run")
			require.NoError(t, os.MkdirAll(o.Out, 0o755))
			_, err = run.Scenario(t.Context(), parse(t, twoSources), o)
			require.ErrorContains(t, err, c.says)
			left, err := os.ReadDir(o.Out)
			require.NoError(t, err)
			require.Empty(t, left, "it was there, and empty")
		})
	}
}

// Without a journal the outcome is the same, and all that is left is the manifest.
func TestNoJournal(t *testing.T) {
	want := carryOut(t, parse(t, twoSources), options(t, "mem"))
	o := options(t, "mem")
	o.NoJournal = true
	out := carryOut(t, parse(t, twoSources), o)
	require.Equal(t, want.Digest, out.Digest)
	require.Equal(t, want.Messages, out.Messages)
	left, err := os.ReadDir(out.RunDir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, "manifest.json", left[0].Name())
	m := manifest(t, out.RunDir)
	require.True(t, m.NoJournal && m.OK)
	require.Equal(t, want.Digest, m.Digest)
}

// A run without a directory of its own gets the next one below runs.
func TestNextDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, want := range []string{"two-1", "two-2"} {
		o := options(t, "mem")
		o.Out = ""
		require.Equal(t, filepath.Join("runs", want), carryOut(t, parse(t, twoSources), o).RunDir)
	}
}

// A run with a rate takes as long as its rate says, and comes to the same digest.
func TestRate(t *testing.T) {
	want := carryOut(t, parse(t, twoSources), options(t, "mem"))
	out := carryOut(t, parse(t, twoSources+"rate: 0.1\n"), options(t, "mem"))
	require.GreaterOrEqual(t, out.WallS, 0.09, "10 ms at a tenth of real time")
	require.Equal(t, want.Digest, out.Digest)
}

// A run that is shown on LCM is the same run, and counts what was shown; a network that cannot be had is a warning.
func TestPublicLCM(t *testing.T) {
	want := carryOut(t, parse(t, twoSources), options(t, "mem"))
	file := filepath.Join(t.TempDir(), "shown.lcmlog")
	for url, had := range map[string]bool{"file://" + filepath.ToSlash(file): true, "tcpq://192.0.2.1:7700": false} {
		sc := parse(t, twoSources)
		sc.PublicLCM = url
		o := options(t, "mem")
		log, text := logger()
		o.Log = log
		out := carryOut(t, sc, o)
		require.Equal(t, want.Digest, out.Digest)
		require.Equal(t, url, out.LCM.URL)
		require.Equal(t, out.Messages.Sent+out.Messages.Delivered, out.LCM.Shown+out.LCM.Dropped)
		require.Equal(t, had, text.Len() == 0, text)
		require.Equal(t, had, out.LCM.Sent > 0)
		require.Equal(t, had, out.LCM.Failed == 0)
		o = options(t, "mem")
		o.Private = true
		require.Nil(t, carryOut(t, sc, o).LCM)
	}
	require.FileExists(t, file)
}

// The outcome as JSON has these fields, whatever happens: other programs read it.
func TestOutcomeJSON(t *testing.T) {
	keys := func(v any) (names []string) {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		var fields map[string]any
		require.NoError(t, json.Unmarshal(text, &fields))
		for name := range fields {
			names = append(names, name)
		}
		return names
	}
	all := []string{"scenario", "seed", "ok", "error", "deterministic", "digest", "sends_digest", "results_digest", "rounds_s", "end_ns", "wall_s", "run_dir", "messages",
		"frames_in", "frames_out", "bytes_in", "bytes_out", "wakeups", "held_bytes", "memory_bytes", "clients"}
	each := []string{"name", "digest", "sends_digest", "sent", "delivered", "end_ns", "end_step", "grants", "busy_s", "blocked_s", "memory_s", "restarts", "exit", "result"}
	o := options(t, "unix")
	o.Pack = 2
	out := carryOut(t, parse(t, twoSources), o)
	require.ElementsMatch(t, append(all, "hosts"), keys(out))
	require.ElementsMatch(t, append(each, "frames_in", "frames_out", "bytes_in", "bytes_out"), keys(out.Clients[0]), out.Clients[0].Name)
	require.ElementsMatch(t, each, keys(out.Clients[2]), "it shares its connection")
	require.ElementsMatch(t, append(all, "live", "lcm"), keys(&run.Outcome{Live: []string{"x"}, LCM: &run.LCMOutcome{}}))
}
