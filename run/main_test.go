package run_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/internal/testprogram"
	"metasim/metasim"
	"metasim/record/journal"
	"metasim/run"
	"metasim/scenarios"
)

// programs are what this test binary can be: a built-in model, started as run.Options.Self says, or one of these.
var programs = map[string]testprogram.Program{
	"stubborn": stubborn,
	"exit3":    exit3,
	"where":    where,
	"leaver":   leaver,
	"stuck":    stuck,
	"liar":     liar,
	"crash":    crash,
	"ahead":    ahead,
	"worker":   worker,
	"mortal":   mortal,
	"told":     told,
	"parrot":   parrot,

	"killedServer": killedServer,
}

// also adds a program of one system.
func also(name string, p testprogram.Program) bool {
	programs[name] = p
	return true
}

func TestMain(m *testing.M) { os.Exit(testprogram.Main(m, programs)) }

// stubborn leaves at once, and does not end, even if it is asked to.
func stubborn([]string) error {
	signal.Ignore(syscall.SIGTERM)
	return errors.Join(leaver(nil), forever())
}

// told leaves with what it was told; its run directory must be there if it has one.
func told([]string) error {
	ctx := context.Background()
	c, err := client.NewBuilder("").Complete(ctx)
	if err != nil {
		return err
	}
	about := c.About()
	if about.Directory != "" {
		err = os.WriteFile(filepath.Join(about.Directory, c.Name()), nil, 0o600)
	}
	about.Directory = ""
	return errors.Join(err, c.SetResult(about), c.Leave(ctx))
}

// leaver joins and leaves, and then fails.
func leaver([]string) error {
	ctx := context.Background()
	c, err := client.NewBuilder("").Complete(ctx)
	if err != nil {
		return err
	}
	if err := c.Leave(ctx); err != nil {
		return err
	}
	return testprogram.Status(4)
}

// exit3 does not join.
func exit3([]string) error {
	fmt.Println("so far so good")
	return testprogram.Status(3)
}

// crash joins, and ends without leaving.
func crash([]string) error {
	if _, err := client.NewBuilder("").Complete(context.Background()); err != nil {
		return err
	}
	return testprogram.Status(5)
}

// ahead computes up to 49 ms, for which it needs nobody, and ends without leaving.
func ahead([]string) error {
	ctx := context.Background()
	c, err := client.NewBuilder("").Complete(ctx)
	if err != nil {
		return err
	}
	for t := range metasim.Time(50) {
		if _, err := c.Step(ctx, t*1e6); err != nil {
			return err
		}
	}
	fmt.Println("the pole has fallen")
	return testprogram.Status(5)
}

// stuck joins, says so in a file, and then does nothing.
func stuck(args []string) error {
	ctx := context.Background()
	b := client.NewBuilder("")
	if _, err := b.Complete(ctx); err != nil {
		return err
	}
	fmt.Println("about to hang")
	return errors.Join(os.WriteFile(args[0], nil, 0o600), forever())
}

// liar is not deterministic: what it sends depends on GOMAXPROCS.
func liar([]string) error {
	ctx := context.Background()
	b := client.NewBuilder("")
	out := b.Publication("LIES")
	c, err := b.Complete(ctx)
	if err != nil {
		return err
	}
	return errors.Join(out.Publish([]byte(os.Getenv("GOMAXPROCS"))), c.Leave(ctx))
}

// forever does not return. A read that never ends is no deadlock to Go's runtime.
func forever() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	return errors.Join(err, w.Close())
}

// options puts a run into a directory of its own.
func options(t *testing.T, transport string) run.Options {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return run.Options{Transport: transport, Out: filepath.Join(t.TempDir(), "run"), Self: []string{self}}
}

// parse reads a scenario; BIN in it is this program.
func parse(t *testing.T, text string) *scenarios.Scenario {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	sc, _, err := scenarios.Parse("test.yaml", []byte(strings.ReplaceAll(text, "BIN", self)), scenarios.Overrides{})
	require.NoError(t, err)
	return sc
}

// fails runs a scenario that is to begin and then fail.
func fails(t *testing.T, ctx context.Context, sc *scenarios.Scenario, o run.Options) *run.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	out, err := run.Scenario(ctx, sc, o)
	require.NoError(t, err)
	require.Error(t, out.Err)
	require.False(t, out.OK)
	require.Equal(t, out.Err.Error(), out.Error)
	m := manifest(t, out.RunDir)
	require.Equal(t, out.Error, m.Error)
	require.False(t, m.OK)
	return out
}

// manifest reads the manifest of a run.
func manifest(t *testing.T, path string) *journal.Manifest {
	t.Helper()
	dir, err := journal.Open(path)
	require.NoError(t, err)
	m, err := dir.Manifest()
	require.NoError(t, err)
	return m
}

// carryOut runs a scenario that is to go well.
func carryOut(t *testing.T, sc *scenarios.Scenario, o run.Options) *run.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute) // on a busy machine
	defer cancel()
	out, err := run.Scenario(ctx, sc, o)
	require.NoError(t, err)
	require.NoError(t, out.Err)
	return out
}

// logger returns a logger, and what it has logged; read that after the run.
func logger() (*slog.Logger, *bytes.Buffer) {
	var b bytes.Buffer
	return slog.New(slog.NewTextHandler(&b, nil)), &b
}

// where says in which directory it is, by its environment and by the system, and ends.
func where([]string) error {
	dir, err := os.Getwd()
	return errors.Join(err, fmt.Errorf("PWD %s dir %s", os.Getenv("PWD"), dir))
}
