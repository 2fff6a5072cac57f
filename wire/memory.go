package wire

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// A memory holds what outlives a frame: payloads, and names that come again and again.
//
// A payload outlives the frame by an unknown time. So one that is kept must keep little other memory alive, and is copied
// at most once (twice, for the part of a large frame that was read ahead, at most 64 KiB):
//
//   - A payload of at least half of a large frame is not copied: it keeps the frame, at most twice its own size.
//   - A payload of more than 1 KiB gets memory of its own.
//   - A smaller one shares a chunk of up to 4 KiB with those before and after it. The first chunks are smaller, as there
//     may be ten thousand connections with few payloads each.
type memory struct {
	names map[string]string

	chunk     []byte // the unused rest of the last chunk
	size      int    // of the last chunk
	ownFrame  int    // the capacity of the frame, if payloads may keep it; otherwise 0
	gaveFrame bool   // a payload keeps the frame
}

const (
	minChunk = 256
	maxChunk = 4 << 10
	// maxKeptNames is how many names are kept. After that a new name is copied each time that it comes.
	maxKeptNames = 4096
)

// payload returns the bytes of a payload or a result in memory that stays valid. b is part of the frame. Empty: nil.
func (m *memory) payload(b []byte) []byte {
	switch {
	case len(b) == 0:
		return nil
	case m.ownFrame > 0 && 2*len(b) >= m.ownFrame:
		m.gaveFrame = true
		return b[:len(b):len(b)]
	case len(b) > maxChunk/4:
		return bytes.Clone(b)
	case len(b) > len(m.chunk):
		m.size = min(max(minChunk, 2*m.size), maxChunk)
		m.chunk = make([]byte, max(m.size, len(b)))
	}
	n := copy(m.chunk, b)
	kept := m.chunk[:n:n] // an append by its owner must not reach the next payload
	m.chunk = m.chunk[n:]
	return kept
}

// name reads a name, and returns the one copy of it that the connection keeps.
func (m *memory) name(c *cursor) string {
	b := c.bytes()
	if kept, ok := m.names[string(b)]; ok {
		return kept
	}
	if !utf8.Valid(b) {
		c.fail(unreadable(c.message, fmt.Errorf("a name of %d bytes is no UTF-8", len(b))))
		return ""
	}
	s := string(b)
	if len(m.names) < maxKeptNames && len(s) <= MaxName {
		if m.names == nil {
			m.names = make(map[string]string)
		}
		m.names[s] = s
	}
	return s
}
