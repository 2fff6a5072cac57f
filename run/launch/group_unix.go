//go:build unix

package launch

import (
	"os/exec"
	"syscall"
)

// OwnGroup keeps signals of the terminal away from a program.
func OwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
