//go:build unix

package supervisor

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// ownGroup makes the process the leader of a process group, which is ended as one. Ctrl-C on the terminal does not reach
// that group: the run ends it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// notices returns a channel that tells when this host is about to be taken away: Slurm says so by SIGUSR1, if it was asked to (--signal).
func notices() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	return c
}

// signalGroup signals the group that a process leads, or the process alone if it leads no group.
func signalGroup(pid int, s os.Signal) {
	if syscall.Kill(-pid, s.(syscall.Signal)) != nil {
		_ = syscall.Kill(pid, s.(syscall.Signal)) // fails only if the process has ended, which is what is wanted
	}
}
