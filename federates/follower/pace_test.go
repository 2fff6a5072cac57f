package follower

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"metasim/federates/follower/frames"
	"metasim/metasim"
)

// Who sends a state that is too large for the rate is told so once, and nobody else is.
func TestAStateThatEatsTheTimeOfAFrame(t *testing.T) {
	const frame = 20 * time.Millisecond
	for _, c := range []struct {
		took  time.Duration
		bytes uint64
		want  string
	}{
		{50 * time.Millisecond, 16 << 20, "a frame takes 50ms of real time, and has 20ms: its state of 16.0 MiB reaches 3 nodes at 1007 MB/s together; send less of it, or to fewer nodes"},
		{50 * time.Millisecond, 1 << 10, ""},
		{20 * time.Millisecond, 16 << 20, ""},
	} {
		var p pace
		var told []string
		now := time.Unix(0, 0)
		for done := range uint64(100) {
			if text := p.note(now, done, frame, c.bytes, 3); text != "" {
				told = append(told, text)
			}
			p.note(now, done, frame, c.bytes, 3) // the director acts several times in a frame
			now = now.Add(c.took)
		}
		if c.want == "" {
			assert.Empty(t, told)
		} else {
			assert.Equal(t, []string{c.want}, told)
		}
	}
}

// Who has set bounded is not told to set it.
func TestWhatLateFramesAreSaidToDo(t *testing.T) {
	late := frames.Totals{Frames: 20, Late: 5, Discarded: 3}
	assert.Empty(t, lateness(frames.Totals{Frames: 20}, 50*metasim.Millisecond, false))
	assert.Equal(t, "5 of 20 frames took longer than the 50ms of a frame, and the cluster became slower; give nodes less load, links more bandwidth, the state fewer bytes, or set bounded",
		lateness(late, 50*metasim.Millisecond, false))
	assert.Equal(t, "5 of 20 frames took longer than the 50ms of a frame, and 3 frames were discarded; give nodes less load, links more bandwidth, or the state fewer bytes",
		lateness(late, 50*metasim.Millisecond, true))
}
