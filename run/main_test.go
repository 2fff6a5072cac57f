package run_test

import (
	"bytes"
	"context"
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
	"metasim/run"
	"metasim/scenarios"
)

// TestMain lets this test binary be a client: a built-in model, started as run.Options.Self says, or a command of a
// scenario.
func TestMain(m *testing.M) {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 3 && args[0] == "client" && args[1] == "--instance":
		err = playModel(args[2])
	case os.Getenv("PLAY") == "stubborn":
		err = playStubborn()
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func playModel(instance string) error {
	in, err := run.ParseInstance(instance)
	if err != nil {
		return err
	}
	parts, err := in.Parts(os.Getenv("METASIM_CLIENT"))
	if err != nil {
		return err
	}
	return run.TakePart(context.Background(), parts, os.Getenv("METASIM_SERVER"), os.Getenv("METASIM_TOKEN"))
}

// playStubborn leaves at once, and does not end before its stdin, say, would: never.
func playStubborn() error {
	signal.Ignore(syscall.SIGTERM)
	ctx := context.Background()
	c, err := client.NewBuilder("").Complete(ctx)
	if err != nil {
		return err
	}
	if err := c.Leave(ctx); err != nil {
		return err
	}
	r, _, err := os.Pipe()
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	return err
}

// options puts a run into a directory of its own.
func options(t *testing.T, transport string) run.Options {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return run.Options{Transport: transport, Out: filepath.Join(t.TempDir(), "run"), Self: []string{self}, Env: []string{noNap}}
}

// noNap keeps processes that are built with the race detector from sleeping a second before they end.
const noNap = "GORACE=atexit_sleep_ms=0"

// parse reads a scenario; BIN in it is this program.
func parse(t *testing.T, text string) *scenarios.Scenario {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	sc, _, err := scenarios.Parse("test.yaml", []byte(strings.ReplaceAll(text, "BIN", self)), scenarios.Overrides{})
	require.NoError(t, err)
	return sc
}

// carryOut runs a scenario that is to go well.
func carryOut(t *testing.T, sc *scenarios.Scenario, o run.Options) *run.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := run.Scenario(ctx, sc, o)
	require.NoError(t, err)
	require.NoError(t, out.Err)
	return out
}

// logger returns a logger, and what it has logged.
func logger() (*slog.Logger, *bytes.Buffer) {
	var b bytes.Buffer
	return slog.New(slog.NewTextHandler(&b, nil)), &b
}
