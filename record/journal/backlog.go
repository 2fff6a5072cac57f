package journal

import (
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"
	"sync/atomic"
)

// A backlog is what waits to be written. A goroutine writes it, in order, so that whoever fills it never waits for a disk. It has no
// bound of its own: the caller looks whether it is full, and then brings nothing for a while.
type backlog struct {
	to    io.Writer
	state atomic.Int32

	mu      sync.Mutex
	idle    sync.Cond
	waiting [][]byte
	bytes   int      // that wait, or are being written
	written int64    // bytes, so far
	free    [][]byte // buffers that were written, to be used again
	unused  int      // of them, how many were not needed in the last lent times
	lent    int
	writing bool   // the goroutine is there
	err     error  // nothing is written after it
	sum     uint32 // CRC-32C of what was written
	changed func()
}

// The states of a backlog.
const (
	hasRoom = iota
	isFull
	hasFailed
)

const (
	flushAt     = 1 << 18          // bytes in a buffer at which it is written: fewer cost more switches of goroutines than they save memory
	leastBuffer = 4 << 10          // bytes of a buffer at first: a short journal needs no more
	keepAt      = 1 << 20          // a buffer that a large payload made larger than this is freed
	fullAt      = 16 << 20         // bytes at which a backlog is full, until half of them are written
	keepFree    = fullAt / flushAt // buffers that are kept at most: as many as can wait
	keepFor     = 1 << 10          // a buffer that was not needed while so many others were is freed
)

func newBacklog(to io.Writer) *backlog {
	b := &backlog{to: to, changed: func() {}}
	b.idle.L = &b.mu
	return b
}

// put takes a buffer, and returns an empty one in exchange.
func (b *backlog) put(buf []byte) (empty []byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return buf[:0], b.err
	}
	b.waiting = append(b.waiting, buf)
	if b.bytes += len(buf); b.bytes >= fullAt {
		b.state.Store(isFull)
	}
	if !b.writing {
		b.writing = true
		go b.write()
	}
	return b.lend(len(buf)), nil
}

// lend returns an empty buffer after one that had so many bytes. It frees those that only a burst has needed.
func (b *backlog) lend(used int) (empty []byte) {
	n := len(b.free) - 1
	if n < 0 {
		b.unused = 0
		return make([]byte, 0, max(leastBuffer, min(2*used, 2*flushAt)))
	}
	empty, b.free = b.free[n], b.free[:n]
	b.unused = min(b.unused, n)
	if b.lent++; b.lent == keepFor {
		b.free = slices.Delete(b.free, 0, b.unused)
		b.lent, b.unused = 0, len(b.free)
	}
	return empty
}

// write is the goroutine. It ends when nothing waits.
func (b *backlog) write() {
	var buf []byte
	var err error
	for {
		var more bool
		if buf, more = b.next(buf, err); !more {
			return
		}
		b.sum = crc32.Update(b.sum, castagnoli, buf)
		_, err = b.to.Write(buf)
	}
}

// next notes that a buffer was written, or why not, and returns the next one.
func (b *backlog) next(written []byte, err error) (buf []byte, more bool) {
	b.mu.Lock()
	before := b.state.Load()
	b.bytes -= len(written)
	if err == nil {
		b.written += int64(len(written))
	}
	b.idle.Broadcast() // who waits for that
	if cap(written) > 0 && cap(written) <= keepAt && len(b.free) < keepFree {
		b.free = append(b.free, written[:0])
	}
	switch {
	case err != nil:
		b.err = fmt.Errorf("writing the journal: %w", err)
		b.waiting = nil
		b.state.Store(hasFailed)
	case before == isFull && b.bytes <= fullAt/2:
		b.state.Store(hasRoom)
	}
	if more = len(b.waiting) > 0; more {
		buf = b.waiting[0]
		b.waiting = b.waiting[:copy(b.waiting, b.waiting[1:])]
	} else {
		b.writing = false
	}
	changed := b.changed
	if b.state.Load() == before {
		changed = func() {}
	}
	b.mu.Unlock()
	changed()
	return buf, more
}

// drain waits until everything is written.
func (b *backlog) drain() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.writing {
		b.idle.Wait()
	}
	return b.err
}

// await waits until so many bytes are written.
func (b *backlog) await(bytes int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.written < bytes && b.err == nil {
		b.idle.Wait()
	}
	return b.err
}

// full reports whether too much waits, or returns why nothing can be written any more.
func (b *backlog) full() (bool, error) {
	switch b.state.Load() {
	case hasRoom:
		return false, nil
	case isFull:
		return true, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return false, b.err
}
