package monitor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"metasim/delay"
	"metasim/metasim"
	"metasim/server"
)

// ErrQuit is why a run fails that somebody ended.
var ErrQuit = errors.New("monitor: somebody ended it, by metasim ctl quit or while watching it")

// Commands are what a run can be told.
var Commands = []string{"pause", "resume", "step", "until", "quit"}

// Control tells the run what to do: until needs a time, as in "1.5s"; the others take none. It returns what was done, in
// words.
func (m *Monitor) Control(command, at string) (done string, err error) {
	if at != "" && command != "until" {
		return "", fmt.Errorf("monitor: %s takes no time, but was given %q; leave it out", command, at)
	}
	switch command {
	case "pause":
		return "paused: nobody is authorized any further", m.server.Pause()
	case "resume":
		return "it goes on", m.server.Resume()
	case "step":
		return "a step: all that happens at the next time", m.server.Step()
	case "until":
		var t metasim.Time
		if t, err = delay.ParseDuration(at); err != nil {
			return "", fmt.Errorf("monitor: until when? %w", err)
		}
		if end := m.server.Snapshot().End; !metasim.At(t).Before(end) {
			return fmt.Sprintf("it goes on to its end, at %v: %v lies beyond", end, t), m.server.PauseAt(t)
		}
		return fmt.Sprintf("it goes on until %v, and is paused there", t), m.server.PauseAt(t)
	case "quit":
		m.server.Fail(ErrQuit)
		return "it ends", nil
	}
	return "", fmt.Errorf("monitor: there is no command %q; use pause, resume, step, until or quit", command)
}

func (m *Monitor) serveControl(w http.ResponseWriter, r *http.Request) {
	command := r.PathValue("command")
	done, err := m.Control(command, r.URL.Query().Get("t"))
	if err != nil {
		m.refuse(w, http.StatusConflict, err)
		return
	}
	if command == "pause" || command == "step" {
		switch shot := m.halts(r.Context()); {
		case stops(&shot) && shot.Halt.Still:
			done = fmt.Sprintf("paused at %v", shot.Now)
		case shot.Halt.Still:
			done += ", which its rate has it wait for"
		}
	}
	reply(w, http.StatusOK, answer{Done: done})
}

// haltTime is how long whoever pauses a run waits for it to stand still, to be told where.
const haltTime = 300 * time.Millisecond

// halts waits for a run to stand still, for a moment.
func (m *Monitor) halts(ctx context.Context) server.Snapshot {
	ctx, cancel := context.WithTimeout(ctx, haltTime)
	defer cancel()
	tick := time.NewTicker(haltTime / 100)
	defer tick.Stop()
	for !m.server.Progress().Still && ctx.Err() == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	return m.server.Snapshot()
}
