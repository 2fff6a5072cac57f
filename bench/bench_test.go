package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
)

// TestMain makes this program its own child.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "child" {
		if err := Child(context.Background(), os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(testprogram.Main(m, nil))
}

// newHarness makes a harness whose children are metasim as it ships: they are many, and take several times as long with the race detector.
func newHarness(t *testing.T) *harness {
	return &harness{Options: Options{Quick: true, Self: []string{testprogram.Shipped(t), "bench", "--child"}}, known: map[string]Result{}, list: workloads()}
}

// larger reports whether a parameter is a number beyond most.
func (w *workload) larger(key string, most int) bool {
	v, _ := w.params[key].(int)
	return v > most
}

// Every workload does, on its least amount, what it says: those that know how much must come out fail if it does not.
func TestEveryWorkload(t *testing.T) {
	h := newHarness(t)
	seen := map[string]bool{}
	for i := range h.list {
		w := &h.list[i]
		assert.False(t, seen[w.id()], "%s is there twice", w.id())
		seen[w.id()] = true
		if w.slow || w.larger("processes", 8) || w.larger("n", 64) || w.larger("clients", 64) || w.larger("leaves", 64) {
			continue
		}
		t.Run(w.id(), func(t *testing.T) {
			amount := 10
			if w.larger("size", 1<<19) || w.larger("bytes", 1<<20) {
				amount = 2 // of what is large; the race detector looks at each byte
			}
			s, err := h.sample(t.Context(), w, min(w.first, amount))
			require.NoError(t, err)
			assert.Positive(t, s.value)
		})
	}
	for i := range h.list {
		if floor := h.list[i].floor; floor != "" {
			assert.True(t, seen[floor], "%s has the floor %q, which is no workload", h.list[i].id(), floor)
		}
	}
}

func TestRunMeasuresTheFloorToo(t *testing.T) {
	h := newHarness(t)
	var progress strings.Builder
	h.Only, h.Progress = "^raw codec code=wire", &progress
	results, err := Run(t.Context(), h.Options)
	require.NoError(t, err)
	require.Len(t, results, 1)
	assert.Positive(t, results[0].Floor)
	assert.InEpsilon(t, results[0].Floor/results[0].Value, results[0].Ratio, 1e-9)
	assert.Contains(t, progress.String(), "raw codec code=generated", "floors are told of, too")

	var table, list strings.Builder
	require.NoError(t, Print(&table, results))
	assert.Contains(t, table.String(), "raw codec")
	require.NoError(t, PrintJSON(&list, results))
	var parsed []map[string]any
	require.NoError(t, json.Unmarshal([]byte(list.String()), &parsed))
	for _, key := range []string{"name", "params", "value", "unit", "floor", "ratio"} {
		assert.Contains(t, parsed[0], key)
	}
}

func TestRunRefuses(t *testing.T) {
	_, err := Run(t.Context(), Options{Only: "no such workload"})
	assert.EqualError(t, err, `no workload matches "no such workload"; run without it to see all`)
	_, err = Run(t.Context(), Options{Only: "("})
	assert.ErrorContains(t, err, "is no pattern")
}

// Profiles go into a directory that need not be there.
func TestRunMakesTheDirectoryForProfiles(t *testing.T) {
	h := newHarness(t)
	h.Only, h.Profile = "no such workload", filepath.Join(t.TempDir(), "not", "yet") // with a profile, each takes long
	_, err := Run(t.Context(), h.Options)
	require.ErrorContains(t, err, "no workload matches")
	self, err := os.Executable()
	require.NoError(t, err)
	h.Self = []string{self, "child"} // here the race detector watches them
	_, err = h.run(t.Context(), ringScenario(2, 5), placement{transport: "unix", processes: 2})
	require.NoError(t, err)
	for _, name := range []string{"server", "clients-0", "clients-1"} {
		assert.FileExists(t, filepath.Join(h.Profile, name+".pprof"))
	}
	h.Profile = filepath.Join(h.Profile, "server.pprof")
	_, err = Run(t.Context(), h.Options)
	assert.ErrorContains(t, err, "name another")
}

func TestChildRefuses(t *testing.T) {
	assert.ErrorContains(t, Child(t.Context(), strings.NewReader(`{"Kind": "dance"}`)), `knows no job "dance"`)
	assert.ErrorContains(t, Child(t.Context(), strings.NewReader("")), "given its job")
	assert.ErrorContains(t, Child(t.Context(), strings.NewReader(
		`{"Kind": "clients", "Clients": [{"Kind": "*bench.dancer"}]}`)), `no simulator "*bench.dancer"`)
}

func TestFigure(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.0123456: "0.0123", 1.5: "1.50", 123.4: "123", 1234: "1,230", 56_789_123: "56,800,000", -4321: "-4,320",
	} {
		assert.Equal(t, want, figure(v))
	}
}
