package run_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
	"metasim/record"
	"metasim/run"
	"metasim/scenarios"
)

// long are the scenarios with many processes, or many steps: once a transport is enough, with the processors and the pack that
// once says. Only unix gives each client a process. With the race detector mem and unix are enough: these scenarios have more clients than the
// others, and do nothing else. Of the other scenarios each transport between processes has one number of processors with the race detector, which
// changes from scenario to scenario. .ci/ordinary carries out all of them in every way.
var (
	long = map[string]bool{"cart-pole": true, "mix-200": true, "phold": true}
	once = map[string]int{"unix": 1, "tcp": 2, "quic": 0, "shm": 2}
)

// Every scenario that ships has one digest: over every transport, with any number of processors, however many clients
// share a process, and read back from the journal.
func TestOneDigest(t *testing.T) {
	files, err := filepath.Glob("../scenarios/*.metasim.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	metasim := testprogram.Shipped(t)
	info, ok := debug.ReadBuildInfo()
	require.True(t, ok)
	raced := slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
	for turn, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			sc, _, err := scenarios.Load(file, scenarios.Overrides{})
			require.NoError(t, err)
			var want *run.Outcome
			for k, transport := range run.Transports {
				for j, procs := range []int{1, 2, 8} {
					if raced && !long[sc.Name] && transport != "mem" && j != (turn+k)%3 {
						continue
					}
					if long[sc.Name] && (transport != "mem" && j != once[transport] || raced && (transport != "mem" && transport != "unix" || j != 1)) {
						continue
					}
					got := one(t, sc, metasim, transport, procs, []int{8, 0, 3}[j])
					if want == nil {
						want = got
					}
					same(t, want, got, fmt.Sprintf("%s, GOMAXPROCS %d", transport, procs))
				}
			}
		})
	}
}

// one runs a scenario, and reads what it left behind.
func one(t *testing.T, sc *scenarios.Scenario, metasim, transport string, procs, pack int) *run.Outcome {
	t.Helper()
	runtime.GOMAXPROCS(procs)
	o := options(t, transport)
	o.Self = []string{metasim}
	o.Pack = pack
	o.Env = append(o.Env, fmt.Sprintf("GOMAXPROCS=%d", procs))
	out := carryOut(t, sc, o)
	require.True(t, out.Deterministic)
	l, err := record.ReadLog(out.RunDir)
	require.NoError(t, err)
	require.NoError(t, l.Torn)
	require.Equal(t, out.Digest, l.Ledger.Digest().String(), "the journal tells the same run")
	require.Equal(t, out.Digest, l.Run.Manifest.Digest)
	require.True(t, l.Run.Manifest.OK)
	totals := l.Ledger.Totals()
	require.Equal(t, out.Messages, run.Messages{
		Sent: totals.Sent, Delivered: totals.Delivered, Dropped: totals.Dropped, Undelivered: totals.Undelivered,
	})
	return out
}

// same compares all that must not depend on the machine.
func same(t *testing.T, want, got *run.Outcome, how string) {
	t.Helper()
	require.Equal(t, want.Digest, got.Digest, how)
	require.Equal(t, want.Messages, got.Messages, how)
	require.Equal(t, want.EndNS, got.EndNS, how)
	require.Len(t, got.Clients, len(want.Clients))
	for i, w := range want.Clients {
		g := got.Clients[i]
		g.Grants, g.BusyS, g.BlockedS, g.HeldS, g.Traffic = w.Grants, w.BusyS, w.BlockedS, w.HeldS, w.Traffic // these may
		require.Equal(t, w, g, how)
	}
}
