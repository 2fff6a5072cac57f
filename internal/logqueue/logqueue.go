// Package logqueue makes a logger that never waits: records go into a bounded queue, and a goroutine writes them. A log on a
// terminal or a pipe that nobody reads would otherwise stop whoever logs, and with a server everybody who waits for it.
package logqueue

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// room is how many records may wait. Those that come while it is full are dropped, and counted.
const room = 1024

// New returns a logger that gives its records to the handler of log later. A logger that New made is returned as it is.
func New(log *slog.Logger) *slog.Logger {
	if _, queued := log.Handler().(*handler); queued {
		return log
	}
	return slog.New(&handler{to: log.Handler(), queue: &queue{}})
}

// Flush waits until all records are written, at most for d. It does nothing if New did not make the logger.
func Flush(log *slog.Logger, d time.Duration) {
	if h, queued := log.Handler().(*handler); queued {
		h.queue.flush(d)
	}
}

// A handler puts records into a queue, which those with further attributes share.
type handler struct {
	to    slog.Handler
	queue *queue
}

func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.to.Enabled(ctx, l) }

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{to: h.to.WithAttrs(attrs), queue: h.queue}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{to: h.to.WithGroup(name), queue: h.queue}
}

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	h.queue.put(entry{to: h.to, record: r.Clone()})
	return nil
}

type entry struct {
	to     slog.Handler
	record slog.Record
}

// A queue is written by a goroutine, which exists only while there is something to write.
type queue struct {
	mu      sync.Mutex
	waiting []entry
	dropped int
	idle    chan struct{} // closed when the goroutine ends; nil if there is none
}

func (q *queue) put(e entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == room {
		q.dropped++
		return
	}
	q.waiting = append(q.waiting, e)
	if q.idle == nil {
		q.idle = make(chan struct{})
		go q.write()
	}
}

// write is the goroutine.
func (q *queue) write() {
	for {
		q.mu.Lock()
		entries, dropped := q.waiting, q.dropped
		q.waiting, q.dropped = nil, 0
		if len(entries) == 0 {
			close(q.idle)
			q.idle = nil
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		for _, e := range entries {
			_ = e.to.Handle(context.Background(), e.record) // a log that cannot be written cannot say so
		}
		if dropped > 0 {
			last := entries[len(entries)-1]
			r := slog.NewRecord(time.Now(), slog.LevelWarn, "the log was not read fast enough; records were dropped", 0)
			r.Add("dropped", dropped)
			_ = last.to.Handle(context.Background(), r) // as above
		}
	}
}

func (q *queue) flush(d time.Duration) {
	q.mu.Lock()
	idle := q.idle
	q.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-time.After(d):
	}
}
