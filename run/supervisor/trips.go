package supervisor

import (
	"sync"
	"time"
)

// trips measure how long beats take there and back.
type trips struct {
	mu      sync.Mutex
	pending int       // beats without an answer
	since   time.Time // when the only one of them was sent; zero: there were several
	least   time.Duration
}

func (t *trips) asked(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since = now; t.pending > 0 { // whose answer comes next would be guessed
		t.since = time.Time{}
	}
	t.pending++
}

func (t *trips) answered(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending--
	if took := now.Sub(t.since); !t.since.IsZero() && t.pending == 0 && (t.least == 0 || took < t.least) {
		t.least = max(took, 1)
	}
}

// roundTrip is the least time in which a beat was answered; 0: none was.
func (t *trips) roundTrip() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.least
}
