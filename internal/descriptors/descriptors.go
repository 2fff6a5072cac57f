// Package descriptors knows how many files this process may have open: connections from outside must leave some for the process itself.
package descriptors

import "os"

// unlimited is Limit where the system has no limit, or does not tell.
const unlimited = 1 << 20

// Limit returns how many files may be open at once.
func Limit() int { return limit() }

// Scarce reports whether no file can be opened, or only one of the last few of the limit.
func Scarce(few int) bool {
	f, err := os.Open(os.DevNull)
	if err != nil {
		return true
	}
	number := f.Fd() // the lowest that is free: all below it are taken
	return f.Close() != nil || number < unlimited && int(number) >= Limit()-few
}
