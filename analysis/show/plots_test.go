package show

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis/report"
)

func TestPlots(t *testing.T) {
	_, r := robot(t)
	dir, again := filepath.Join(t.TempDir(), "new", "plots"), t.TempDir()
	require.NoError(t, Plots(dir, r))
	require.NoError(t, Plots(again, r))
	for name, want := range map[string]string{
		"parallelism": "wall clock", "parallelism-simulated": "simulated time", "utilisation": "planner", "blame": "base for planner",
	} {
		svg, err := os.ReadFile(filepath.Join(dir, name+".svg"))
		require.NoError(t, err)
		require.Contains(t, string(svg), want)
		wellFormed(t, svg)
		picture, err := os.ReadFile(filepath.Join(dir, name+".png"))
		require.NoError(t, err)
		decoded, err := png.Decode(bytes.NewReader(picture))
		require.NoError(t, err)
		require.Greater(t, decoded.Bounds().Dx(), 500)
		for form, one := range map[string][]byte{".svg": svg, ".png": picture} {
			other, err := os.ReadFile(filepath.Join(again, name+form))
			require.NoError(t, err)
			require.True(t, bytes.Equal(one, other), "%s%s is another one the second time", name, form)
		}
	}
}

func wellFormed(t *testing.T, text []byte) {
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		if _, err := d.Token(); err != nil {
			require.True(t, errors.Is(err, io.EOF), "%v", err)
			return
		}
	}
}

// Names that would like to be markup, or that are very long, do no harm; nor does a run in which nothing was.
func TestPlotsOfOddRuns(t *testing.T) {
	_, r := rude(t)
	dir := t.TempDir()
	require.NoError(t, Plots(dir, r))
	svg, err := os.ReadFile(filepath.Join(dir, "utilisation.svg"))
	require.NoError(t, err)
	wellFormed(t, svg)
	require.NotContains(t, string(svg), "<script")
	require.NotContains(t, string(svg), "<img")

	empty := t.TempDir()
	require.NoError(t, Plots(empty, &report.Report{}))
	files, err := os.ReadDir(empty)
	require.NoError(t, err)
	require.Empty(t, files)
}

func TestPlotsThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	_, r := robot(t)
	require.Error(t, Plots(file, r))
}

// The plot shows the clients that computed, not those that were authorized to.
func TestThePlotOfParallelismIsOfWhatWasComputed(t *testing.T) {
	p, err := overWall(&report.Report{Profile: []report.ProfileReport{{EndS: 1, EndNS: 1, Computing: 0.5, Running: 2}}})
	require.NoError(t, err)
	require.InDelta(t, 0.5, p.Y.Max, 1e-9)
}
