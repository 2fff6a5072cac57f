//go:build unix

package journal

import (
	"errors"
	"os"
	"syscall"
)

// lock keeps others from writing a journal, as long as the file is open. Where the file system has no locks it does nothing.
func lock(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrGoesOn
	}
	return nil
}
