package follower

import (
	"fmt"
	"time"
)

// A pace watches how much real time the frames of a cluster take. It tells once that a large state keeps them from their rate. It reads no clock: results do not
// depend on it.
type pace struct {
	began  time.Time // when so many frames were done
	frames uint64
	told   bool
}

const (
	paceFrames = 30      // of which the mean counts
	largeState = 1 << 20 // bytes, from which on the state may be why
)

// note notes that so many frames are done, at a moment, and returns what is to be told. A frame has so much time, and its state so many bytes, for so many nodes.
func (p *pace) note(now time.Time, done uint64, frame time.Duration, bytes uint64, nodes int) string {
	switch {
	case p.told || p.frames == 0 && done == 0:
		return ""
	case p.frames == 0:
		p.began, p.frames = now, done // the first frames wait for programs that start
		return ""
	case done < p.frames+paceFrames:
		return ""
	}
	took := now.Sub(p.began) / time.Duration(done-p.frames)
	p.began, p.frames = now, done
	if took <= frame || bytes < largeState {
		return ""
	}
	p.told = true
	return fmt.Sprintf("a frame takes %v of real time, and has %v: its state of %.1f MiB reaches %d nodes at %.0f MB/s together; send less of it, or to fewer nodes",
		took.Round(100*time.Microsecond), frame.Round(100*time.Microsecond), float64(bytes)/(1<<20), nodes, float64(bytes)*float64(nodes)/took.Seconds()/1e6)
}
