package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
	"metasim/record"
	"metasim/record/journal"
	"metasim/record/replay"
	"metasim/run"
	"metasim/scenarios"
)

// killedServer carries out a scenario, as metasim run does. Its arguments are the file, the directory of the run, the transport, and perhaps how the
// scenarios inside are carried out: nested, or apart. It prints the digests.
func killedServer(args []string) error {
	sc, _, err := scenarios.Load(args[0], scenarios.Overrides{})
	if err != nil {
		return err
	}
	if err := os.Unsetenv(testprogram.Variable); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	how := append(args[3:], "")[0]
	out, err := run.Scenario(context.Background(), sc, run.Options{
		Transport: args[2], Out: args[1], Self: []string{self}, KeepEnv: true, Nested: how == "nested", Apart: how == "apart",
	})
	if err != nil {
		return err
	}
	return errors.Join(out.Err, json.NewEncoder(os.Stdout).Encode(out.Digests))
}

// TestKilledServer kills metasim at random moments of a run, again and again, and has the run go on each time: it ends as one that was not
// disturbed.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	const until = "600ms"
	quiet := carryOut(t, parse(t, workersOf(until, t.TempDir(), "")), options(t, "unix"))
	whole := journalSize(t, quiet.RunDir)
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 2))
	for transport, each := range map[string]int{"mem": *kills * 7 / 20, "unix": *kills * 7 / 20, "shm": *kills / 10, "tcp": *kills / 10, "quic": *kills / 10} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			for range each {
				dir := cutOff(t, workersOf(until, t.TempDir(), ""), transport, int64(0.8*random.Float64()*float64(whole)))
				out := resume(t, dir)
				require.NoError(t, out.Err)
				require.Equal(t, quiet.Digests, out.Digests)
				a, err := replay.Dispatcher(recorded(t, dir))
				require.NoError(t, err)
				require.Nil(t, a.Difference, "the journal is that of one run")
				require.NoError(t, a.Torn)
				require.Equal(t, 1, manifest(t, dir).Resumed)
			}
		})
	}
}

// cutOff begins a run in a process that is killed when its journal has so many bytes.
func cutOff(t *testing.T, text, transport string, size int64) (dir string) {
	t.Helper()
	return killedWhen(t, text, transport, func(dir string) bool {
		info, err := os.Stat(filepath.Join(dir, "journal"))
		return err == nil && info.Size() >= size
	})
}

// killedWhen begins a run in a process that is killed when its directory is as it should be. A run that ends before the kill begins again: on a busy
// machine this process may be late.
func killedWhen(t *testing.T, text, transport string, now func(dir string) bool) (dir string) {
	t.Helper()
	for range 5 {
		dir = endedWhen(t, text, transport, now)
		r, err := record.Open(dir)
		require.NoError(t, err)
		if r.Killed() {
			return dir
		}
	}
	require.Fail(t, "five runs ended before they were killed")
	return ""
}

func endedWhen(t *testing.T, text, transport string, now func(dir string) bool) (dir string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	place := t.TempDir()
	file := filepath.Join(place, "x.metasim.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(text, "BIN", self)), 0o600))
	dir = filepath.Join(place, "run")
	cmd := exec.Command(self, file, dir, transport)
	cmd.Env = append(os.Environ(), testprogram.Env("killedServer"))
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	for !now(dir) {
		<-time.After(time.Millisecond)
	}
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // the record says how it ended
	return dir
}

// cutShort makes a run that has ended one that was cut off when its journal was this. It returns the manifest that the run has then.
func cutShort(t *testing.T, path string, written []byte) *journal.Manifest {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(path, "journal"), written, 0o600))
	m := manifest(t, path)
	m.Digest, m.SendsDigest, m.ResultsDigest, m.OK, m.Error, m.Resumed = "", "", "", false, "the run has not ended", 0
	dir, err := journal.Open(path)
	require.NoError(t, err)
	require.NoError(t, dir.WriteManifest(m))
	return m
}

// resume has a run go on.
func resume(t *testing.T, dir string) *run.Outcome {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	out, err := run.Resume(ctx, recorded(t, dir), run.Options{Self: []string{self}})
	require.NoError(t, err)
	return out
}

func journalSize(t *testing.T, dir string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, "journal"))
	require.NoError(t, err)
	return info.Size()
}

// TestResumeAfterAnyCut: wherever the journal of a run breaks off, and whatever stands behind that, the run goes on from there.
func TestResumeAfterAnyCut(t *testing.T) {
	t.Parallel()
	text := `name: cut
until: 30ms
clients:
  - {name: ear, model: sink, with: {channels: [TICK, PONG]}}
  - {name: ping, model: ping, with: {rounds: 5, out: PING, in: PONG}}
  - {name: pong, model: echo, with: {in: PING, out: PONG}}
  - {name: tick, model: source, with: {channel: TICK, period: 3ms, count: 6}}
links:
  - {delay: {uniform: {min: 1ms, max: 2ms}}, order: fifo, bandwidth: 100kbit}
`
	quiet := carryOut(t, parse(t, text), options(t, "mem"))
	whole, err := os.ReadFile(filepath.Join(quiet.RunDir, "journal"))
	require.NoError(t, err)
	for cut := 0; cut <= len(whole); cut += 23 {
		for _, tail := range []string{"", "\x00\x01 this is no record, however long it may be"} {
			if cut < 12 && tail != "" {
				continue // it is no journal
			}
			cutShort(t, quiet.RunDir, append(whole[:cut:cut], tail...))
			out := resume(t, quiet.RunDir)
			require.NoError(t, out.Err, cut)
			require.Equal(t, quiet.Digests, out.Digests, cut)
			a, err := replay.Dispatcher(recorded(t, quiet.RunDir))
			require.NoError(t, err)
			require.Nil(t, a.Difference)
			require.NoError(t, a.Torn)
		}
	}
}

// TestResumeStopped: a run that is stopped while its journal is read stays as it was.
func TestResumeStopped(t *testing.T) {
	t.Parallel()
	quiet := carryOut(t, parse(t, twoSources), options(t, "mem"))
	whole, err := os.ReadFile(filepath.Join(quiet.RunDir, "journal"))
	require.NoError(t, err)
	cutShort(t, quiet.RunDir, whole[:len(whole)/2])
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	_, err = run.Resume(ctx, recorded(t, quiet.RunDir), run.Options{})
	require.ErrorIs(t, err, enough)
	require.Equal(t, quiet.Digests, resume(t, quiet.RunDir).Digests)
}

// TestResumeInVain: a run that fails before anything new happens in it, as a program of it is not there, may go on once that is.
func TestResumeInVain(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.Symlink(self, program))
	text := strings.Replace(mortalsOf(t, "lives", ""), "[BIN,", "["+program+",", 1)
	o := options(t, "unix")
	o.KeepEnv = true
	quiet := carryOut(t, parse(t, text), o)
	whole, err := os.ReadFile(filepath.Join(quiet.RunDir, "journal"))
	require.NoError(t, err)
	cutShort(t, quiet.RunDir, whole[:len(whole)/2])
	require.NoError(t, os.Remove(program))
	for range 2 {
		out := resume(t, quiet.RunDir)
		require.ErrorContains(t, out.Err, program)
		require.True(t, out.Resumable)
	}
	require.NoError(t, os.Symlink(self, program))
	require.Equal(t, quiet.Digests, resume(t, quiet.RunDir).Digests)
}

// TestResumeWithARate: a run that keeps to a rate goes on at that rate from where it was, and not from its start.
func TestResumeWithARate(t *testing.T) {
	t.Parallel()
	text := `name: paced
until: 10000s
rate: 1000000
clients:
  - {name: ear, model: sink, with: {channels: [TICK]}}
  - {name: tick, model: source, with: {channel: TICK, period: 10s}}
links:
  - {delay: 1s}
`
	quiet := carryOut(t, parse(t, text), options(t, "mem"))
	whole, err := os.ReadFile(filepath.Join(quiet.RunDir, "journal"))
	require.NoError(t, err)
	m := cutShort(t, quiet.RunDir, whole[:len(whole)-len(whole)/100])
	slow := bytes.Replace(m.Resolved, []byte("1000000"), []byte("100"), 1) // from its start it would take longer than resume waits
	require.NotEqual(t, string(m.Resolved), string(slow))
	m.Resolved = slow
	require.NoError(t, recorded(t, quiet.RunDir).Dir.WriteManifest(m))
	out := resume(t, quiet.RunDir)
	require.NoError(t, out.Err)
	require.Equal(t, quiet.Digests, out.Digests)
	a, err := replay.Dispatcher(recorded(t, quiet.RunDir))
	require.NoError(t, err)
	require.Nil(t, a.Difference)
	require.NoError(t, a.Torn)
}

// TestDurableRun: a run whose journal reaches the disk first is the same.
func TestDurableRun(t *testing.T) {
	t.Parallel()
	text := workersOf("50ms", t.TempDir(), "")
	quiet := carryOut(t, parse(t, text), options(t, "unix"))
	for _, transport := range []string{"mem", "unix", "shm"} {
		o := options(t, transport)
		o.Durable = true
		require.Equal(t, quiet.Digests, carryOut(t, parse(t, text), o).Digests)
	}
	o := options(t, "mem")
	o.Durable, o.NoJournal = true, true
	_, err := run.Scenario(t.Context(), parse(t, text), o)
	require.EqualError(t, err, "--durable says when the journal is on the disk, and --no-journal leaves the journal out; use one of them")
}

// TestResumeRefuses: a run that has ended, one that goes on, one in real time, one whose secrets are not known.
func TestResumeRefuses(t *testing.T) {
	out := carryOut(t, parse(t, workersOf("10ms", t.TempDir(), "")), options(t, "unix"))
	refused := func(o run.Options) error {
		_, err := run.Resume(t.Context(), recorded(t, out.RunDir), o)
		return err
	}
	o := options(t, "mem")
	require.ErrorContains(t, refused(o), "has ended; only one that was cut off can go on")
	m := manifest(t, out.RunDir)
	m.Digest = ""
	dir, err := journal.Open(out.RunDir)
	require.NoError(t, err)
	require.NoError(t, dir.WriteManifest(m))
	require.ErrorContains(t, refused(o), "set them in the environment of metasim resume, or record the run with --keep-env")
	t.Setenv("TEST_PROGRAM", "worker")
	w, err := dir.Reopen()
	require.NoError(t, err)
	require.ErrorIs(t, refused(o), journal.ErrGoesOn)
	require.NoError(t, w.Close())

	seen := recorded(t, out.RunDir)
	m.Digest = out.Digest
	require.NoError(t, dir.WriteManifest(m))
	_, err = run.Resume(t.Context(), seen, o)
	require.ErrorContains(t, err, "has ended; only one that was cut off can go on", "it ended after it was looked at")
}
