package server

import (
	"time"

	"metasim/metasim"
)

// books hold what each client did when, in time since Serve was called. They are for people: no result depends on them.
type books struct {
	clients []attendance  // by ClientID
	start   time.Duration // when all had joined
	end     time.Duration // when the run was over
	heard   uint64        // packets of clients
}

// attendance is what the books hold of one client.
type attendance struct {
	conn    *connection   // nil before it has joined
	blocked time.Duration // time that it waited for authorizations, without the wait that lasts
	since   time.Duration // when it began to wait, or was last authorized
	heard   time.Duration // when it last sent something
	end     time.Duration // when it left, or the run ended
	waiting bool
	polled  bool // it has waited once: it has initialized
}

// hear notes what a client says.
func (b *books) hear(c *connection, ev metasim.Event, wall time.Duration) {
	var a *attendance
	switch ev := ev.(type) {
	case *metasim.Send:
		a = &b.clients[ev.Client]
	case *metasim.Promise:
		a = &b.clients[ev.Client]
	case *metasim.Advance:
		a = &b.clients[ev.Client]
	case *metasim.PollWait:
		a = &b.clients[ev.Client]
		a.waiting, a.polled, a.since = true, true, wall
	case *metasim.Leave:
		a = &b.clients[ev.Client]
		a.end = wall
	case *metasim.Join:
		a = &b.clients[ev.Client]
		a.conn, a.since = c, wall
		c.clients = append(c.clients, ev.Client)
	default: // Begin, which no client says
		b.start = wall
		return
	}
	a.heard = wall
	b.heard++
}

// close closes the books at the end of the run.
func (b *books) close(wall time.Duration, started bool) {
	b.end = wall
	for i := range b.clients {
		a := &b.clients[i]
		a.resumes(wall)
		if started && a.end == 0 {
			a.end = wall
		}
	}
}

// authorized notes that a client is authorized. If it waits, that is the answer.
func (a *attendance) authorized(wall time.Duration) {
	if a.waiting && a.conn != nil {
		a.conn.answered = true
	}
	a.resumes(wall)
}

// leaves notes that a client does not take part any more.
func (a *attendance) leaves(wall time.Duration) {
	a.resumes(wall)
	a.end = wall
}

func (a *attendance) resumes(wall time.Duration) {
	if a.waiting {
		a.waiting = false
		a.blocked += wall - a.since
		a.since = wall
	}
}

// blockedFor is for how long a client has waited so far.
func (a *attendance) blockedFor(wall time.Duration) time.Duration {
	if a.waiting {
		return a.blocked + wall - a.since
	}
	return a.blocked
}
