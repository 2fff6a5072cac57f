package launch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What Slurm 22.05 and ssh say, in whatever order its lines come.
func TestReason(t *testing.T) {
	for said, reason := range map[string]string{
		"": "",
		"srun: error: n1: task 0: Exited with exit code 2\nslurmstepd-n1: error: execve(): /no/such: No such file or directory\n": "slurmstepd-n1: error: execve(): /no/such: No such file or directory",
		"slurmstepd-n2: error: execve(): /no/such: No such file or directory\nsrun: error: n2: task 0: Exited with exit code 2\n": "slurmstepd-n2: error: execve(): /no/such: No such file or directory",
		"srun: cluster configuration lacks support for cpu binding\n":                                                             "",
		"srun: error: n1: task 0: Killed\nsrun: Force Terminated StepId=32.0\n":                                                   "srun: error: n1: task 0: Killed",
		"srun: job 38 queued and waiting for resources\nsrun: error: Unable to allocate resources: Requested nodes are busy\n":    "srun: error: Unable to allocate resources: Requested nodes are busy",
		"salloc: unrecognized option '--nosuch'\nTry \"salloc --help\" for more information\n":                                    "salloc: unrecognized option '--nosuch'",
		"Warning: Permanently added 'n1' to the list of known hosts.\r\nroot@n1: Permission denied (publickey).\r\n":              "root@n1: Permission denied (publickey).",
	} {
		require.Equal(t, reason, Reason(said), said)
	}
}
