package predict_test

import (
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// useCores has this process use so many processors, and those that it starts, if it starts any; 0: as before. The function that
// it returns takes that back.
func useCores(t testing.TB, n int, starts bool) (back func()) {
	t.Helper()
	if n == 0 {
		return func() {}
	}
	procs := runtime.GOMAXPROCS(n)
	if !starts {
		return func() { runtime.GOMAXPROCS(procs) }
	}
	var before, some unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &before))
	for cpu := 0; some.Count() < n && cpu < 1024; cpu++ {
		if before.IsSet(cpu) {
			some.Set(cpu)
		}
	}
	pin(t, &some)
	return func() {
		pin(t, &before)
		runtime.GOMAXPROCS(procs)
	}
}

// pin has all threads use some processors only; those that they start do likewise.
func pin(t testing.TB, cpus *unix.CPUSet) {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		require.NoError(t, err)
		if err := unix.SchedSetaffinity(id, cpus); err != unix.ESRCH { // one that has ended needs none
			require.NoError(t, err)
		}
	}
}
