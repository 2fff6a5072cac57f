package monitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"metasim/delay"
	"metasim/metasim"
	"metasim/server"
)

// ErrQuit is the error of a run that was ended by a command.
var ErrQuit = errors.New("it was ended by metasim ctl quit, or from its page or terminal")

// Commands are those that Control takes.
var Commands = []string{"pause", "resume", "step", "until", "quit"}

// Control carries out a command. at is the time of until, as "1.5s", and empty for the others. It returns what was done, in words.
func (m *Monitor) Control(command, at string) (done string, err error) {
	if at != "" && command != "until" {
		return "", fmt.Errorf("%s takes no time, but was given %q; leave it out", command, at)
	}
	switch command {
	case "pause":
		return "paused: no client is authorized any further", m.server.Pause()
	case "resume":
		return "it goes on", m.server.Resume()
	case "step":
		return "a step: all that happens at the next time", m.server.Step()
	case "until":
		var t metasim.Time
		if t, err = delay.ParseDuration(at); err != nil {
			return "", fmt.Errorf("until when? %w", err)
		}
		if end := m.server.Snapshot().End; !metasim.At(t).Before(end) {
			return fmt.Sprintf("it goes on to its end, at %v: %v lies beyond", end, t), m.server.PauseAt(t)
		}
		return fmt.Sprintf("it goes on until %v, and is paused there", t), m.server.PauseAt(t)
	case "quit":
		m.server.Fail(ErrQuit)
		return "it ends", nil
	}
	return "", fmt.Errorf("there is no command %q; use pause, resume, step, until or quit", command)
}

// stillTime is how long a pause or a step waits for the run to stop, so that its answer can say where.
const stillTime = 300 * time.Millisecond

// awaitStill waits a moment for the run to stop.
func (m *Monitor) awaitStill(ctx context.Context) server.Snapshot {
	ctx, cancel := context.WithTimeout(ctx, stillTime)
	defer cancel()
	for !m.server.Progress().Still && ctx.Err() == nil {
		select {
		case <-time.After(stillTime / 100):
		case <-ctx.Done():
		}
	}
	return m.server.Snapshot()
}
