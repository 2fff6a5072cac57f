//go:build !linux

package predict_test

import (
	"runtime"
	"testing"
)

// useCores has this process use so many processors, but not those that it starts; 0: as before. The function that it
// returns takes that back.
func useCores(t testing.TB, n int, _ bool) (back func()) {
	t.Helper()
	if n == 0 {
		return func() {}
	}
	procs := runtime.GOMAXPROCS(n)
	return func() { runtime.GOMAXPROCS(procs) }
}
