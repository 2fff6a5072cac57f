package supervisor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The error of a lost host has the reason and the end of the process. srun may print these two in either order.
func TestLastWords(t *testing.T) {
	for said, want := range map[string]string{
		"":              "",
		"exit status 1": "exit status 1",
		"slurmstepd-n1: error: execve(): /no: No such file\nsrun: error: n1: task 0: Exited with exit code 2\nexit status 2": "slurmstepd-n1: error: execve(): /no: No such file; exit status 2",
		"srun: cluster configuration lacks support for cpu binding\nsignal: killed":                                          "signal: killed",
	} {
		w := &lastWords{text: []byte(said)}
		require.Equal(t, want, w.last())
	}
}
