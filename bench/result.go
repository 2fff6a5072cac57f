package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

func (p Params) String() string {
	var s []string
	for _, key := range slices.Sorted(maps.Keys(p)) {
		s = append(s, fmt.Sprintf("%s=%v", key, p[key]))
	}
	return strings.Join(s, " ")
}

// rate is a sample of count things in a time.
func rate(count float64, took time.Duration) sample {
	return sample{value: count / took.Seconds(), took: took}
}

func (w *workload) id() string { return idOf(w.name, w.params) }

func idOf(name string, p Params) string { return strings.TrimSpace(name + " " + p.String()) }

func micros(took time.Duration, count int) float64 { return took.Seconds() * 1e6 / float64(count) }

// Print writes the results as a table.
func Print(w io.Writer, results []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "workload\tparameters\tvalue\tunit\tfloor\tratio")
	for _, r := range results {
		floor, ratio := "-", "-"
		if r.Floor > 0 {
			floor, ratio = figure(r.Floor), strconv.FormatFloat(r.Ratio, 'f', 2, 64)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.Params, figure(r.Value), r.Unit, floor, ratio)
	}
	return t.Flush()
}

// PrintJSON writes the results as a JSON list.
func PrintJSON(w io.Writer, results []Result) error {
	if results == nil {
		results = []Result{}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(results)
}

// figure writes a number with three digits that count.
func figure(v float64) string {
	if v == 0 {
		return "0"
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	if digits > 0 {
		return strconv.FormatFloat(v, 'f', digits, 64)
	}
	scale := math.Pow(10, float64(-digits))
	return thousands(strconv.FormatFloat(math.Round(v/scale)*scale, 'f', 0, 64))
}

func thousands(s string) string {
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Machine returns a line that says on what machine the results were measured.
func Machine() string {
	s := fmt.Sprintf("%d processors, %s %s/%s", runtime.GOMAXPROCS(0), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if cpu := firstMatch("/proc/cpuinfo", `model name\s*: (.*\S)`); cpu != "" {
		s += ", " + cpu
	}
	if load := firstMatch("/proc/loadavg", `(\S+)`); load != "" {
		s += ", load average " + load
	}
	return s
}

// firstMatch returns what the group of a pattern matches first in a file, or nothing: not every system has such files.
func firstMatch(path, pattern string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	if m := regexp.MustCompile(pattern).FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}
