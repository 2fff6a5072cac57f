package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// A Summary is one number of the results over the runs that differ in their seed alone.
type Summary struct {
	Values []string `json:"values"` // of the axes but the seed; not nil
	Result string   `json:"result"` // client and keys, joined by dots
	N      int      `json:"n"`      // runs that came to their end and have it
	Mean   float64  `json:"mean"`
	// StdDev is the sample's standard deviation, and CI95 half the width of the 95 % confidence interval of the mean (Student's t). Nil: not known, as one run
	// says nothing of how far others are apart, or more than a float64 holds.
	StdDev *float64 `json:"stddev"`
	CI95   *float64 `json:"ci95"`
	Min    float64  `json:"min"`
	P25    float64  `json:"p25"` // as the median: between two runs it is on the line from one to the other
	Median float64  `json:"median"`
	P75    float64  `json:"p75"`
	Max    float64  `json:"max"`
}

// A Record is a sweep as its directory has it, to be read.
type Record struct {
	Plan    *Plan
	Status  Status
	results *results
	// temporary is a directory of its own; empty: none.
	temporary string
}

// Read opens the directory of a sweep, also of one that goes on. The caller closes it.
func Read(dir string) (*Record, error) {
	plan, err := readPlan(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, fmt.Errorf("%s has no %s, so it is no directory of a sweep; metasim sweep prints the name of the one that it writes", dir, planFile)
	}
	if err != nil {
		return nil, err
	}
	record := &Record{Plan: plan}
	if isShared(dir) { // its workers write results.jsonl when all is done
		if record.temporary, err = os.MkdirTemp("", "metasim-"); err != nil {
			return nil, err
		}
		record.results, _, err = gather(filepath.Join(dir, sharedDir), plan, record.temporary)
	} else {
		record.results, err = openResults(dir, plan.Runs(), false)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(record.temporary))
	}
	record.Status = record.results.status(plan, dir)
	return record, nil
}

// Close closes the directory.
func (r *Record) Close() error { return errors.Join(r.results.Close(), os.RemoveAll(r.temporary)) }

// Others are the paths that are varied beside the seed: what a Summary's Values are of.
func (r *Record) Others() []string {
	paths := []string{} // of none it is [] in JSON, not null
	for _, a := range r.Plan.Axes {
		if a.Path != "seed" {
			paths = append(paths, a.Path)
		}
	}
	return paths
}

// Summaries returns a Summary of each number in the results, in the order of the runs.
func (r *Record) Summaries() ([]Summary, error) {
	return r.summaries(func(row *Row) map[string]float64 {
		found := map[string]float64{}
		for name, value := range row.scalars() {
			if number, isNumber := value.(json.Number); isNumber {
				if x, err := number.Float64(); err == nil { // a number beyond what a float64 holds has no mean
					found[name] = x
				}
			}
		}
		return found
	}, false)
}

// Walls returns a Summary of how long runs took, in seconds.
func (r *Record) Walls() ([]Summary, error) {
	return r.summaries(func(row *Row) map[string]float64 { return map[string]float64{"wall_s": row.WallS} }, false)
}

// Holders returns a Summary of how long others waited for each client, in seconds.
func (r *Record) Holders() ([]Summary, error) {
	return r.summaries(func(row *Row) map[string]float64 { return row.HeldS }, true)
}

// summaries returns a Summary of each of the numbers of the runs that came to their end, in the order of the runs. missing says that a number which a run does
// not have is 0.
func (r *Record) summaries(numbers func(*Row) map[string]float64, missing bool) ([]Summary, error) {
	type key struct{ values, result string }
	var order []key
	samples, runs := map[key][]float64{}, map[string]int{}
	err := r.results.all(func(row *Row) error {
		if !row.OK {
			return nil
		}
		var values []string
		for i, a := range r.Plan.Axes {
			if a.Path != "seed" {
				values = append(values, plainText(row.Values[i]))
			}
		}
		group := strings.Join(values, "\x00")
		runs[group]++
		found := numbers(row)
		for _, name := range slices.Sorted(maps.Keys(found)) {
			k := key{group, name}
			if samples[k] == nil {
				order = append(order, k)
			}
			samples[k] = append(samples[k], found[name])
		}
		return nil
	})
	all := make([]Summary, 0, len(order))
	for _, k := range order {
		values := []string{}
		if len(r.Others()) > 0 {
			values = strings.Split(k.values, "\x00")
		}
		if missing {
			samples[k] = append(samples[k], make([]float64, runs[k.values]-len(samples[k]))...)
		}
		all = append(all, summary(values, k.result, samples[k]))
	}
	return all, err
}

func summary(values []string, result string, x []float64) Summary {
	slices.Sort(x)
	s := Summary{Values: values, Result: result, N: len(x), Min: x[0], P25: quantile(x, 0.25), Median: quantile(x, 0.5), P75: quantile(x, 0.75), Max: x[len(x)-1]}
	scale := 1.0
	if max(-s.Min, s.Max) > 1e150 { // a float64 does not hold its square, nor perhaps the sum: a power of two changes nothing else
		scale = 0x1p600
		x = slices.Clone(x)
		for i := range x {
			x[i] /= scale
		}
	}
	s.Mean = min(max(stat.Mean(x, nil)*scale, s.Min), s.Max) // where all are the same it may be rounded
	if n := float64(len(x)); n > 1 {
		deviation := stat.StdDev(x, nil)
		s.StdDev = finite(deviation * scale)
		s.CI95 = finite(distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975) * deviation / math.Sqrt(n) * scale)
	}
	return s
}

// finite is nil for what a float64 does not hold: JSON has neither infinity nor NaN.
func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

// quantile returns what a part p of the numbers, which are sorted, are at most: between two of them it is on the line from one to the other, as most programs have it.
func quantile(x []float64, p float64) float64 {
	whole, part := math.Modf(p * float64(len(x)-1))
	low := x[int(whole)]
	if part == 0 {
		return low
	}
	high := x[int(whole)+1]
	if low == high { // the sum of both parts may be rounded
		return low
	}
	return low*(1-part) + high*part
}
