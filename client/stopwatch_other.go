//go:build !unix

package client

// processTime returns the processor time that the process has taken, in nanoseconds; false where it is not known.
func processTime() (int64, bool) { return 0, false }
