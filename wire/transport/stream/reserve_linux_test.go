package stream

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// What follows sets the collector of the whole process, so no test of it is parallel.

func TestReserve(t *testing.T) {
	byDefault(t)
	var r reserve
	r.fit(1 << 20)
	require.Len(t, r, 4<<20)
	r.fit(1<<20 + 1)
	require.Len(t, r, 8<<20, "files that grow by little")
	r.fit(1 << 20)
	require.Len(t, r, 8<<20)
	r.fit(256 << 20)
	require.Len(t, r, mostReserved)
}

// Who says how often garbage is collected gets that.
func TestReserveIsTheProgramsToRefuse(t *testing.T) {
	byDefault(t)
	var r reserve
	debug.SetGCPercent(50)
	r.fit(1 << 20)
	require.Empty(t, r)
	debug.SetGCPercent(100)
	old := debug.SetMemoryLimit(1 << 40)
	r.fit(1 << 20)
	debug.SetMemoryLimit(old)
	require.Empty(t, r)
	r.fit(1 << 20)
	require.NotEmpty(t, r)
}

// A process through which files go is collected for every few of them, and not for each.
func TestFilesAreSeldomCollected(t *testing.T) {
	byDefault(t)
	const size, files = 8 << 20, 60
	clients, _, _ := meet(t, 1)
	places := clients[0].(*promptConn).conn.stream.(*apartSocket).parts.Kept
	state := [][]byte{make([]byte, size)}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range files {
		require.NotNil(t, places.copyOf(state, 64))
	}
	runtime.ReadMemStats(&after)
	require.LessOrEqual(t, after.NumGC-before.NumGC, uint32(files/4))
}

// byDefault has the collector of this process set as Go sets it, for one test.
func byDefault(t *testing.T) {
	t.Helper()
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(1<<63-1)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
}
