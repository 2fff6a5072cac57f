package supervisor

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// A copier copies what a program writes into an output.
type copier struct {
	from    *os.File
	to      io.WriteCloser
	lossy   func(error) // is told once that the output cannot be written
	drained chan struct{}
	once    sync.Once
}

// copySize is how much is copied at once. There may be thousands of copiers.
const copySize = 8 << 10

// newCopier returns a copier, and what the program writes to.
func newCopier(to io.WriteCloser, lossy func(error)) (c *copier, write *os.File, err error) {
	c = &copier{to: to, lossy: lossy, drained: make(chan struct{})}
	if c.from, write, err = os.Pipe(); err != nil {
		return nil, nil, err
	}
	return c, write, nil
}

// copy copies until all that have the other end of the pipe have ended. A program whose output cannot be written goes on.
func (c *copier) copy() {
	buffer := make([]byte, copySize)
	var failed error
	for {
		n, err := c.from.Read(buffer)
		if failed == nil {
			if _, failed = c.to.Write(buffer[:n]); failed != nil {
				c.lossy(failed)
			}
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			c.once.Do(func() { close(c.drained) })
			_ = c.from.SetReadDeadline(time.Time{}) // cannot fail: the deadline that is over now was set on this pipe
		case err != nil:
			if err := c.to.Close(); err != nil && failed == nil {
				c.lossy(err)
			}
			_ = c.from.Close() // all was read, so an error means nothing
			c.once.Do(func() { close(c.drained) })
			return
		}
	}
}

// drain waits until the output of a program that has ended is written. What it has started may still hold the pipe, and the disk of the
// output may hang.
func (c *copier) drain() {
	limit := drainWait + writeWait
	if c.from.SetReadDeadline(time.Now().Add(drainWait)) != nil { // closed; or a system that has no deadlines
		limit = drainWait
	}
	select {
	case <-c.drained:
	case <-time.After(limit):
	}
}
