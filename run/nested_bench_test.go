package run_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	for _, way := range []struct {
		name string
		flag []string
	}{{"flat", nil}, {"nested", []string{"--nested"}}, {"processes", []string{"--nested-processes"}}} {
		b.Run(way.name, func(b *testing.B) {
			var wall float64
			var events uint64
			for b.Loop() {
				args := append([]string{"run", filepath.Join(dir, "outer.yaml"), "--no-journal", "--no-trace", "--json", "--out", filepath.Join(b.TempDir(), "run")}, way.flag...)
				answer, err := exec.CommandContext(b.Context(), program, args...).Output()
				require.NoError(b, err)
				var out run.Outcome
				require.NoError(b, json.Unmarshal(answer, &out))
				require.True(b, out.OK, out.Error)
				wall += out.WallS
				events += out.Messages.Delivered
			}
			b.ReportMetric(float64(events)/wall, "events/s")
			b.ReportMetric(1000*wall/float64(b.N), "wall-ms/op")
		})
	}
}
