package supervisor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A host that is lost says why, and how that ended, in whatever order srun has said that.
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
