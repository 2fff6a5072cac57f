//go:build unix

package supervisor

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes the process the leader of a process group, which is ended as one. Ctrl-C on the terminal does not reach
// that group: the run ends it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup signals the group that a process leads, or the process alone if it leads no group.
func signalGroup(pid int, s os.Signal) {
	if syscall.Kill(-pid, s.(syscall.Signal)) != nil {
		_ = syscall.Kill(pid, s.(syscall.Signal)) // fails only if the process has ended, which is what is wanted
	}
}
