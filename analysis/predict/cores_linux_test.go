package predict_test

import (
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// useCores makes this process, and those that it starts, use so many processors; 0: no change. The returned function undoes it.
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

// pin makes all threads of the process use these processors only. New threads inherit it.
func pin(t testing.TB, cpus *unix.CPUSet) {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		require.NoError(t, err)
		if err := unix.SchedSetaffinity(id, cpus); err != unix.ESRCH { // the thread has ended
			require.NoError(t, err)
		}
	}
}

// processTime returns the processor time that this process has taken.
func processTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0 // it is this process
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// sleepFor sleeps, to some ten microseconds. A timer of Go would wake the process up to a millisecond late, as Go waits for its connections in
// whole milliseconds: then a run of a hundred short sleeps would not take as long as follows from its scenario.
func sleepFor(d time.Duration) {
	if d <= 0 {
		return
	}
	runtime.LockOSThread() // the timer slack is the thread's
	defer runtime.UnlockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it the sleep is 50 us longer
	rest := unix.NsecToTimespec(d.Nanoseconds())
	for unix.Nanosleep(&rest, &rest) == unix.EINTR {
	}
}
