package analysis

import (
	"errors"
	"fmt"

	"metasim/metasim"
)

// A player does a run again in no time: the real dispatcher, with ghosts for its clients, and a wall clock that is counted
// instead of waited for. Who computes, writes or reads has a core for so long, and so has the dispatcher.
type player struct {
	d        *metasim.Dispatcher
	ghosts   []*ghost
	channels []string
	payload  []byte
	prices   prices
	cores    int // 0: as many as are wanted
	busy     int
	crew     bool         // in the server's process who computes little takes turns, and so does the dispatcher
	turn     bool         // somebody has it
	waiting  fifo[errand] // for a core
	inLine   fifo[errand] // for a core, and their turn
	agenda   agenda
	desk     desk
	wall     int64
	err      error
}

// An errand is what a core is wanted for, and for how long.
type errand struct {
	ghost *ghost // nil: somebody looks for more to do, and finds nothing
	took  int64
}

// newPlayer makes a player of a log where some things are different.
func newPlayer(t *Timeline, l *worklog, c *circumstances) (*player, error) {
	config := l.config
	config.Delays = c.delays(config.Delays)
	config.Until = 0 // all that was done then is done: a part of it would be no fair measure
	config.MaxSteps = ^uint32(0)
	d, err := metasim.New(config)
	if err != nil {
		return nil, err
	}
	p := &player{d: d, channels: t.Channels, prices: l.prices, cores: c.cores}
	if p.cores == 0 {
		p.cores = l.cores
	}
	size := uint32(0)
	for i := range l.clients {
		g := newGhost(metasim.ClientID(i), &l.clients[i])
		c.change(t.Names[i], g)
		p.crew = p.crew || g.log.inside
		p.ghosts = append(p.ghosts, g)
		for _, s := range l.clients[i].sends {
			size = max(size, s.size)
		}
	}
	p.payload = make([]byte, size)
	return p, nil
}

// errStuck is why a prediction can fail: it is a mistake in here, or a run that cannot be.
var errStuck = errors.New("analysis: the run would stand still")

// play returns how long the run takes, in nanoseconds of wall clock.
func (p *player) play() (int64, error) {
	for i, g := range p.ghosts {
		join := g.log.join
		join.Client, join.Reaction = metasim.ClientID(i), g.react
		p.step(&join)
	}
	p.step(&metasim.Begin{})
	for _, g := range p.ghosts {
		g.begin()
		p.rouse(g, 0)
	}
	p.start()
	for p.err == nil && !p.agenda.empty() {
		p.wall = p.agenda.first().wall
		for !p.agenda.empty() && p.agenda.first().wall == p.wall {
			p.proceed(p.agenda.pop())
		}
		p.start()
	}
	if p.err != nil {
		return 0, p.err
	}
	for _, g := range p.ghosts {
		if !g.left {
			return 0, errStuck
		}
	}
	return p.wall, nil
}

// share is how much there is of all that was done then which is done now.
func (p *player) share() float64 {
	all, undone := 0, 0
	for _, g := range p.ghosts {
		all += len(g.log.acts)
		undone += g.undone
	}
	return 1 - ratio(float64(undone), float64(all))
}

// later has something happen when so many nanoseconds have passed.
func (p *player) later(took int64, g *ghost, s stage) {
	p.agenda.push(appointment{wall: p.wall + took, ghost: g, stage: s})
}

// proceed does what the agenda says.
func (p *player) proceed(a appointment) {
	switch g := a.ghost; a.stage {
	case reached:
		p.enqueue(g)
	case computed:
		p.done(g)
	case wrote:
		p.post(g)
	case spun:
		p.busy--
	case deskReached:
		p.desk.state = ready
	case adjourned:
		p.adjourn()
	}
}

// rouse has a ghost that waited do what it found out, when word of it has reached it, with so many messages.
func (p *player) rouse(g *ghost, messages int) {
	r := p.price(g)
	g.reading = r.end + int64(messages)*r.item
	if r.wake == 0 {
		p.enqueue(g)
		return
	}
	p.later(r.wake, g, reached)
	p.spin(r)
}

// spin has a process that was woken look for more to do.
func (p *player) spin(r price) {
	if r.spin > 0 {
		p.waiting.push(errand{took: r.spin})
	}
}

// dear is for how long a client in the server's process computes, in nanoseconds, that gets a worker for itself: as in
// client.Scheduler.
const dear = 20_000

// enqueue has a ghost wait for a core.
func (p *player) enqueue(g *ghost) {
	j := errand{g, g.reading + g.work()}
	g.reading = 0
	if g.shares = g.log.inside && j.took < dear; g.shares {
		p.inLine.push(j)
		return
	}
	p.waiting.push(j)
}

// free reports whether there is a core for one more.
func (p *player) free() bool { return p.cores == 0 || p.busy < p.cores }

// start gives cores to those who wait for one, in order; to the dispatcher first.
func (p *player) start() {
	p.convene()
	for p.free() {
		from := &p.waiting
		if !p.turn && p.inLine.first() != nil {
			from, p.turn = &p.inLine, true
		}
		next := from.first()
		if next == nil {
			return
		}
		if p.busy++; next.ghost == nil {
			p.later(next.took, nil, spun)
		} else {
			p.later(next.took, next.ghost, computed)
		}
		from.pop()
	}
}

// release takes the core from a ghost.
func (p *player) release(g *ghost) {
	p.busy--
	if g.shares {
		p.turn = false
	}
}

func (p *player) step(ev metasim.Event) { p.carry(p.d.Step(ev)) }

// carry takes up what the dispatcher decides.
func (p *player) carry(effects []metasim.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case *metasim.Deliver:
			m := e.Message
			m.Seq = p.ghosts[m.From].sent[m.Seq]
			p.deliver(p.ghosts[e.To], m)
		case *metasim.Authorize:
			p.authorize(p.ghosts[e.To], e)
		case *metasim.Finish:
			if e.Err != nil && p.err == nil {
				p.err = fmt.Errorf("analysis: the run would fail: %w", e.Err)
			}
		}
	}
}
