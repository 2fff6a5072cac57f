package packing

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// The kind changes: for each run of changed bytes how many before it stay, how many it has (u32 each, little-endian), and these. Nodes in C and Python have it too.

// block is how many bytes are compared at once: a run begins and ends at a multiple of it, or at the end of the state.
const block = 64

// errChanges says that a state was not packed so.
var errChanges = errors.New("its changes lie outside of it")

// appendChanges appends what a state has that the last one has not. What lies behind the end of the last one has changed.
func appendChanges(b, last, state []byte) []byte {
	stays := func(from int) bool {
		to := min(from+block, len(state))
		return to <= len(last) && bytes.Equal(last[from:to], state[from:to])
	}
	done := 0
	for at := 0; at < len(state); {
		if stays(at) {
			at += block
			continue
		}
		from := at
		for at < len(state) && !stays(at) {
			at = min(at+block, len(state))
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(from-done))
		b = binary.LittleEndian.AppendUint32(b, uint32(at-from))
		b = append(b, state[from:at]...)
		done = at
	}
	return b
}

// changed returns the last state with its changes, of so many bytes.
func changed(last, changes []byte, size int) ([]byte, error) {
	state := make([]byte, size)
	copy(state, last)
	for rest := state; len(changes) > 0; {
		if len(changes) < 8 {
			return nil, errChanges
		}
		stay, n := uint64(binary.LittleEndian.Uint32(changes)), uint64(binary.LittleEndian.Uint32(changes[4:]))
		changes = changes[8:]
		if stay+n > uint64(len(rest)) || n > uint64(len(changes)) {
			return nil, errChanges
		}
		copy(rest[stay:], changes[:n])
		rest, changes = rest[stay+n:], changes[n:]
	}
	return state, nil
}
