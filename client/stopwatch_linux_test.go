package client

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// While one of two busy threads has the only processor, the other is ready without one. Each computes until both have taken their time, so
// the process waits for at least as long as that.
func TestCoreWaitOfABusyProcess(t *testing.T) {
	var watch threads
	defer watch.close()
	before, known := watch.coreWait()
	if !known {
		t.Skip("SKIPPED LOUDLY: this kernel does not say how long a thread was ready without a core (/proc/self/task/*/schedstat)")
	}
	done, read := make(chan bool), make(chan bool)
	var busy atomic.Int32
	busy.Store(2)
	for range 2 {
		go spinOnOne(t, &busy, done, read)
	}
	<-done
	<-done
	after, _ := watch.coreWait()
	close(read)
	require.Greater(t, after-before, int64(takes))
}

// takes is how much processor time each thread takes.
const takes = 20 * time.Millisecond

// spinOnOne takes that time, and more until nobody is busy, on the first processor that the process may use. Its thread ends after read.
func spinOnOne(t *testing.T, busy *atomic.Int32, done chan<- bool, read <-chan bool) {
	runtime.LockOSThread() // and never unlocks it, so that the thread ends
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Error(err)
	}
	for cpu := 0; one.Count() == 0; cpu++ {
		if all.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Error(err)
	}
	took := func() int64 {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
			t.Error(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	began := took()
	for counted := false; !counted || busy.Load() > 0; {
		if !counted && took()-began >= int64(takes) {
			counted = true
			busy.Add(-1)
		}
	}
	done <- true
	<-read
}

// A lap that has become long says the processor time and the time without a core, and the next one counts anew.
func TestALongLapIsCut(t *testing.T) {
	var w stopwatch
	w.start(true, true)
	if !w.stretch.idled {
		t.Skip("SKIPPED LOUDLY: this kernel does not say how long a thread was ready without a core (/proc/self/task/*/schedstat)")
	}
	lap := w.lap(nil)
	w.cut(&lap)
	require.Zero(t, lap.CPU, "it is not long yet")
	w.stretch.began -= slowTime
	lap = w.lap(nil)
	w.cut(&lap)
	require.Positive(t, lap.CPU)
	require.Positive(t, lap.CoreWait)
	require.Equal(t, w.since, w.stretch.began)
	lap = w.lap(nil)
	w.stretch.began = w.since // however slow this machine is
	w.pause(&lap)
	require.Positive(t, lap.CoreWait, "the stretch before was slow")
	for range mostLooks {
		w.begin()
		lap = w.lap(nil)
		w.stretch.began = w.since
		w.pause(&lap)
		require.Zero(t, lap.CoreWait, "a short time is not worth a look")
	}
	require.Zero(t, lap.CPU, "nor is one here, after so many short times")
	w.threads.close()

	var old stopwatch
	old.start(true, false)
	lap = old.lap(nil)
	old.pause(&lap)
	require.Zero(t, lap.CoreWait, "an older server would refuse it")
}

// Long stretches with short ones between them are looked at: a client that sleeps for long in every other stretch does not compute meanwhile.
func TestLongStretchesBetweenShortOnes(t *testing.T) {
	for short := range 3 {
		var w stopwatch
		w.start(true, true)
		looked := w.stretch.idled // on this kernel
		lap := w.lap(nil)
		w.pause(&lap)
		for i := range 20 {
			w.begin()
			w.stretch.began = w.since - slowTime*3
			lap = w.lap(nil)
			w.pause(&lap)
			if i > 0 {
				require.Positive(t, lap.CPU, "long stretch %d, with %d short ones between", i, short)
				require.Equal(t, looked, lap.CoreWait > 0)
			}
			for range short {
				w.begin()
				lap = w.lap(nil)
				w.stretch.began = w.since
				w.pause(&lap)
			}
		}
		w.threads.close()
	}
}
