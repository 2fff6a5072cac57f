package sweep

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/run"
	"metasim/scenarios"
)

// Twelve runs, of which those with max_steps 3 fail: a ring without delay goes round more often at one instant.
const ring = `
name: ring
until: 1s
sweep:
  seed: {from: 1, to: 3}
  max_steps: [1000, 3]
  clients.a.with.rounds: [2, 5]
clients:
  - {name: a, model: ping, with: {rounds: 3, in: A, out: B}}
  - {name: b, model: echo, with: {in: B, out: A}}
links: [{delay: 0s}]
`

type stage struct {
	*testing.T
	options Options
}

func newStage(t *testing.T, text string) *stage {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.metasim.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return &stage{t, Options{File: file, Dir: filepath.Join(dir, "sweep"), Workers: 3}}
}

// carryOut does what is left of a sweep, and returns its table without the column wall_s, and how many runs it did.
func (s *stage) carryOut() (table [][]string, did int) {
	s.Helper()
	w, _, err := Open(s.options)
	require.NoError(s, err)
	require.NoError(s, w.Run(s.Context(), func(*Row) { did++ }))
	require.NoError(s, w.Close())
	f, err := os.Open(filepath.Join(s.options.Dir, tableFile))
	require.NoError(s, err)
	defer f.Close()
	table, err = csv.NewReader(f).ReadAll()
	require.NoError(s, err)
	for i := range table {
		for k, name := range table[0] {
			if name == "wall_s" && i > 0 {
				require.NotEmpty(s, table[i][k])
				table[i][k] = ""
			}
		}
	}
	return table, did
}

// A run of a sweep is that of metasim run with the same values, whatever else goes on.
func TestRowsAreThoseOfRuns(t *testing.T) {
	s := newStage(t, ring)
	table, did := s.carryOut()
	require.Equal(t, 12, did)
	require.Len(t, table, 13)
	require.Equal(t, []string{"id", "seed", "max_steps", "clients.a.with.rounds", "ok", "error", "digest", "sends_digest", "results_digest", "end_ns", "wall_s",
		"attempt", "results", "a.rounds", "b.echoed"}, table[0])
	id := 0
	for _, seed := range []string{"1", "2", "3"} {
		for _, steps := range []string{"1000", "3"} {
			for _, rounds := range []string{"2", "5"} {
				sc, _, err := scenarios.Load(s.options.File, scenarios.Overrides{Set: []string{"seed=" + seed, "max_steps=" + steps, "clients.a.with.rounds=" + rounds}})
				require.NoError(t, err)
				out, err := run.Scenario(t.Context(), sc, run.Options{NoJournal: true, Out: filepath.Join(t.TempDir(), "run")})
				require.NoError(t, err)
				require.Equal(t, steps == "1000", out.OK)
				row := table[id+1]
				require.Equal(t, []string{seed, steps, rounds}, row[1:4])
				require.Equal(t, out.Error, row[5])
				if out.OK { // what a run did that failed is no part of its result
					require.Equal(t, []string{out.Digest, out.SendsDigest, out.ResultsDigest}, row[6:9])
					require.JSONEq(t, `{"a": {"rounds": `+rounds+`}, "b": {"echoed": `+rounds+`}}`, row[12])
					require.Equal(t, []string{rounds, rounds}, row[13:])
				}
				id++
			}
		}
	}
	_, did = s.carryOut()
	require.Zero(t, did, "all is done")
	s.options.Retry = true
	again, did := s.carryOut()
	require.Equal(t, 6, did, "those that failed")
	require.Equal(t, "2", again[3][11], "the second attempt")
}

// However much of its results a sweep had written when it was killed, the same sweep goes on to the same table.
func TestGoesOnAfterAnyCut(t *testing.T) {
	s := newStage(t, ring)
	want, _ := s.carryOut()
	results := filepath.Join(s.options.Dir, resultsFile)
	text, err := os.ReadFile(results)
	require.NoError(t, err)
	for cut := 0; cut < len(text); cut += 311 {
		require.NoError(t, os.WriteFile(results, text[:cut], 0o600))
		require.NoError(t, os.MkdirAll(filepath.Join(s.options.Dir, attemptsDir, "3-1"), 0o700))
		got, did := s.carryOut()
		require.Positive(t, did)
		require.Equal(t, want, got, "cut at %d", cut)
		require.NoDirExists(t, filepath.Join(s.options.Dir, attemptsDir, "3-1"))
	}
}

// A sweep that is stopped has the runs that had ended, and the rest is done later.
func TestStops(t *testing.T) {
	s := newStage(t, ring)
	w, _, err := Open(s.options)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	before := 0
	require.ErrorIs(t, w.Run(ctx, func(*Row) { before++; stop() }), context.Canceled)
	require.Positive(t, before)
	_, _, err = Open(s.options)
	require.ErrorContains(t, err, "another metasim works on the sweep")
	require.NoError(t, w.Close())
	_, after := s.carryOut()
	require.Equal(t, 12, before+after)
}

// Who goes on with a sweep from its directory need not know that its runs are kept.
func TestResumeKeeps(t *testing.T) {
	for _, keep := range []bool{true, false} {
		s := newStage(t, ring)
		s.options.Keep = keep
		w, _, err := Open(s.options)
		require.NoError(t, err)
		require.NoError(t, w.Close(), "it is killed before any run has ended")
		w, _, err = Resume(s.options.Dir, Options{Workers: 2})
		require.NoError(t, err)
		require.NoError(t, w.Run(t.Context(), func(*Row) {}))
		require.NoError(t, w.Close())
		kept, err := filepath.Glob(filepath.Join(s.options.Dir, keptDir, "*", "journal"))
		require.NoError(t, err)
		require.Len(t, kept, map[bool]int{true: 12}[keep])
	}
}

// The directory of a sweep is not that of another one, nor of anything else.
func TestOtherSweeps(t *testing.T) {
	s := newStage(t, ring)
	s.options.Keep = true
	s.carryOut()
	require.FileExists(t, filepath.Join(s.options.Dir, keptDir, "11", "journal"))
	other := s.options
	other.Vary = []string{"seed=1,2"}
	_, _, err := Open(other)
	var is *OtherSweepError
	require.ErrorAs(t, err, &is)
	require.Equal(t, OtherSweepError{Dir: s.options.Dir, Differ: []string{"what is varied"}}, *is)
	other = s.options
	other.Overrides.Seed = "9"
	_, _, err = Open(other)
	require.ErrorAs(t, err, &is)
	require.Equal(t, []string{"the scenario"}, is.Differ)
	other.Dir = filepath.Dir(s.options.File)
	_, _, err = Open(other)
	require.ErrorContains(t, err, "has files, but no sweep.json")
	results := filepath.Join(s.options.Dir, resultsFile)
	text, err := os.ReadFile(results)
	require.NoError(t, err)
	text[1] = 'x'
	require.NoError(t, os.WriteFile(results, text, 0o600))
	_, _, err = Open(s.options)
	require.ErrorContains(t, err, "line 1 is damaged; remove that line, and its run is done again")
}

// The flags --seed and --until are part of every run; what is varied comes after them.
func TestFlagsComeBeforeWhatIsVaried(t *testing.T) {
	s := newStage(t, ring)
	s.options.Vary = []string{"seed=7"}
	s.options.Overrides = scenarios.Overrides{Seed: "5", Until: "2s", Set: []string{"until=3s"}}
	w, _, err := Open(s.options)
	require.NoError(t, err)
	defer w.Close()
	sc, err := w.Plan.load(w.text, w.Plan.set(0))
	require.NoError(t, err)
	require.Equal(t, uint64(7), sc.Seed)
	require.Equal(t, "2s", sc.Until.String())
}

// The confidence interval of the mean, from a table of Student's t: of 4 degrees of freedom 2.776.
func TestSummaries(t *testing.T) {
	s := summary(nil, "x", []float64{1, 2, 3, 4, 5})
	require.InDelta(t, 3, s.Mean, 1e-12)
	require.Equal(t, []float64{1, 2, 3, 4, 5}, []float64{s.Min, s.P25, s.Median, s.P75, s.Max})
	require.InDelta(t, 1.5811, *s.StdDev, 1e-4)
	require.InDelta(t, 2.776*1.5811/2.2361, *s.CI95, 1e-3)
	require.Equal(t, Summary{Result: "x", N: 1, Mean: 7, Min: 7, P25: 7, Median: 7, P75: 7, Max: 7}, summary(nil, "x", []float64{7}), "of one run no interval is known")
	s = summary(nil, "x", []float64{4, 1, 8, 2})
	require.Equal(t, []float64{1, 1.75, 3, 5, 8}, []float64{s.Min, s.P25, s.Median, s.P75, s.Max}, "the median of an even number is between both in the middle")

	st := newStage(t, ring)
	st.carryOut()
	r, err := Read(st.options.Dir)
	require.NoError(t, err)
	defer r.Close()
	require.Equal(t, []string{"max_steps", "clients.a.with.rounds"}, r.Others())
	require.Equal(t, Status{Scenario: "ring", Dir: st.options.Dir, Runs: 12, Done: 12, Failed: 6}, r.Status)
	all, err := r.Summaries()
	require.NoError(t, err)
	require.Equal(t, Summary{Values: []string{"1000", "5"}, Result: "b.echoed", N: 3, Mean: 5, StdDev: new(float64), CI95: new(float64), Min: 5, P25: 5, Median: 5, P75: 5, Max: 5}, all[3])
	require.Len(t, all, 4, "what failed has no mean")
	walls, err := r.Walls()
	require.NoError(t, err)
	require.Len(t, walls, 2)
	require.Equal(t, 3, walls[0].N)
	require.Positive(t, walls[0].Min)
	holders, err := r.Holders()
	require.NoError(t, err)
	require.NotEmpty(t, holders, "each waits for the other")
	for _, h := range holders {
		require.Equal(t, 3, h.N, "a run in which nobody waited for a client counts, as 0")
		require.Contains(t, []string{"a", "b"}, h.Result)
	}
	_, err = Read(t.TempDir())
	require.ErrorContains(t, err, "no directory of a sweep")
}

// The sum of very large numbers, or a square, may overflow a float64. Their mean is right all the same. A deviation that overflows is null, as JSON has no infinity.
func TestSummariesOfLargeNumbers(t *testing.T) {
	const most = math.MaxFloat64
	s := summary(nil, "x", []float64{1e308, 1e308, 1.3e308})
	require.InEpsilon(t, 1.1e308, s.Mean, 1e-12)
	require.InEpsilon(t, 1.7320508e307, *s.StdDev, 1e-6)
	require.InEpsilon(t, 4.3026527*1e307, *s.CI95, 1e-6)
	s = summary(nil, "x", []float64{most, most, most})
	require.Equal(t, []float64{most, 0, most}, []float64{s.Mean, *s.StdDev, s.Median})
	s = summary([]string{}, "x", []float64{-most, most})
	require.Equal(t, []any{0.0, 0.0, (*float64)(nil), (*float64)(nil)}, []any{s.Mean, s.Median, s.StdDev, s.CI95})
	require.InEpsilon(t, most/2, s.P75, 1e-12)
	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.Contains(t, string(text), `"values":[],"result":"x","n":2,"mean":0,"stddev":null,"ci95":null,`)
}

// A number that a float64 does not hold keeps its digits in the table; lists have no column.
func TestScalars(t *testing.T) {
	row := Row{Values: []json.RawMessage{[]byte(`"1ms"`), []byte(`{"a":1}`)}, Results: map[string]json.RawMessage{
		"c": []byte(`{"n": 9007199254740993, "in": {"t": "x", "b": true}, "list": [1], "none": null}`), "d": []byte(`4.5`),
	}}
	columns := []string{"c.in.b", "c.in.t", "c.n", "d", "e"}
	require.Equal(t, []string{"0", "1ms", `{"a":1}`}, row.record(columns)[:3])
	require.Equal(t, []string{"true", "x", "9007199254740993", "4.5", ""}, row.record(columns)[12:])
}

// A client that is called like a column, and whose result is a number, has no second column of that name.
func TestColumnsOfOneName(t *testing.T) {
	r, err := openResults(t.TempDir(), 1, true)
	require.NoError(t, err)
	defer r.Close()
	require.NoError(t, r.put(&Row{Attempt: 1, Results: map[string]json.RawMessage{"digest": []byte(`5`), "seed": []byte(`{"n": 6}`), "x": []byte(`7`)}}))
	columns, err := r.columns([]string{"id", "seed", "digest"})
	require.NoError(t, err)
	require.Equal(t, []string{"seed.n", "x"}, columns)
}

// Two values of one name are one column, and always the same one is in it.
func TestScalarsOfOneName(t *testing.T) {
	row := Row{Results: map[string]json.RawMessage{"a": []byte(`{"b.c": 1, "b": {"c": 2}}`), "a.b": []byte(`{"c": 3}`)}}
	for range 50 {
		require.Equal(t, map[string]any{"a.b.c": json.Number("2")}, row.scalars())
	}
}
