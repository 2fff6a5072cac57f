package journal

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// A gate is a disk that takes nothing until it is opened.
type gate struct {
	bytes.Buffer
	open chan struct{}
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.open
	return g.Buffer.Write(b)
}

// Who observes never waits for the disk. Full tells when too much waits, and Notify when there is room; then everything is written as
// if the disk had never hung.
func TestADiskThatHangs(t *testing.T) {
	g, same := &gate{open: make(chan struct{})}, &bytes.Buffer{}
	w, twin := NewWriter(g), NewWriter(same)
	room := make(chan struct{}, 1)
	w.Notify(func() { room <- struct{}{} })
	sends := 0
	for {
		full, err := w.Full()
		require.NoError(t, err)
		if full {
			break
		}
		send := &metasim.Send{Sent: metasim.At(metasim.Time(sends)), Payload: make([]byte, 1000)}
		require.NoError(t, w.Observe(int64(sends), send, nil))
		require.NoError(t, twin.Observe(int64(sends), send, nil))
		sends++
	}
	require.InEpsilon(t, fullAt/1000, sends, 0.1)
	close(g.open)
	<-room
	full, err := w.Full()
	require.NoError(t, err)
	require.False(t, full)
	require.NoError(t, w.Close())
	require.NoError(t, twin.Close())
	require.True(t, bytes.Equal(same.Bytes(), g.Bytes()))
}

// The buffers of a burst are used again, and not made anew for each. When there are no bursts any more, their memory is returned.
func TestBuffersAreUsedAgain(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	b := newBacklog(g)
	buf := make([]byte, 0, 2*flushAt)
	write := func(times int) {
		for range times {
			buf, _ = b.put(append(buf, 1)) // the gate takes everything
		}
		for range times {
			g.open <- struct{}{}
		}
		require.NoError(t, b.drain())
		g.Reset()
	}
	require.Less(t, testing.AllocsPerRun(10, func() { write(fullAt/flushAt - 1) }), 10.0, "a goroutine, and not a buffer for each")
	for range 2 * keepFor {
		write(1)
	}
	require.LessOrEqual(t, len(b.free), 2)
	require.Empty(t, b.free[:cap(b.free)][len(b.free)+1])
}
