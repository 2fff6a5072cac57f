package analysis_test

import (
	"cmp"
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

	"metasim/analysis"
	"metasim/lcm"
	"metasim/record"
	"metasim/run"
	"metasim/scenarios"
)

var times = flag.Int("times", 7, "how often each run of the long table is made")

// A job is a run to be made: a scenario that ships, or a text, with some things different.
type job struct {
	scenario  string
	text      string // where it is none that ships; BIN in it is this program
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

// do carries out a job, and returns its directory and what it took in seconds.
func (j job) do(t testing.TB) (dir string, wall float64) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	over := scenarios.Overrides{Set: j.set, AllowOutside: true}
	var sc *scenarios.Scenario
	if j.text != "" {
		sc, _, err = scenarios.Parse(j.scenario+".metasim.yaml", []byte(strings.ReplaceAll(j.text, "BIN", self)), over)
	} else {
		sc, _, err = scenarios.Load(filepath.Join("..", "scenarios", j.scenario+".metasim.yaml"), over)
	}
	require.NoError(t, err)
	dir, err = os.MkdirTemp(t.TempDir(), "run")
	require.NoError(t, err)
	defer useCores(t, j.cores, j.transport != "mem")()
	runtime.GC() // what the last run left behind is not this one's
	out, err := run.Scenario(t.Context(), sc, run.Options{Out: dir, Transport: j.transport, Self: []string{self}, AllowOutside: true})
	require.NoError(t, err)
	require.True(t, out.OK, out.Error)
	return dir, out.WallS
}

// read reads what is left of a run.
func read(t testing.TB, dir string) *analysis.Timeline {
	t.Helper()
	r, err := record.OpenToReplay(dir)
	require.NoError(t, err)
	config, err := r.Config()
	require.NoError(t, err)
	inside, err := r.InProcess()
	require.NoError(t, err)
	reader, err := r.OpenJournal()
	require.NoError(t, err)
	defer func() { require.NoError(t, reader.Close()) }()
	src := analysis.Source{Config: config, Journal: reader, Cores: r.Manifest.CPUs, Inside: inside}
	tl, err := analysis.Read(src)
	require.NoError(t, err)
	return tl
}

func predict(t testing.TB, tl *analysis.Timeline, changes string) float64 {
	t.Helper()
	var all []analysis.Change
	for _, text := range strings.Fields(changes) {
		c, err := tl.ParseChange(text)
		require.NoError(t, err)
		all = append(all, c)
	}
	p, err := tl.Predict(all...)
	require.NoError(t, err)
	return p.WallS
}

func wall(tl *analysis.Timeline) float64 { return float64(tl.Wall()) / 1e9 }

// near asks for a prediction within 20 % of what was measured. A machine that does something else meanwhile measures too much:
// so it may try more than once, and the least of each counts.
func near(t testing.TB, measure func(swap bool) (would, did float64)) {
	t.Helper()
	leastWould, leastDid := math.Inf(1), math.Inf(1)
	for i := range 15 {
		would, did := measure(i%2 == 0)
		leastWould, leastDid = min(leastWould, would), min(leastDid, did)
		if math.Abs(leastWould-leastDid) <= 0.2*leastDid {
			return
		}
	}
	t.Errorf("%.3g s were predicted, and it took %.3g s", leastWould, leastDid)
}

// Every scenario that ships can be reported on, and what is predicted of it with something different comes true when that is
// done. All of it takes place on one core, as other tests want the others.
func TestShippedScenarios(t *testing.T) {
	files, err := filepath.Glob("../scenarios/*.metasim.yaml")
	require.NoError(t, err)
	missing := map[string]bool{}
	for _, file := range files {
		missing[strings.TrimSuffix(filepath.Base(file), ".metasim.yaml")] = true
	}
	for _, c := range comparisons(t, "mem", brief) {
		for _, change := range c.changes {
			if change.brief {
				delete(missing, c.base.scenario)
				t.Run(c.name+" "+change.text, func(t *testing.T) {
					near(t, func(swap bool) (float64, float64) { return compare(t, c.base, change, swap) })
				})
			}
		}
	}
	require.Empty(t, missing, "of these nothing is predicted")
}

// compare makes two runs, and returns what is predicted of the second from the first, and what it took. They are made in
// either order, and read afterwards: how often a run has to ask for memory depends on what was there before.
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
	return predict(t, tl, c.text), did
}

func check(t testing.TB, tl *analysis.Timeline) {
	t.Helper()
	r := analysis.New(tl)
	require.LessOrEqual(t, r.CriticalIdealS, r.CriticalConservativeS+1e-9)
	require.LessOrEqual(t, r.CriticalConservativeS, r.WallS+1e-9)
	for _, c := range r.Clients {
		require.GreaterOrEqual(t, c.OverheadS, -1e-9, c.Name)
	}
	require.NoError(t, r.WriteText(io.Discard, 80))
}

// The table of docs/report.md: go test ./analysis -run '^$' -bench PredictionsComeTrue -benchtime 1x -times 7. It takes minutes.
// Runs are made in turns, so that what else the machine does meets all alike.
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

// outcomes makes the runs of a comparison.
func (c comparison) outcomes(t testing.TB) []outcome {
	t.Helper()
	would, did := make([][]float64, len(c.changes)), make([][]float64, len(c.changes))
	var was []float64
	var dirs []string
	c.base.do(t) // the first run finds memory that it has to ask for
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
			would[i] = append(would[i], predict(t, tl, change.text)/wall(tl))
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
