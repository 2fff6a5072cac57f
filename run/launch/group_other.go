//go:build !unix

package launch

import "os/exec"

// OwnGroup does nothing on this system.
func OwnGroup(*exec.Cmd) {}
