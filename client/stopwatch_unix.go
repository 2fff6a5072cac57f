//go:build unix

package client

import "syscall"

// processTime returns the processor time that the process has taken, in nanoseconds; false where it is not known.
func processTime() (int64, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return u.Utime.Nano() + u.Stime.Nano(), true
}
