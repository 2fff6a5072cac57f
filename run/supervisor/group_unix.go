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

// signalGroup signals a process and, if it leads one, its group. Errors say that it has ended already, which is what is wanted.
func signalGroup(pid int, s os.Signal) {
	if syscall.Kill(-pid, s.(syscall.Signal)) != nil {
		_ = syscall.Kill(pid, s.(syscall.Signal))
	}
}
