//go:build !unix

package supervisor

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

// The errors say that the process has ended already, which is what is wanted.
func signalGroup(pid int, _ os.Signal) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}
