package bus

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/lcm"
	"metasim/metasim"
)

func TestALogHasSimulatedTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.lcmlog")
	require.NoError(t, os.WriteFile(path, append([]byte(lcm.Magic), bytes.Repeat([]byte("old"), 1000)...), 0o600))
	b, err := Open("file://"+path, Options{})
	require.NoError(t, err)
	require.NoError(t, b.Publish(
		Message{Channel: "A", Payload: payload(3), At: 1500 * metasim.Nanosecond},
		Message{Channel: "EMPTY", At: 2 * metasim.Millisecond},
		Message{Channel: "B", Payload: payload(4), At: metasim.Second},
	))
	written, err := os.ReadFile(path) // all there, before Close
	require.NoError(t, err)
	_, err = b.Subscribe(".*")
	require.ErrorContains(t, err, "lcmlog")
	shut(t, b)
	assert.Equal(t, Stats{Sent: 2, Skipped: 1}, b.Stats())
	assert.ErrorIs(t, b.Publish(Message{Channel: "A"}), ErrClosed)
	r := lcm.NewReader(bytes.NewReader(written))
	for _, want := range []lcm.Event{
		{Number: 0, Time: 1, Channel: "A", Payload: payload(3)},
		{Number: 1, Time: 1_000_000, Channel: "B", Payload: payload(4)},
	} {
		ev, err := r.Next()
		require.NoError(t, err)
		assert.Equal(t, want, ev)
	}
	assert.Zero(t, r.Skipped())
}

func TestWhatIsNoLogIsNotOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "thesis.tex")
	require.NoError(t, os.WriteFile(path, []byte("years of work"), 0o600))
	_, err := Open("file://"+path, Options{})
	require.ErrorContains(t, err, "no event log; name another one")
	left, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "years of work", string(left))
}

func TestAFullDiskIsCounted(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("SKIPPED LOUDLY: no /dev/full here")
	}
	for _, size := range []int{1, 1 << 20} {
		b, err := Open("file:///dev/full", Options{})
		require.NoError(t, err)
		require.NoError(t, b.Publish(Message{Channel: "A", Payload: payload(size)}))
		require.NoError(t, b.Publish(Message{Channel: "A", Payload: payload(1)}))
		assert.Equal(t, Stats{Failed: 2}, b.Stats())
		assert.Error(t, b.Close())
	}
}
