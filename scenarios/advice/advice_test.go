package advice

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/internal/golden"
	"metasim/scenarios"
)

// toldOf is what metasim validate says of a good scenario, with the kinds, which it says in JSON.
func toldOf(t *testing.T, file string) string {
	warnings, advice, err := Review(file, scenarios.Overrides{})
	require.NoError(t, err)
	_, same, err := scenarios.Load(file, scenarios.Overrides{})
	require.NoError(t, err)
	assert.Equal(t, same, warnings, "a run warns of the same")
	var told strings.Builder
	for _, w := range warnings {
		fmt.Fprintf(&told, "warning (%s): %s\n", w.Kind, w)
	}
	for _, a := range advice {
		require.NotEmpty(t, a.Kind)
		fmt.Fprintf(&told, "advice (%s): %s\n", a.Kind, a)
	}
	return strings.ReplaceAll(told.String(), filepath.ToSlash(file), filepath.Base(file))
}

// Beside every scenario of testdata/advice lies what is said of it.
func TestAdvice(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 10)
	for _, file := range files {
		golden.Equal(t, strings.TrimSuffix(file, ".yaml")+".txt", toldOf(t, file))
	}
}

func TestAdviceOnTheShippedScenarios(t *testing.T) {
	files, err := filepath.Glob("../*.metasim.yaml")
	require.NoError(t, err)
	var told strings.Builder
	for _, file := range files {
		told.WriteString(toldOf(t, file))
	}
	golden.Equal(t, "testdata/shipped.txt", told.String())
}

func TestNoAdviceOnWhatCannotRun(t *testing.T) {
	_, advice, err := Review("../testdata/bad/endless-source.yaml", scenarios.Overrides{})
	require.Error(t, err)
	require.Empty(t, advice)
}

// A file that is made to cost much is answered with a warning, and without advice.
func TestWhatIsTooLargeGetsNoAdvice(t *testing.T) {
	var b strings.Builder
	b.WriteString("name: x\nclients:\n")
	for i := range 3_000 {
		fmt.Fprintf(&b, "  - {name: a%d, external: true}\n", i)
	}
	file := filepath.Join(t.TempDir(), "large.yaml")
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
	warnings, advice, err := Review(file, scenarios.Overrides{})
	require.NoError(t, err)
	require.Len(t, warnings, 1)
	assert.Contains(t, warnings[0].String(), "too large to look for advice")
	assert.Empty(t, advice)
}

// FuzzLook: whatever scenario can be used, each piece of advice has a kind, a message and a file.
func FuzzLook(f *testing.F) {
	for _, pattern := range []string{"../*.metasim.yaml", "../testdata/good/*.yaml", "testdata/*.yaml"} {
		files, err := filepath.Glob(pattern)
		require.NoError(f, err)
		require.NotEmpty(f, files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(f, err)
			f.Add(text)
		}
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		s, warnings, err := scenarios.Parse(filepath.Join(dir, "fuzz.yaml"), text, scenarios.Overrides{})
		if err != nil {
			return
		}
		advice, more := look(s, warnings)
		for _, p := range append(advice, more...) {
			require.NotEmpty(t, p.Message)
			require.NotEmpty(t, p.File)
			require.True(t, p.Kind != "" || len(more) > 0)
		}
	})
}
