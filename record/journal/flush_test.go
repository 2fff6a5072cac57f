package journal

import (
	"bytes"
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// What was flushed can be read, though the writer is not closed: a process that is killed leaves it so.
func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		w := NewWriter(&file)
		w.Flush()
		for sends := range 3 {
			require.NoError(t, w.Observe(1, &metasim.Send{Sent: metasim.At(metasim.Time(sends))}, nil))
			w.Flush()
			synctest.Wait()
			r := NewReader(bytes.NewReader(file.Bytes()), nil)
			for range sends + 1 {
				_, err := r.Next()
				require.NoError(t, err)
			}
			_, err := r.Next()
			require.ErrorIs(t, err, io.EOF)
		}
		require.NoError(t, w.Close())
		w.Flush()
	})
}

// After a flush that fails, Full says so, and the next Observe.
func TestFlushToADiskThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWriter(&failing{})
		told := 0
		w.Notify(func() { told++ })
		require.NoError(t, w.Observe(1, &metasim.Send{}, nil))
		w.Flush()
		synctest.Wait()
		_, err := w.Full()
		require.ErrorIs(t, err, io.ErrShortWrite)
		require.Equal(t, 1, told)
		require.ErrorIs(t, w.Observe(2, &metasim.Send{}, nil), io.ErrShortWrite)
		require.ErrorIs(t, w.Close(), io.ErrShortWrite)
	})
}
