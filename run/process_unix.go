//go:build unix

package run

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes the process the leader of a group, which is ended as one. A Ctrl-C on the terminal does not reach it:
// the run ends it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// A process that has ended meanwhile cannot be signalled, which is as well: hence no error.
func terminate(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }
func kill(p *os.Process)      { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
