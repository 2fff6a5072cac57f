//go:build !unix

package filelock

import "os"

// Take does nothing, and returns true: the user sees to it that only one process works on a file.
func Take(*os.File) bool { return true }

// Close closes the file.
func Close(f *os.File) error { return f.Close() }
