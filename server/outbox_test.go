package server

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/wire"
)

// A swallower is a connection that takes all at once.
type swallower struct{ wire.Prompt }

func (swallower) TryWriteFrames(b []byte) (int, error) { return len(b), nil }

// An outbox keeps memory for the largest payload that is copied into it, so a second such payload allocates nothing.
func TestAnOutboxUsesItsMemoryAgain(t *testing.T) {
	const most = 128<<10 - 1
	require.Zero(t, wire.Lent(most))
	require.NotZero(t, wire.Lent(most+1))
	o := newOutbox(swallower{}, func(func()) bool { return false })
	packets := []wire.Packet{{Body: &metasim.Deliver{Message: metasim.Message{Channel: "C", Payload: make([]byte, most)}}}}
	var left int
	var failed error
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, after, err := o.put(packets)
		left, failed = left+after, cmp.Or(err, failed)
	}))
	require.NoError(t, failed)
	require.Zero(t, left)
}
