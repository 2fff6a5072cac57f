package follower

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
