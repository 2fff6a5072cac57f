package tidy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unfused are the rooms whose floating point reaches results, so that it has the same bits on every processor. Of a room that has
// clients too, only the files that compute are named: else all that a client imports would have to be compiled for arm64.
var unfused = [][]string{
	{"./internal/trig"},
	{"./federates/spatial"},
	{"./federates/world"},
	{"./federates/systems"},
	{"./federates/camera"},
	{"federates/cartpole/cartpole.go", "federates/cartpole/control.go", "federates/cartpole/message.go", "federates/cartpole/plant.go"},
	{"federates/phold/block.go", "federates/phold/log.go"},
}

// Arm64 has fused multiply-add, and Go uses it wherever it may: machine code without it shows that nowhere in these rooms it may, on
// any processor. The code is read from the archive, because the compiler's own listing is not printed when the archive comes from the
// build cache.
func TestNothingIsFused(t *testing.T) {
	for _, what := range unfused {
		archive := filepath.Join(t.TempDir(), "room.a")
		build := exec.CommandContext(t.Context(), "go", append([]string{"build", "-o", archive}, what...)...)
		build.Dir = root
		build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
		printed, err := build.CombinedOutput()
		require.NoError(t, err, "%s", printed)
		listing, err := exec.CommandContext(t.Context(), "go", "tool", "objdump", archive).CombinedOutput()
		require.NoError(t, err, "%s", listing)
		require.Regexp(t, `\bFMUL[DS]\b`, string(listing), "the code of %s is there", what)
		fused := regexp.MustCompile(`(?m)^.*\bFN?M(ADD|SUB)[DS]\b.*$`).FindAllString(string(listing), -1)
		assert.Empty(t, fused, "write float64(x*y)+z")
	}
}
