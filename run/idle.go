package run

import (
	"context"
	"time"

	"metasim/metasim"
	"metasim/server"
)

// A client of Options.Idle is in this process while it is given nothing, and has a process of its own while it is. It moves as one whose process died: it goes on from its last checkpoint
// and repeats what follows, so where it is, and when it moved, depends on real time, and nothing else does.

const (
	// idleLook is how often it is looked which of these clients were given something.
	idleLook = 10 * time.Millisecond
	// idleTime and idleSpan are how long a client is given nothing before its process ends, both on the wall and in the run: on a busy machine, or with a paused run, no time passes there.
	idleTime = 500 * time.Millisecond
	idleSpan = metasim.Second
)

// A giving is when a client was given something last.
type giving struct {
	number uint64 // of that delivery
	wall   time.Time
	now    metasim.Time // of the run
}

// relocate lets those clients move that were given something in this process, or nothing for a while in their own. It returns when the run is over.
func (c *clients) relocate(ctx context.Context) {
	if len(c.options.Idle) == 0 {
		return
	}
	last := map[string]giving{}
	for !within(ctx.Done(), idleLook) {
		shot := c.server.Snapshot()
		for i := range shot.Clients {
			s := &shot.Clients[i]
			if !c.options.idles(s.Name) || s.CatchesUp || s.State == server.Absent || s.State == server.Left {
				continue
			}
			then, known := last[s.Name]
			now := giving{s.Delivered, time.Now(), shot.Now.Time}
			given, inside := s.Delivered != then.number, c.placeOf(s.Name).inside
			if given || !known {
				last[s.Name] = now
			}
			if inside && given || !inside && known && !given && now.wall.Sub(then.wall) > idleTime && now.now-then.now > idleSpan {
				c.server.Move(s.Name)
				last[s.Name] = now
			}
		}
	}
}
