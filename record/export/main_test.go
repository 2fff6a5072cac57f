package export

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
	"metasim/run"
	"metasim/scenarios"
)

func TestMain(m *testing.M) { os.Exit(testprogram.Main(m, nil)) }

// mixed has many cases: several senders to several recipients, at the same instants and without delay; messages that are lost, duplicated,
// overtaken, empty, late, or for a client that has left; and clients that only listen.
const mixed = `name: mixed
seed: 3
until: 400ms
clients:
  - {name: a, model: source, with: {channel: A, period: 1ms, size: 20}}
  - {name: b, model: source, with: {channel: B, period: 1ms, size: 0}}
  - {name: early, model: source, with: {channel: A, period: 10us, count: 800}}
  - {name: hasty, model: ping, with: {rounds: 2, out: PING, in: A}}
  - {name: mirror, model: echo, with: {in: A, out: BACK}}
  - {name: all, model: sink, with: {channels: [".*"]}}
  - {name: some, model: sink, with: {channels: ["[AB]"]}}
links:
  - {delay: 2ms}
  - {to: mirror, delay: 0s}
  - {to: all, delay: {uniform: {min: 1ms, max: 20ms}}, loss: 0.2, duplicate: 0.1}
`

// carryOut runs a scenario that is to go well, and returns its directory.
func carryOut(t testing.TB, sc *scenarios.Scenario, transport string, procs int) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	if procs > 0 {
		before := runtime.GOMAXPROCS(procs)
		defer runtime.GOMAXPROCS(before)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	out, err := run.Scenario(ctx, sc, run.Options{
		Transport: transport, Out: filepath.Join(t.TempDir(), "run"), Self: []string{self},
		Env: []string{"GOMAXPROCS=" + strconv.Itoa(max(1, procs))},
	})
	require.NoError(t, err)
	require.NoError(t, out.Err)
	return out.RunDir
}

func parse(t testing.TB, text string) *scenarios.Scenario {
	t.Helper()
	sc, _, err := scenarios.Parse("test.yaml", []byte(text), scenarios.Overrides{})
	require.NoError(t, err)
	return sc
}

// shipped loads a scenario that ships with metasim.
func shipped(t testing.TB, name string) *scenarios.Scenario {
	t.Helper()
	sc, _, err := scenarios.Load(filepath.Join("..", "..", "scenarios", name+".metasim.yaml"), scenarios.Overrides{})
	require.NoError(t, err)
	return sc
}
