package live

import (
	"errors"
	"fmt"
	"net/http"

	"metasim/delay"
	"metasim/metasim"
)

// ErrQuit is why a run fails that somebody ended.
var ErrQuit = errors.New("live: somebody ended it, by metasim ctl quit or while watching it")

// Commands are what a run can be told.
var Commands = []string{"pause", "resume", "step", "until", "quit"}

// Control tells the run what to do: until needs a time, as in "1.5s"; the others take none. It returns what was done, in
// words.
func (m *Monitor) Control(command, at string) (done string, err error) {
	if at != "" && command != "until" {
		return "", fmt.Errorf("live: %s takes no time, but was given %q; leave it out", command, at)
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
			return "", fmt.Errorf("live: until when? %w", err)
		}
		return fmt.Sprintf("it goes on until %v, and is paused there", t), m.server.PauseAt(t)
	case "quit":
		m.server.Fail(ErrQuit)
		return "it ends", nil
	}
	return "", fmt.Errorf("live: there is no command %q; use pause, resume, step, until or quit", command)
}

func (m *Monitor) serveControl(w http.ResponseWriter, r *http.Request) {
	done, err := m.Control(r.PathValue("command"), r.URL.Query().Get("t"))
	if err != nil {
		refuse(w, http.StatusConflict, err.Error())
		return
	}
	reply(w, http.StatusOK, answer{Done: done})
}
