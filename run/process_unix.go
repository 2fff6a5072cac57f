//go:build unix

package run

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes the process the leader of a process group, which is ended as one. Ctrl-C on the terminal does not reach
// that group: the run ends it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// The errors say that the process has ended already, which is what is wanted.
func terminate(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }
func kill(p *os.Process)      { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
