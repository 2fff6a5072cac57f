//go:build unix

package run_test

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/record/journal"
)

// work sums up how long the clients of a recorded run say that they computed, and the processor time of their processes.
func work(t *testing.T, path string) (computed, cpu int64) {
	dir, err := journal.Open(path)
	require.NoError(t, err)
	r, err := dir.OpenJournal(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return computed, cpu
		}
		require.NoError(t, err)
		switch ev := e.Event.(type) {
		case *metasim.Advance:
			computed, cpu = computed+ev.Computed, cpu+ev.CPU
		case *metasim.PollWait:
			computed, cpu = computed+ev.Computed, cpu+ev.CPU
		}
	}
}

// Clients say how long they computed, those that are processes with their processor time, unless they are not asked. It
// makes no difference to the digest.
func TestTrace(t *testing.T) {
	t.Parallel()
	sc := parse(t, `
name: traced
until: 100ms
clients:
  - {name: phold, count: 2, model: phold, with: {lps: 4, population: 1, remote: 0.5, mean: 10ms, lookahead: 1ms, grain: 500us}}
links:
  - {delay: 1ms}
`)
	digests := map[string]bool{}
	for _, transport := range []string{"mem", "unix"} {
		for _, off := range []bool{false, true} {
			o := options(t, transport)
			o.NoTrace = off
			out := carryOut(t, sc, o)
			digests[out.Digest] = true
			computed, cpu := work(t, out.RunDir)
			require.Equal(t, !off, computed > 0, "%s: %d ns", transport, computed)
			require.Equal(t, !off && transport == "unix", cpu > 0, "%s: %d ns", transport, cpu)
		}
	}
	require.Len(t, digests, 1)
}
