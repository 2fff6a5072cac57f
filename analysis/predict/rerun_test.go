package predict_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis/predict"
	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/internal/testprogram"
	"metasim/lcm"
	"metasim/record"
	"metasim/run"
	"metasim/scenarios"
)

var times = flag.Int("times", 7, "how often each run of the long table is made")

// A job is a run: of a scenario that ships, or of a text, with some values set.
type job struct {
	scenario  string
	text      string // of a scenario that does not ship; [BIN, work is this program as a worker
	set       []string
	transport string
	cores     int // 0: as many as there are
}

func (j job) with(set ...string) job {
	j.set = append(slices.Clip(j.set), set...)
	return j
}

func (j job) on(cores int) job {
	j.cores = cores
	return j
}

// do carries out a job, and returns its directory and how many seconds it took.
func (j job) do(t testing.TB) (dir string, wall float64) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	over := scenarios.Overrides{Set: j.set, AllowOutside: true}
	var sc *scenarios.Scenario
	if j.text != "" {
		worker := "env: [" + testprogram.Env("work") + "], run: ["
		sc, _, err = scenarios.Parse(j.scenario+".metasim.yaml", []byte(strings.ReplaceAll(j.text, "run: [BIN, work", worker+self)), over)
	} else {
		sc, _, err = scenarios.Load(filepath.Join("..", "..", "scenarios", j.scenario+".metasim.yaml"), over)
	}
	require.NoError(t, err)
	dir, err = os.MkdirTemp(t.TempDir(), "run")
	require.NoError(t, err)
	defer useCores(t, j.cores, j.transport != "mem")()
	runtime.GC() // so that the garbage of the last run does not slow this one down
	out, err := run.Scenario(t.Context(), sc, run.Options{Out: dir, Transport: j.transport, Self: []string{self}, AllowOutside: true})
	require.NoError(t, err)
	require.True(t, out.OK, out.Error)
	return dir, out.WallS
}

// read reads a recorded run.
func read(t testing.TB, dir string) *trace.Timeline {
	t.Helper()
	r, err := record.OpenToReplay(dir)
	require.NoError(t, err)
	source, err := trace.Open(r)
	require.NoError(t, err)
	tl, err := trace.Read(source)
	require.NoError(t, err)
	return tl
}

// predictWall returns how many seconds a run would take with changes; infinity if its simulation is not trusted, as on a busy machine.
func predictWall(t testing.TB, tl *trace.Timeline, changes string) float64 {
	t.Helper()
	m := predict.New(tl)
	var all []predict.Change
	for text := range strings.FieldsSeq(changes) {
		c, err := m.Parse(text)
		require.NoError(t, err)
		all = append(all, c)
	}
	p, err := m.Predict(all...)
	if errors.As(err, new(*predict.UntrustedError)) {
		return math.Inf(1)
	}
	require.NoError(t, err)
	return p.WallS
}

func wall(tl *trace.Timeline) float64 { return float64(tl.Wall()) / 1e9 }

// Every scenario that ships can be reported on and predicted, with each change of the short list.
func TestShippedScenarios(t *testing.T) {
	forEachShipped(t, func(c comparison, change change) {
		dir, _ := c.base.do(t)
		tl := read(t, dir)
		check(t, tl)
		require.Positive(t, predictWall(t, tl, change.text), "%s: %s", c.name, change.text)
	})
}

// forEachShipped calls f with each comparison of the short list. It fails if a scenario that ships is not in the list.
func forEachShipped(t testing.TB, f func(comparison, change)) {
	t.Helper()
	files, err := filepath.Glob("../../scenarios/*.metasim.yaml")
	require.NoError(t, err)
	missing := map[string]bool{}
	for _, file := range files {
		missing[strings.TrimSuffix(filepath.Base(file), ".metasim.yaml")] = true
	}
	for _, c := range comparisons(t, "mem", brief) {
		for _, change := range c.changes {
			if change.brief {
				delete(missing, c.base.scenario)
				f(c, change)
			}
		}
	}
	require.Empty(t, missing, "no prediction is made of these scenarios")
}

// What is predicted of every scenario that ships comes true within 20 % when it is carried out, on one core. It compares wall-clock times,
// so it is a benchmark, which fails: go test ./analysis/predict -run '^$' -bench ShippedScenarios -benchtime 1x.
func BenchmarkShippedScenarios(b *testing.B) {
	forEachShipped(b, func(c comparison, change change) {
		name := c.name + " " + change.text
		near(b, name, func(swap bool) (float64, float64) { return compare(b, c.base, change, swap) })
	})
}

// near fails unless the prediction is within 20 % of the measurement. If the machine does something else meanwhile the measurement is too
// long. So it tries several times, and compares the shortest prediction with the shortest measurement.
func near(t testing.TB, name string, measure func(swap bool) (predicted, measured float64)) {
	t.Helper()
	leastPredicted, leastMeasured := math.Inf(1), math.Inf(1)
	for i := range 15 {
		predicted, measured := measure(i%2 == 0)
		leastPredicted, leastMeasured = min(leastPredicted, predicted), min(leastMeasured, measured)
		if math.Abs(leastPredicted-leastMeasured) <= 0.2*leastMeasured {
			t.Logf("%s: %.3g s predicted, %.3g s measured", name, leastPredicted, leastMeasured)
			return
		}
	}
	t.Errorf("%s: %.3g s were predicted, and it took %.3g s", name, leastPredicted, leastMeasured)
}

// compare makes two runs. It returns what the first one predicts for the second, and what the second took. The order of the runs alternates,
// and both are read afterwards: how often a run has to ask for memory depends on what was there before.
func compare(t testing.TB, base job, c change, swap bool) (would, did float64) {
	t.Helper()
	if swap {
		_, did = c.rerun.on(1).do(t)
	}
	dir, _ := base.on(1).do(t)
	if !swap {
		_, did = c.rerun.on(1).do(t)
	}
	tl := read(t, dir)
	check(t, tl)
	return predictWall(t, tl, c.text), did
}

func check(t testing.TB, tl *trace.Timeline) {
	t.Helper()
	r := report.New(tl)
	require.LessOrEqual(t, r.CriticalIdealS, r.CriticalConservativeS+1e-9)
	require.LessOrEqual(t, r.CriticalConservativeS, r.WallS+1e-9)
	for _, c := range r.Clients {
		require.GreaterOrEqual(t, c.OverheadS, -1e-9, c.Name)
	}
	require.NoError(t, r.WriteText(io.Discard, report.Style{Width: 80}))
}

// The table of docs/report.md: go test ./analysis/predict -run '^$' -bench PredictionsComeTrue -benchtime 1x -times 7. It takes minutes.
// The runs take turns, so that other work of the machine affects all of them alike.
func BenchmarkPredictionsComeTrue(t *testing.B) {
	table := map[string]*row{}
	var order []string
	all, within := 0, 0
	for _, c := range slices.Concat(comparisons(t, "mem", full), comparisons(t, "unix", full), workers(t)) {
		for _, o := range c.outcomes(t) {
			key := fmt.Sprintf("| %s | `%s` |", c.name, o.change)
			if table[key] == nil {
				table[key] = &row{}
				order = append(order, key)
			}
			table[key].put(c.base.transport, o)
			if all++; math.Abs(o.ratio()-1) <= 0.2 {
				within++
			}
		}
	}
	fmt.Println("| scenario | change | in the process | | | processes | | |\n|---|---|---|---|---|---|---|---|\n" +
		"| | | predicted | measured | ratio | predicted | measured | ratio |")
	for _, key := range order {
		fmt.Printf("%s %s | %s |\n", key, table[key].mem, table[key].unix)
	}
	fmt.Printf("\n%d of %d within 20 %%\n", within, all)
}

// An outcome is how long a run takes with a change, where it takes 1 without it.
type outcome struct {
	change              string
	predicted, measured float64
}

func (o outcome) ratio() float64 { return o.predicted / o.measured }

// A row of the table is about one change, in either kind of run.
type row struct{ mem, unix cells }

func (r *row) put(transport string, o outcome) {
	c := cells(fmt.Sprintf("%.2f | %.2f | %.2f", o.predicted, o.measured, o.ratio()))
	if transport == "mem" {
		r.mem = c
	} else {
		r.unix = c
	}
}

// cells are three of the table.
type cells string

func (c cells) String() string { return cmp.Or(string(c), "| |") }

// outcomes makes the runs of a comparison and predicts them.
func (c comparison) outcomes(t testing.TB) []outcome {
	t.Helper()
	would, did := make([][]float64, len(c.changes)), make([][]float64, len(c.changes))
	var was []float64
	var dirs []string
	c.base.do(t) // the first run has to ask for memory
	for range *times {
		dir, took := c.base.do(t)
		dirs, was = append(dirs, dir), append(was, took)
		for i, change := range c.changes {
			_, took := change.rerun.do(t)
			did[i] = append(did[i], took)
		}
	}
	for _, dir := range dirs {
		tl := read(t, dir)
		for i, change := range c.changes {
			would[i] = append(would[i], predictWall(t, tl, change.text)/wall(tl))
		}
	}
	var all []outcome
	for i, change := range c.changes {
		o := outcome{change.text, median(would[i]), median(did[i]) / median(was)}
		t.Logf("%s, %.2g s, %s: %s: %.2f predicted, %.2f measured, ratio %.2f", c.name, median(was), c.base.transport, o.change,
			o.predicted, o.measured, o.ratio())
		all = append(all, o)
	}
	return all
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// logged writes an event log with so many events, a millisecond apart, and returns its name.
func logged(t testing.TB, events int) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "long.lcmlog")
	f, err := os.Create(name)
	require.NoError(t, err)
	w := lcm.NewWriter(f)
	for i := range events {
		channel := []string{"EXAMPLE", "HELLO", "C"}[i%3]
		require.NoError(t, w.Write(lcm.Event{Number: int64(i), Time: int64(i) * 1000, Channel: channel, Payload: make([]byte, 100)}))
	}
	require.NoError(t, f.Close())
	return name
}
