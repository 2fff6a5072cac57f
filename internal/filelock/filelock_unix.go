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

// Close gives the lock up and closes the file. To close it alone would leave the lock to a process that is being started at this moment: until its program
// runs, it has the files of who starts it.
func Close(f *os.File) error {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // where it fails there are no locks
	return f.Close()
}
