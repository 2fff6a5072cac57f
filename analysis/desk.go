package analysis

import "metasim/metasim"

// A desk is where a player's dispatcher works: in rounds, each of which takes all that has come, and says at its end what was
// decided.
type desk struct {
	state   deskState
	mail    []metasim.Event // what has come
	spare   []metasim.Event // memory of the mail before
	reading int64           // what it takes to read the mail, in nanoseconds
	saying  int64           // and to say what this round decided
	told    []*ghost        // to whom
}

type deskState uint8

const (
	idle    deskState = iota
	called            // word of the mail is on its way
	ready             // there is mail, or may be
	working           // a round goes on
)

// receive takes in what a ghost has written, and wakes the dispatcher.
func (p *player) receive(g *ghost) {
	d, r := &p.desk, p.price(g)
	d.mail = append(d.mail, g.kept...)
	d.reading += r.end + int64(len(g.kept))*r.serve
	g.kept = g.kept[:0]
	switch {
	case d.state != idle:
	case r.wake > 0:
		d.state = called
		p.later(r.wake, nil, deskReached)
		p.spin(r)
	default:
		d.state = ready
	}
}

// convene begins a round, if there is mail, and a core.
func (p *player) convene() {
	d := &p.desk
	if d.state != ready || !p.free() || p.crew && p.turn {
		return
	}
	if len(d.mail) == 0 {
		d.state = idle
		return
	}
	mail, took := d.mail, d.reading
	d.mail, d.reading = d.spare[:0], 0
	for _, ev := range mail {
		p.step(ev)
	}
	p.carry(p.d.Settle())
	clear(mail)
	d.spare = mail[:0]
	d.state = working
	p.busy++
	p.turn = p.turn || p.crew
	p.later(took+d.saying, nil, adjourned)
	d.saying = 0
}

// adjourn ends a round: now those whom it concerns know.
func (p *player) adjourn() {
	d := &p.desk
	d.state = ready
	p.busy--
	p.turn = p.turn && !p.crew
	for _, g := range d.told {
		g.hear()
		p.look(g)
	}
	clear(d.told)
	d.told = d.told[:0]
}

// tell notes that a ghost is to be told something, at the end of the round.
func (p *player) tell(g *ghost) *ear {
	if !g.coming.any {
		g.coming.any = true
		p.desk.told = append(p.desk.told, g)
		p.desk.saying += p.price(g).end
	}
	return &g.coming
}

func (p *player) deliver(g *ghost, m metasim.Message) {
	e := p.tell(g)
	e.given = append(e.given, m)
	p.desk.saying += p.price(g).serve
}

func (p *player) authorize(g *ghost, a *metasim.Authorize) {
	e := p.tell(g)
	e.granted, e.quiet = a.Until, a.QuietUntil
}
