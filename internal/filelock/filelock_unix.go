//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Take locks a file for as long as it is open. It returns false if another process has locked it. Where the file system has no locks it
// returns true.
func Take(f *os.File) bool {
	return !errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
