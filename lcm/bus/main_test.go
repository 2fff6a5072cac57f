package bus

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/netns"
)

func TestMain(m *testing.M) { os.Exit(netns.Main(m)) }

// patience is how long a test waits for an event that must happen.
const patience = 20 * time.Second

// hear receives n messages.
func hear(t testing.TB, s *Subscription, n int) []Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got []Message
	for len(got) < n {
		m, err := receive(ctx, s)
		require.NoError(t, err, "after %d messages of %d", len(got), n)
		got = append(got, m)
	}
	return got
}

// receive waits for the next message, for the end of the bus or for that of the context.
func receive(ctx context.Context, s *Subscription) (Message, error) {
	for {
		got, open := s.queue.take(nil, 1)
		switch {
		case len(got) > 0:
			return got[0], nil
		case !open:
			return Message{}, ErrClosed
		}
		select {
		case <-s.queue.ready:
		case <-ctx.Done():
			return Message{}, ctx.Err()
		}
	}
}

// eventually waits until done returns true.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	require.Eventually(t, done, patience, time.Millisecond, what)
}

// payload returns n bytes, as the vectors have them.
func payload(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + 3)
	}
	return b
}

func shut(t testing.TB, b Bus) { require.NoError(t, b.Close()) }
