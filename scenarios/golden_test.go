package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/golden"
	"metasim/internal/problem"
)

// Every file of testdata/bad has something wrong with it, and beside it lies what a user is told: warnings with their
// name, then errors. Its first lines may give flags, as "# --set until=3s".
func TestBadScenariosAreExplained(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 40)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			_, warnings, err := Load(file, flagsOf(string(text)))
			var told strings.Builder
			for _, w := range warnings {
				told.WriteString("warning: " + w.String() + "\n")
			}
			if err != nil {
				var invalid *problem.Invalid
				require.ErrorAs(t, err, &invalid)
				require.NotEmpty(t, invalid.Problems)
				told.WriteString(err.Error() + "\n")
			}
			require.NotEmpty(t, told.String(), "nothing is wrong with it")
			short := strings.ReplaceAll(told.String(), filepath.ToSlash(file), filepath.Base(file))
			golden.Equal(t, strings.TrimSuffix(file, ".yaml")+".txt", short)
		})
	}
}

// flagsOf reads the flags in the first lines of a bad scenario.
func flagsOf(text string) (o Overrides) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "# ")), " ")
		switch name {
		case "--set":
			o.Set = append(o.Set, value)
		case "--seed":
			o.Seed = value
		case "--until":
			o.Until = value
		default:
			return o
		}
	}
	return o
}
