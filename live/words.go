package live

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"metasim/metasim"
	"metasim/server"
)

// watched is for how long a process is watched to say what it does.
const watched = 200 * time.Millisecond

// process is where a client lives, as far as that is known: by who started it, or by its connection.
func (m *Monitor) process(c *server.ClientSnapshot) Process {
	p := m.config.Process(c.Name)
	if p.Inside {
		p.PID = os.Getpid()
	}
	if _, number, ok := strings.Cut(c.Peer, " pid "); p.PID == 0 && ok {
		if pid, err := strconv.Atoi(number); err == nil {
			p.PID = pid
		}
	}
	return p
}

// sentences says why a client waits: one for each hop of its chain, and one for the client at its root.
func (m *Monitor) sentences(shot *server.Snapshot, id metasim.ClientID, chain []metasim.Hold) []string {
	name := func(id metasim.ClientID) string { return shot.Clients[id].Name }
	var s []string
	root := id
	for _, h := range chain {
		from, to := name(h.From), name(h.To)
		at := fmt.Sprintf("%s at %v waits for %s: ", to, shot.Clients[h.To].Clock, from)
		delay := ""
		if h.Min > 0 {
			delay = fmt.Sprintf(", + %v of delay", h.Min)
		}
		if h.Channel != "" {
			delay += " on " + h.Channel
		}
		switch h.Reason {
		case metasim.Promised:
			at += fmt.Sprintf("%s promised nothing before %v%s", from, h.Send, delay)
		case metasim.NextEvent:
			at += fmt.Sprintf("%s has its next event at %v%s", from, h.Send, delay)
		case metasim.Pending:
			at += fmt.Sprintf("%s may answer at %v what it has been given%s", from, h.Send, delay)
		case metasim.Heard:
			at += fmt.Sprintf("%s may answer at %v what it has not got yet%s", from, h.Send, delay)
		case metasim.Initializing:
			at += from + " has not initialized"
		case metasim.Absent:
			at += from + " has not joined"
		case metasim.Paused:
			return append(s, fmt.Sprintf("%s at %v waits as the run goes no further than %v: %s", to, shot.Clients[h.To].Clock, h.Due, halted(shot)))
		}
		s = append(s, at)
		root = h.From
	}
	return append(s, m.plight(shot, root))
}

// halted says why a run is not permitted to go on.
func halted(shot *server.Snapshot) string {
	if shot.Halt.Paused {
		return "it is paused, and metasim ctl resume lets it go on"
	}
	return "its pace has it wait for real time"
}

// plight says what a client does, as far as it is known without a look at its process.
func (m *Monitor) plight(shot *server.Snapshot, id metasim.ClientID) string {
	c := &shot.Clients[id]
	since := span(shot.Wall - c.Since)
	switch c.State {
	case server.Absent:
		return fmt.Sprintf("%s has not joined yet", c.Name)
	case server.Initializing:
		return fmt.Sprintf("%s is initializing since %s", c.Name, since)
	case server.Computing:
		return fmt.Sprintf("%s at %v is computing since %s", c.Name, c.Clock, since)
	case server.Waiting:
		want := fmt.Sprintf("for %v", c.Want)
		if c.Want == metasim.Infinity {
			want = "for a message"
		}
		if !c.Held && !shot.Halt.Still {
			want += ", and nobody could send it one before then"
		}
		return fmt.Sprintf("%s at %v waits since %s %s", c.Name, c.Clock, since, want)
	case server.Lost:
		return fmt.Sprintf("%s was lost at %v", c.Name, c.Clock)
	}
	return fmt.Sprintf("%s has left at %v", c.Name, c.Clock)
}

// span writes a length of real time as people say it.
func span(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 10*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// Why says why a client does not go on, or for an empty name why the run does not. It watches the process of who is to
// blame for a moment.
func (m *Monitor) Why(ctx context.Context, client string) (string, error) {
	shot := m.server.Snapshot()
	id := -1
	for i := range shot.Clients {
		if shot.Clients[i].Name == client {
			id = i
		}
	}
	switch {
	case client != "" && id < 0:
		return "", &UnknownClientError{Client: client, Scenario: shot.Scenario}
	case shot.Over:
		return "the run is over", nil
	case id >= 0:
	default:
		m.View() // it knows who is to blame
		m.mu.Lock()
		id = m.worst(&shot)
		m.mu.Unlock()
	}
	switch {
	case id >= 0:
	case shot.Halt.Still:
		return fmt.Sprintf("nobody waits for anybody: the run is at %v, and %s", shot.Now, halted(&shot)), nil
	default:
		return fmt.Sprintf("nobody waits: the run is %s, at %v", state(&shot), shot.Now), nil
	}
	chain := m.server.Blame(metasim.ClientID(id))
	s := m.sentences(&shot, metasim.ClientID(id), chain)
	root := &shot.Clients[id]
	if len(chain) > 0 {
		root = &shot.Clients[chain[len(chain)-1].From]
	}
	if root.State == server.Computing || root.State == server.Initializing || root.State == server.Absent {
		s[len(s)-1] += m.examine(ctx, root)
	}
	return strings.Join(s, "; "), nil
}

// worst is who is furthest behind of those who wait for the most blamed; where nobody waits, who has said nothing for
// longest; or -1.
func (m *Monitor) worst(shot *server.Snapshot) int {
	if slowest := m.slowest(shot); slowest >= 0 {
		return behind(shot, slowest)
	}
	worst := -1
	for i := range shot.Clients {
		c := &shot.Clients[i]
		works := c.State == server.Absent || c.State == server.Computing || c.State == server.Initializing
		if works && (worst < 0 || c.Since < shot.Clients[worst].Since) {
			worst = i
		}
	}
	return worst
}

// examine says what the system knows of a client's process, and what it said last.
func (m *Monitor) examine(ctx context.Context, c *server.ClientSnapshot) string {
	p := m.process(c)
	var s string
	switch {
	case p.PID == 0 && c.Peer != "":
		s = ", connected by " + c.Peer
	case p.PID != 0:
		v := Examine(ctx, p.PID, watched)
		s = ", " + v.words(p.PID)
		if p.Inside {
			s = ", a model in metasim's own " + v.words(p.PID)
		}
	}
	if p.Said != nil {
		if line := p.Said(); line != "" {
			s += fmt.Sprintf(", last line of its output: %s", line)
		}
	}
	return s
}

// An UnknownClientError tells that a run has no client of this name.
type UnknownClientError struct{ Client, Scenario string }

func (e *UnknownClientError) Error() string {
	return fmt.Sprintf("live: the run of %q has no client %q; metasim validate lists those of a scenario", e.Scenario, e.Client)
}
