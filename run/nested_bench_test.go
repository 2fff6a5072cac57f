package run_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
	"metasim/run"
	"metasim/scenarios"
)

// What a dispatcher for each of two halves of PHOLD costs, in this process and in processes of their own, against one for all: half of the remote events pass the
// gateways.
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
	self := []string{testprogram.Shipped(b)}
	for _, way := range []struct {
		name          string
		nested, apart bool
	}{{"flat", false, false}, {"nested", true, false}, {"processes", true, true}} {
		b.Run(way.name, func(b *testing.B) {
			var wall float64
			var events uint64
			for b.Loop() {
				sc, _, err := scenarios.Load(filepath.Join(dir, "outer.yaml"), scenarios.Overrides{})
				require.NoError(b, err)
				out, err := run.Scenario(b.Context(), sc, run.Options{Out: filepath.Join(b.TempDir(), "run"), Nested: way.nested, Apart: way.apart, Self: self, NoJournal: true, NoTrace: true})
				require.NoError(b, err)
				require.True(b, out.OK, out.Error)
				wall += out.WallS
				events += out.Messages.Delivered
			}
			b.ReportMetric(float64(events)/wall, "events/s")
		})
	}
}
