package shard

import (
	"cmp"
	"fmt"
	"slices"

	"metasim/federates/authority/claim"
	"metasim/federates/authority/credit"
	"metasim/metasim"
)

// probeTicks is after how many ticks without credit an empty packet asks for it: those on the way may all be lost.
const probeTicks = 10

// A StrangerError: a packet came from who is no server of this world.
type StrangerError struct{ From string }

func (e *StrangerError) Error() string {
	return e.From + " sent a packet, and is no simulation server of this world; name it in neighbours, or in the --world of each program"
}

// An UnknownPacketError: a packet is of no kind that servers send.
type UnknownPacketError struct {
	From string
	Kind byte
}

func (e *UnknownPacketError) Error() string {
	return fmt.Sprintf("%s sent a packet of kind %d; use 1 to 3", e.From, e.Kind)
}

// Receive takes a packet of another server. Updates wait until Tick. Where it returns an error the sender did wrong, and nothing has changed.
func (s *Shard) Receive(from string, b []byte) error {
	at, found := slices.BinarySearch(s.cfg.Servers, from)
	if !found || s.peers[at] == nil {
		return &StrangerError{from}
	}
	p := s.peers[at]
	if len(b) == 0 {
		return &MalformedError{from, 0, "it ends"}
	}
	switch b[0] {
	case updatesPacket:
		sequence, _, err := readUpdates(from, claim.Index(at+1), b, s.cfg.Side)
		if err == nil {
			err = p.in.Check(sequence, uint64(len(b)-headBytes))
		}
		if err == nil {
			p.inbox = append(p.inbox, b)
		}
		return err
	case creditPacket:
		c, err := readCredit(from, b)
		if err == nil {
			err = p.out.Grant(c)
		}
		if err == nil {
			p.probe = 0
		}
		return err
	case loadPacket:
		l, err := readLoad(from, b)
		if err == nil && (!p.known || l.round >= p.said.round) {
			p.said, p.known = l, true
		}
		return err
	}
	return &UnknownPacketError{from, b[0]}
}

// readAll believes what was received, as far as this server reads in one tick, and grants credit for it.
func (s *Shard) readAll(now metasim.Time) (out []Packet, err error) {
	s.readable = min(s.readable, 0) + int64(s.cfg.Reads) // a long packet takes several ticks
	for i, p := range s.peers {
		if p == nil {
			continue
		}
		var c credit.Credit
		read := 0
		for _, b := range p.inbox {
			n := uint64(len(b))
			if s.cfg.Reads > 0 && s.readable <= 0 {
				break
			}
			s.readable -= int64(n)
			read++
			sequence, updates, err := readUpdates(p.name, claim.Index(i+1), b, s.cfg.Side)
			if err != nil {
				return nil, err
			}
			for k := range updates {
				s.believe(now, claim.Index(i+1), &updates[k])
			}
			c = p.in.Read(sequence, n-headBytes)
		}
		if read > 0 {
			p.inbox = slices.Delete(p.inbox, 0, read)
			out = append(out, Packet{p.name, creditBytes(c)})
		}
	}
	return out, nil
}

// believe decides on an update, and takes it as far as the claims allow.
func (s *Shard) believe(now metasim.Time, sender claim.Index, u *update) {
	n := s.number(u.entity)
	e := s.entities[n]
	if e.owner == s.self && (u.owner || u.claim.Ownership.NewerThan(e.claim.Ownership)) {
		s.Counts.Late++ // an ownership changes by a handover alone
		return
	}
	verdict := claim.Judge(s.self, e.claim, sender, u.claim, u.owner)
	if e.owner == 0 && e.state.Body == nil {
		verdict = claim.Accept // the first that is heard of it
	}
	if !u.owner && e.owner == s.self {
		e.answer = sender
	}
	if !u.owner && e.owner != s.self {
		verdict = claim.Refuse // who is not the owner convinces the owner alone
	}
	switch verdict {
	case claim.Accept:
		s.accept(n, sender, u)
		s.lend(now, e)
	case claim.Confirm:
		s.Counts.Taken++
		first := !e.claim.Confirmed
		e.claim, e.owner = e.claim.Take(verdict, u.claim), sender
		if first && e.kick != [2]int64{} {
			s.push(e, now)
		}
	case claim.Refuse:
		s.Counts.Late++
	}
}

// lend tells the Simserver whether a guest moves an entity: while it does, the entity is not handed over. What is overdue is, before the next update is believed.
func (s *Shard) lend(now metasim.Time, e *entity) {
	if e.owner == s.self {
		guest := e.claim.Authority != s.self && e.claim.Authority != claim.Default
		s.overdue = append(s.overdue, s.sim.Lend(now, e.name, guest)...)
		s.handedOver(now)
	}
}

func (s *Shard) accept(n int, sender claim.Index, u *update) {
	e := s.entities[n]
	if u.claim.Ownership == e.claim.Ownership && u.claim.Touches == e.claim.Touches && u.state.Steps < e.heard {
		s.Counts.Late++ // a later one has overtaken it
		return
	}
	s.Counts.Taken++
	e.claim = e.claim.Take(claim.Accept, u.claim)
	if u.owner {
		e.owner = sender
	}
	e.heard = u.state.Steps
	s.set(e, u.state)
	if e.owner == s.self {
		e.tell = s.cfg.restTicks()
		s.activate(n)
	}
	if s.resting == nil {
		return
	}
	if e.claim.Authority == claim.Default {
		s.resting.Put(n, u.state.Body.X, u.state.Body.Y)
	} else {
		s.resting.Remove(n)
	}
}

// tellAll tells each server what it is to know: what it sees of the entities of this one, as often as its distance asks for, and what concerns its claims.
func (s *Shard) tellAll(now metasim.Time) (out []Packet, err error) {
	if now < s.cfg.Joins {
		return nil, nil
	}
	tick := uint64(now / s.cfg.tick())
	var due []int
	for i, p := range s.peers {
		if p == nil {
			continue
		}
		index := claim.Index(i + 1)
		due = due[:0]
		if p.known {
			due = s.moving.Due(due, tick, p.said.look[0], p.said.look[1])
		}
		for _, n := range s.active {
			e := s.entities[n]
			guest := e.owner == index && (e.claim.Authority == s.self || e.claim.Pending)
			if guest || e.owner == s.self && e.answer == index {
				due, e.answer = append(due, n), 0
			}
		}
		for _, n := range due {
			if _, waits := p.waits[n]; !waits {
				p.waits[n] = tick
				p.order = append(p.order, n)
			}
		}
		packets, err := s.tell(now, p)
		if err != nil {
			return nil, err
		}
		out = append(out, packets...)
	}
	return out, nil
}

// tell tells one server as much as its credit allows, of what has waited longest first. What must wait is told of as it is then.
func (s *Shard) tell(now metasim.Time, p *peer) (out []Packet, err error) {
	slices.SortFunc(p.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.waits[a], p.waits[b]), cmp.Compare(s.entities[a].name, s.entities[b].name))
	})
	done := 0
	for done < len(p.order) {
		room := min(p.out.Free(), s.cfg.Packet-headBytes)
		b := updatesHead()
		for ; done < len(p.order); done++ {
			e := s.entities[p.order[done]]
			if uint64(len(b)-headBytes+updateBytes+len(e.name)) > room {
				break
			}
			delete(p.waits, p.order[done])
			if e.owner != s.self && e.claim.Authority != s.self && !e.claim.Pending {
				continue // it was handed over while it waited
			}
			b = appendUpdate(b, &update{e.name, e.claim, e.owner == s.self, *s.now(e, now)})
			s.Counts.Sent++
		}
		if len(b) == headBytes {
			break
		}
		if err := stamp(b, p); err != nil {
			return nil, err
		}
		out = append(out, Packet{p.name, b})
	}
	p.order = slices.Delete(p.order, 0, done)
	s.Counts.Waited += uint64(len(p.order))
	if len(p.order) == 0 {
		p.probe = 0
		return out, nil
	}
	if p.probe++; p.probe%probeTicks != 0 {
		return out, nil
	}
	b := updatesHead()
	return append(out, Packet{p.name, b}), stamp(b, p)
}
