package scenarios

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// toldOf is what metasim validate says of a good scenario, with the kinds, which it says in JSON.
func toldOf(t *testing.T, file string) string {
	warnings, advice, err := Review(file, Overrides{})
	require.NoError(t, err)
	_, same, err := Load(file, Overrides{})
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
	files, err := filepath.Glob("testdata/advice/*.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 10)
	for _, file := range files {
		golden(t, strings.TrimSuffix(file, ".yaml")+".txt", toldOf(t, file))
	}
}

func TestAdviceOnTheShippedScenarios(t *testing.T) {
	files, err := filepath.Glob("*.metasim.yaml")
	require.NoError(t, err)
	var told strings.Builder
	for _, file := range files {
		told.WriteString(toldOf(t, file))
	}
	golden(t, "testdata/advice/shipped.txt", told.String())
}

func TestNoAdviceOnWhatCannotRun(t *testing.T) {
	_, advice, err := Review("testdata/bad/endless-source.yaml", Overrides{})
	require.Error(t, err)
	require.Empty(t, advice)
}
