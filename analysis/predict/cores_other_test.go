//go:build !linux

package predict_test

import (
	"runtime"
	"testing"
	"time"
)

// useCores makes this process, but not those that it starts, use so many processors; 0: no change. The returned function undoes it.
func useCores(t testing.TB, n int, _ bool) (back func()) {
	t.Helper()
	if n == 0 {
		return func() {}
	}
	procs := runtime.GOMAXPROCS(n)
	return func() { runtime.GOMAXPROCS(procs) }
}

// sleepFor sleeps, as exactly as the system does.
func sleepFor(d time.Duration) {
	if d > 0 {
		<-time.After(d)
	}
}

var began = time.Now()

// processTime returns real time: the system is not asked for that of the processor.
func processTime() time.Duration { return time.Since(began) }
