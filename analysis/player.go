package analysis

import (
	"errors"
	"fmt"

	"metasim/metasim"
)

// A player does a run again in no time: the real dispatcher, with ghosts for its clients, and a wall clock that is counted
// instead of waited for. Frames take no time; what they took is in the work that was recorded, where clients do not report
// how long they computed.
type player struct {
	d        *metasim.Dispatcher
	ghosts   []*ghost
	channels []string
	payload  []byte
	cores    int // 0: as many as there are clients
	busy     int
	ready    fifo[metasim.ClientID] // have something to compute, and wait for a core
	agenda   agenda
	woken    []*ghost // may go on, in order
	wall     int64
	err      error
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
	p := &player{d: d, channels: t.Channels, cores: c.cores}
	size := uint32(0)
	for i := range l.clients {
		g := newGhost(metasim.ClientID(i), &l.clients[i])
		c.change(t.Names[i], g)
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
		p.summon(g)
	}
	p.start()
	for p.err == nil && !p.agenda.empty() {
		p.wall = p.agenda.first().wall
		for !p.agenda.empty() && p.agenda.first().wall == p.wall {
			switch next := p.agenda.pop(); {
			case next.arrives:
				p.ready.push(next.ghost)
			default:
				p.busy--
				p.done(next.ghost)
			}
		}
		p.settle()
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

// settle lets all go on who may.
func (p *player) settle() {
	for {
		p.carry(p.d.Settle())
		if len(p.woken) == 0 {
			return
		}
		woken := p.woken
		p.woken = nil
		for _, g := range woken {
			p.goOn(g, false)
		}
	}
}

// summon has a ghost do what it found, when word has reached it.
func (p *player) summon(g *ghost) {
	if lag := g.lag(); lag > 0 {
		p.agenda.push(appointment{wall: p.wall + lag, ghost: g.id, arrives: true})
		return
	}
	p.ready.push(g.id)
}

// start gives cores to those who wait for one, in order.
func (p *player) start() {
	for p.cores == 0 || p.busy < p.cores {
		id := p.ready.first()
		if id == nil {
			return
		}
		p.agenda.push(appointment{wall: p.wall + p.ghosts[*id].work(), ghost: *id})
		p.busy++
		p.ready.pop()
	}
}

// done says what a ghost has done, and lets it go on where it may.
func (p *player) done(id metasim.ClientID) {
	g := p.ghosts[id]
	for _, k := range g.did {
		p.send(g, k)
	}
	g.settle()
	if g.undone == 0 {
		p.leave(g)
		return
	}
	p.goOn(g, true)
}

func (p *player) leave(g *ghost) {
	g.left = true
	p.step(&metasim.Leave{Client: g.id, Now: g.now, Acked: g.acked})
}

// goOn begins what a ghost does next, or has it wait.
func (p *player) goOn(g *ghost, reports bool) {
	switch next := g.next(); {
	case next.Before(g.granted):
		if reports {
			p.step(&metasim.Advance{Client: g.id, Report: g.report()})
		}
		g.act(next)
		p.summon(g)
	case g.granted == metasim.Infinity:
		p.leave(g) // nothing can come any more
	default:
		g.waiting = true
		r := g.report()
		p.step(&metasim.PollWait{Client: g.id, Report: r, Want: r.NextEvent, Messages: g.log.messages})
	}
}

// send sends what an act sent.
func (p *player) send(g *ghost, k int32) {
	end := g.log.acts[k].sends
	for i := end - g.sends(k); i < end; i++ {
		s := g.log.sends[i]
		g.sent = append(g.sent, uint64(i))
		p.step(&metasim.Send{Client: g.id, Channel: p.channels[s.channel], Sent: g.now, Payload: p.payload[:s.size]})
	}
}

func (p *player) step(ev metasim.Event) { p.carry(p.d.Step(ev)) }

// carry carries out what the dispatcher decides.
func (p *player) carry(effects []metasim.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case *metasim.Deliver:
			m := e.Message
			m.Seq = p.ghosts[m.From].sent[m.Seq]
			p.ghosts[e.To].inbox.push(m)
		case *metasim.Authorize:
			g := p.ghosts[e.To]
			g.granted = e.Until
			if g.waiting {
				g.waiting = false
				p.woken = append(p.woken, g)
			}
		case *metasim.Finish:
			if e.Err != nil && p.err == nil {
				p.err = fmt.Errorf("analysis: the run would fail: %w", e.Err)
			}
		}
	}
}
