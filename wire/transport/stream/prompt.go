package stream

import (
	"fmt"
	"io"
	"net"

	"metasim/wire"
)

// nonblocking is what a stream can do that tells when it would wait: each moves what it can, nothing too.
type nonblocking interface {
	TryRead([]byte) (int, error) // io.EOF at the end
	TryWrite([]byte) (int, error)
}

// TryWriteFrames implements wire.Prompt. Where the stream cannot tell whether it would wait, nothing is written.
func (c *conn) TryWriteFrames(frames []byte) (int, error) {
	if c.prompt == nil || !c.writing.TryLock() {
		return 0, nil
	}
	defer c.writing.Unlock()
	if c.closed.Load() {
		return 0, fmt.Errorf("write to %s: %w", c.peer, net.ErrClosed)
	}
	n, err := c.prompt.TryWrite(frames)
	c.writer.Note(frames[:n])
	if err != nil {
		return n, fmt.Errorf("write to %s: %w", c.peer, err)
	}
	return n, nil
}

// TryRead implements wire.Prompt. Where the stream cannot tell whether it would wait, nothing is read.
func (c *conn) TryRead() ([]wire.Packet, error) {
	if c.prompt == nil || !c.reading.TryLock() {
		return nil, nil
	}
	ready := c.closed.Load() || c.reader.Ready(tryReader{c.prompt})
	c.reading.Unlock()
	if !ready {
		return nil, nil
	}
	return c.Read()
}

// A tryReader reads from a stream what is there.
type tryReader struct{ nonblocking }

func (r tryReader) Read(b []byte) (int, error) {
	n, err := r.TryRead(b)
	if n == 0 && err == nil {
		return 0, io.ErrNoProgress
	}
	return n, err
}
