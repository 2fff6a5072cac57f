//go:build !unix

package supervisor

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

func notices() <-chan os.Signal { return nil }

func signalGroup(pid int, _ os.Signal) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill() // fails only if the process has ended, which is what is wanted
	}
}
