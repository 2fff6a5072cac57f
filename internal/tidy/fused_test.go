package tidy

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unfused are the rooms whose floating point reaches results, so that it has the same bits on every processor. Of a room that has
// clients too, only the files that compute are named: else all that a client imports would have to be compiled for arm64.
var unfused = [][]string{
	{"./internal/trig", "./federates/spatial", "./federates/world", "./federates/systems"},
	{"./federates/camera"},
	{"federates/cartpole/cartpole.go", "federates/cartpole/control.go", "federates/cartpole/message.go", "federates/cartpole/plant.go"},
}

// Arm64 has fused multiply-add, and Go uses it wherever it may: machine code without it shows that nowhere in these rooms it may, on
// any processor.
func TestNothingIsFused(t *testing.T) {
	for _, what := range unfused {
		cmd := exec.CommandContext(t.Context(), "go", append([]string{"build", "-gcflags=-S", "-o", os.DevNull}, what...)...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
		listing, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", listing)
		require.Regexp(t, `FMULD`, string(listing), "the listing is there")
		fused := regexp.MustCompile(`(?m)^.*\bFN?M(ADD|SUB)D\b.*$`).FindAllString(string(listing), -1)
		assert.Empty(t, fused, "write float64(x*y)+z")
	}
}
