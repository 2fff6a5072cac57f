package client

import (
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// While one of two busy threads has the only processor, the other is ready without one. Each computes until both have taken their time, so
// they wait for at least as long as that. A third thread, which waits for them, only waits for a core to go on.
func TestCoreWaitOfABusyProcess(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var watch threads
	defer watch.close()
	before := ownWait(t)
	if !watch.mark() {
		t.Skip("SKIPPED LOUDLY: this kernel does not say how long a thread was ready without a core (/proc/self/task/*/schedstat)")
	}
	done := make(chan int64)
	var busy atomic.Int32
	busy.Store(2)
	for range 2 {
		go spinOnOne(t, &busy, done)
	}
	waited := <-done + <-done
	own, _ := watch.sinceMark()
	require.Greater(t, waited, int64(takes))
	require.LessOrEqual(t, own, ownWait(t)-before, "what other threads wait is not the caller's")
}

// ownWait returns for how long this thread has waited for a core since it began.
func ownWait(t *testing.T) int64 {
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		t.Skip("SKIPPED LOUDLY: this kernel does not say how long a thread was ready without a core (/proc/self/task/*/schedstat)")
	}
	_, waited, _ := numbers(text)
	return waited
}

// takes is how much processor time each thread takes.
const takes = 20 * time.Millisecond

// spinOnOne takes that time, and more until nobody is busy, on the first processor that the process may use, and sends for how long it
// waited for that.
func spinOnOne(t *testing.T, busy *atomic.Int32, done chan<- int64) {
	runtime.LockOSThread() // and never unlocks it, so that the thread ends
	var watch threads
	defer watch.close()
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
	watch.mark()
	began := took()
	for counted := false; !counted || busy.Load() > 0; {
		if !counted && took()-began >= int64(takes) {
			counted = true
			busy.Add(-1)
		}
	}
	waited, _ := watch.sinceMark()
	done <- waited
}

// A lap that has become long says the processor time and the time without a core, and the next one counts anew.
func TestALongLapIsCut(t *testing.T) {
	var w stopwatch
	w.start(true, true)
	if !w.stretch.marked {
		t.Skip("SKIPPED LOUDLY: this kernel does not say how long a thread was ready without a core (/proc/self/task/*/schedstat)")
	}
	lap := w.lap(nil)
	w.stretch.began = w.since // however slow this machine is
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
		looked := w.stretch.marked // on this kernel
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
