package monitor

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"metasim/internal/suggest"
	"metasim/metasim"
	"metasim/server"
)

// watched is for how long a process is watched to say what it does.
const watched = 200 * time.Millisecond

// Why says why a client does not go on, or for an empty name why the run does not. It watches the process of who is to
// blame for a moment.
func (m *Monitor) Why(ctx context.Context, client string) (string, error) {
	chain, err := m.why(ctx, client)
	return strings.Join(chain, "; "), err
}

// why is Why, one sentence a hop.
func (m *Monitor) why(ctx context.Context, client string) ([]string, error) {
	shot := m.server.Snapshot()
	id := -1
	for i := range shot.Clients {
		if shot.Clients[i].Name == client {
			id = i
		}
	}
	switch {
	case client != "" && id < 0:
		return nil, unknown(client, &shot)
	case shot.Over:
		return []string{"the run is over"}, nil
	case id < 0:
		m.View() // it knows who is to blame
		m.mu.Lock()
		id = m.worst(&shot)
		m.mu.Unlock()
	}
	switch {
	case id >= 0:
	case shot.Halt.Still:
		return []string{"nobody waits for anybody: " + halted(&shot)}, nil
	default:
		return []string{fmt.Sprintf("nobody waits: the run is %s, at %v", state(&shot), shot.Now)}, nil
	}
	look := look{at: func(pid int) Vitals { return Examine(ctx, pid, watched) }}
	return m.tell(&shot, metasim.ClientID(id), look), nil
}

// tell says why a client waits. Where the run has gone on since it was looked at, the chain is not the one that there was
// then: only its ends are told.
func (m *Monitor) tell(shot *server.Snapshot, id metasim.ClientID, look look) []string {
	c := &shot.Clients[id]
	if c.State == server.Computing {
		return m.sentences(shot, id, nil, look) // whoever would hold it up if it waited
	}
	chain := m.server.Blame(id)
	if c.State != server.Waiting || !c.Held || len(chain) > 0 && chain[len(chain)-1].From == c.Root {
		return m.sentences(shot, id, chain, look)
	}
	return []string{fmt.Sprintf("%s at %v waits for %s", c.Name, c.Clock, name(shot, c.Holder)), m.plight(shot, c.Root, look)}
}

// worst is who is furthest behind of those who wait for the most blamed; where nobody waits, who has said nothing for
// longest; or -1.
func (m *Monitor) worst(shot *server.Snapshot) int {
	if root := m.root(shot); root >= 0 {
		return behind(shot, root)
	}
	return quietest(shot)
}

// root is, of those for whom others wait just now, the client to blame most; or -1.
func (m *Monitor) root(shot *server.Snapshot) int {
	most := -1
	for i := range shot.Clients {
		if c := &shot.Clients[i]; c.Held && c.State == server.Waiting {
			if root := int(c.Root); most < 0 || m.blame[root] > m.blame[most] {
				most = root
			}
		}
	}
	return most
}

// behind is, of those who wait for a client, the one that is furthest behind in simulated time; or -1.
func behind(shot *server.Snapshot, root int) int {
	least := -1
	for i := range shot.Clients {
		c := &shot.Clients[i]
		if c.Held && c.State == server.Waiting && int(c.Root) == root && (least < 0 || c.Clock.Before(shot.Clients[least].Clock)) {
			least = i
		}
	}
	return least
}

// quietest is who has said nothing for longest, of those who are to say something; or -1.
func quietest(shot *server.Snapshot) int {
	quietest := -1
	for i := range shot.Clients {
		c := &shot.Clients[i]
		works := c.State == server.Absent || c.State == server.Computing || c.State == server.Initializing && shot.Started
		if works && (quietest < 0 || c.Since < shot.Clients[quietest].Since) {
			quietest = i
		}
	}
	return quietest
}

// process is where a client lives, as far as that is known: its connection tells, where that is one inside this host, as
// what was started may be a script that started the client; else it is who was started.
func (m *Monitor) process(c *server.ClientSnapshot) Process {
	p := m.config.Process(c.Name)
	if p.Inside {
		p.PID = os.Getpid()
		return p
	}
	if _, number, ok := strings.Cut(c.Peer, " pid "); ok {
		if pid, err := strconv.Atoi(number); err == nil && pid > 0 {
			p.PID = pid
			return p
		}
	}
	return p
}

// unknown says that a run has no client of this name, and what was probably meant.
func unknown(client string, shot *server.Snapshot) error {
	e := &UnknownClientError{Client: client, Scenario: shot.Scenario}
	for i := range shot.Clients {
		e.known = append(e.known, shot.Clients[i].Name)
	}
	return e
}

// An UnknownClientError tells that a run has no client of this name.
type UnknownClientError struct {
	Client, Scenario string
	known            []string
}

func (e *UnknownClientError) Error() string {
	return fmt.Sprintf("monitor: the run of %q has no client %q; %s", e.Scenario, e.Client, suggest.Word(e.Client, e.known))
}
