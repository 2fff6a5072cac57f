package wasm

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/experimental"

	"metasim/federates/sdf"
)

// A sandbox is what a module may have.
type sandbox struct {
	memory uint64 // bytes
	time   time.Duration
	wasi   bool // simulated
}

// read reads <sandbox> of a plugin.
func (s *sandbox) read(p *sdf.Plugin) error {
	*s = sandbox{memory: 64 << 20, time: 10 * time.Second}
	written := sdf.Find(p.Content, "sandbox")
	if written == nil {
		return nil
	}
	for _, a := range written.Attributes {
		x, err := strconv.ParseFloat(a.Value, 64)
		switch {
		case a.Name == "memory" && err == nil && x >= 1 && x <= 4096:
			s.memory = uint64(x) << 20
		case a.Name == "memory":
			return fmt.Errorf("<sandbox memory=%q>; write MiB, from 1 to 4096", a.Value)
		case a.Name == "time" && err == nil && x >= 1e-3 && x <= 1e6:
			s.time = time.Duration(x * 1e9)
		case a.Name == "time":
			return fmt.Errorf("<sandbox time=%q>; write seconds of real time, from 0.001 to 1000000", a.Value)
		case a.Name == "wasi" && a.Value == "simulated":
			s.wasi = true
		default:
			return fmt.Errorf("<sandbox %s=%q>; write memory=\"64\", time=\"10\" or wasi=\"simulated\"", a.Name, a.Value)
		}
	}
	return nil
}

// A memory is the memory of a module, which grows up to a bound. More is never granted, and not forgotten.
type memory struct {
	most, refused uint64
	bytes         []byte
}

func (m *memory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

func (m *memory) Reallocate(size uint64) []byte {
	if size > m.most {
		m.refused = max(m.refused, size)
		return nil
	}
	if size > uint64(cap(m.bytes)) {
		grown := make([]byte, size, min(m.most, max(size, 2*uint64(cap(m.bytes)))))
		copy(grown, m.bytes)
		m.bytes = grown
	}
	m.bytes = m.bytes[:size]
	return m.bytes
}

func (m *memory) Free() { m.bytes = nil }

func mib(n uint64) uint64 { return (n + 1<<20 - 1) >> 20 }

// maxText bounds what is kept of a text that a module has made.
const maxText = 1 << 10

// firstLine returns the first line of a text that a module may have made, up to a bound: it may be as long as its memory.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.ToValidUTF8(line[:min(len(line), maxText)], "")
}

// A beginning keeps the beginning of what is written to it: a module may write as much as it likes.
type beginning []byte

func (b *beginning) Write(p []byte) (int, error) {
	*b = append(*b, p[:min(len(p), maxText-len(*b))]...)
	return len(p), nil
}
