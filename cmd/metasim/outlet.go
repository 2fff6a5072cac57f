package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// An outlet is the standard output or the standard error. While nobody reads it, a write waits, as everywhere; but after a
// signal it waits for outletTime only, so that Ctrl-C ends a run also when the terminal or the pipe is full.
type outlet struct {
	*os.File
	ctx context.Context // is done after a signal

	mu    sync.Mutex // held by a Write
	given bool       // a write was given up: it still waits, on a goroutine of its own
}

const outletTime = time.Second

var errUnread = errors.New("nobody reads it")

func newOutlet(ctx context.Context, f *os.File) *outlet { return &outlet{File: f, ctx: ctx} }

func (o *outlet) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.given {
		return 0, errUnread
	}
	type result struct {
		n   int
		err error
	}
	written := make(chan result, 1)
	go func(b []byte) {
		n, err := o.File.Write(b)
		written <- result{n, err}
	}(bytes.Clone(b))
	select {
	case r := <-written:
		return r.n, r.err
	case <-o.ctx.Done():
	}
	select {
	case r := <-written:
		return r.n, r.err
	case <-time.After(outletTime):
		o.given = true
		return 0, errUnread
	}
}

// WriteString is Write: that of the file would wait.
func (o *outlet) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

// ReadFrom is io.Copy with Write, likewise.
func (o *outlet) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{o}, r)
}
