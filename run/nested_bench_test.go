package run_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
	"metasim/run"
)

// What a dispatcher for each of two halves of PHOLD costs, in one process and in processes of their own, against one for all: half of the remote events pass the gateways. It is
// what `metasim run` takes by the clock, without its start.
func BenchmarkNestedPHOLD(b *testing.B) {
	dir := b.TempDir()
	write := func(name, text string) {
		require.NoError(b, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	outer := "name: halves\nuntil: 5s\nclients:\n"
	for part := range 2 {
		write(fmt.Sprintf("%d.yaml", part), fmt.Sprintf("{name: half, clients: [{name: p, count: 2, model: phold, with: {lps: 64, population: 16, remote: 0.25, mean: 10ms, lookahead: 1ms, "+
			"parts: 2, part: %d, channel: EV}}], links: [{delay: 1ms}]}\n", part))
		outer += fmt.Sprintf("  - {name: half-%d, model: scenario, with: {file: %[1]d.yaml, expose: [EV-0, EV-1, EV-2, EV-3]}}\n", part)
	}
	write("outer.yaml", outer+"links: [{delay: 1ms}]\n")
	program := testprogram.Shipped(b)
	carryOut := func(b *testing.B, flags ...string) float64 {
		args := append([]string{"run", filepath.Join(dir, "outer.yaml"), "--no-journal", "--no-trace", "--json", "--out", filepath.Join(b.TempDir(), "run")}, flags...)
		answer, err := exec.CommandContext(b.Context(), program, args...).Output()
		require.NoError(b, err)
		var out run.Outcome
		require.NoError(b, json.Unmarshal(answer, &out))
		require.True(b, out.OK, out.Error)
		return 1000 * out.WallS
	}
	for _, flag := range []string{"--nested", "--nested-processes"} {
		b.Run(flag[2:], func(b *testing.B) {
			var flat, nested, ratios []float64
			for b.Loop() {
				flat, nested = append(flat, carryOut(b)), append(nested, carryOut(b, flag))
				ratios = append(ratios, nested[len(nested)-1]/flat[len(flat)-1])
			}
			b.ReportMetric(0, "ns/op") // it is that of both
			b.ReportMetric(median(flat), "flat-ms")
			b.ReportMetric(median(nested), "nested-ms")
			b.ReportMetric(median(ratios), "nested/flat")
		})
	}
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
