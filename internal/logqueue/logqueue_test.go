package logqueue

import (
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A full pipe stops nobody; what was dropped is counted, and said when somebody reads again. Attributes stay.
func TestNobodyReads(t *testing.T) {
	r, w := io.Pipe()
	log := New(slog.New(slog.NewTextHandler(w, nil)))
	require.Same(t, log, New(log), "one queue is enough")
	const more = 500
	for i := range 2*room + more { // the first records are on their way to the pipe, all at once
		log.With("part", "a").Warn("refused", "number", i)
	}
	began := time.Now()
	Flush(log, 50*time.Millisecond)
	require.Less(t, time.Since(began), time.Second)

	var text strings.Builder
	var reader sync.WaitGroup
	reader.Go(func() { _, _ = io.Copy(&text, r) })
	Flush(log, 10*time.Second)
	require.NoError(t, w.Close())
	reader.Wait()
	require.Contains(t, text.String(), "part=a number=0\n")
	require.Contains(t, text.String(), "records were dropped")
	require.Regexp(t, `dropped=[1-9]\d\d+\n`, text.String())
	Flush(log, time.Hour) // nothing waits
	Flush(slog.Default(), time.Hour)
}
