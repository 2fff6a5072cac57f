package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// No goroutine belongs to the dispatcher. A goroutine that brings something runs the dispatcher itself if no other does at
// that moment: then an answer costs no switch of goroutines. If another does, what was brought goes into the mailbox, and
// the other takes it as one batch. The right to run the dispatcher is called the turn.
//
// A goroutine that always found new mail would never return to its own work. After maxRounds batches it leaves the rest to
// the main loop, the goroutine of Serve, which also takes the turn when a time is up.

// maxRounds is how many batches of others' mail one goroutine takes.
const maxRounds = 8

// receive takes what a connection brought: packets, or its end. inProcess says that the caller is the peer, which is
// writing to the connection.
func (s *Server) receive(c *connection, packets []wire.Packet, err error, inProcess bool) {
	taken := false
	if s.turn.TryLock() {
		s.round(func() {
			if taken = s.takeMail(); taken { // what the connection brought before comes first
				s.take(c, packets, err)
			}
		})
		s.turn.Unlock()
	}
	if !taken {
		s.mail.put(c, packets, err)
	}
	s.catchUp()
	s.config.After(!inProcess)
	s.observeLater(!inProcess)
}

// do runs f as a round of its own. It reports false when the run is over.
func (s *Server) do(f func()) bool {
	s.turn.Lock()
	ended := s.ended
	s.round(func() {
		s.observeAll()
		f()
	})
	s.turn.Unlock()
	s.catchUp()
	s.config.After(true)
	s.observeLater(true)
	return !ended
}

// catchUp takes mail that came while the turn was taken, after its holder had looked for mail.
func (s *Server) catchUp() {
	for range maxRounds {
		if s.mail.empty() || s.recordIsFull() || !s.turn.TryLock() {
			return // the holder of the turn catches up after it
		}
		s.round(s.takeAll)
		s.turn.Unlock()
	}
	s.mail.wake()
}

// observeLater shows the observers what waits, when a goroutine has run the dispatcher and has written what followed. What came meanwhile is taken too,
// and After is called again: canRunInline is for it.
func (s *Server) observeLater(canRunInline bool) {
	for range maxRounds {
		if !s.unobserved.some.Load() || !s.turn.TryLock() {
			return // who has the turn comes here after it
		}
		s.observeAll()
		s.endTurn()
		s.turn.Unlock()
		s.catchUp()
		s.config.After(canRunInline)
	}
	s.mail.wake()
}

// looked goes on with what came while a goroutine had the turn to look at the run.
func (s *Server) looked() {
	s.catchUp()
	s.config.After(false)
	s.observeLater(false)
}

// resumeRecord goes on with what was left, when an observer has room again or has failed. It is done on a goroutine of its own, as the
// main loop may run a client of this process that waits for room in the mailbox.
func (s *Server) resumeRecord() {
	s.mail.wake()
	s.spawn(func() {
		s.catchUp()
		s.config.After(true)
		s.observeLater(true)
	})
}

// flushEvery is after how long at most observers write what they were given.
const flushEvery = 250 * time.Millisecond

// flushLater has observers write what they were given. The caller has the turn.
func (s *Server) flushLater() {
	if s.flushing || len(s.records) == 0 {
		return
	}
	s.flushing = true
	time.AfterFunc(flushEvery, func() { // the main loop may run a client of this process that never returns
		s.do(func() {
			s.flushing = false
			for _, r := range s.records {
				r.Flush()
			}
		})
	})
}

// run is the main loop. It returns when the run is over. The caller has the turn, before and after.
func (s *Server) run(ctx context.Context) error {
	var timeout <-chan time.Time
	if s.config.StartTimeout > 0 {
		timer := time.NewTimer(s.config.StartTimeout)
		defer timer.Stop()
		timeout = timer.C
	}
	s.round(func() {
		if s.config.Driven {
			s.permit()
		}
		s.goOn()
		s.takeAll()
	})
	cancelled := context.AfterFunc(ctx, func() { // on a goroutine of its own: this one may run clients that wait to be heard
		s.do(func() { s.fail(context.Cause(ctx)) })
	})
	defer cancelled()
	for !s.ended {
		s.turn.Unlock()
		s.catchUp()
		s.config.After(true)
		s.observeLater(true)
		var work func()
		select {
		case <-s.mail.woken:
			work = s.takeAll
		case <-timeout:
			timeout = nil
			work = s.checkStart
		}
		s.turn.Lock()
		s.round(work)
	}
	s.timing.stop(s.wall, s.session.Started())
	return s.err
}

// checkStart ends a run whose clients did not join in time.
func (s *Server) checkStart() {
	if !s.session.Started() {
		s.fail(&StartError{After: s.config.StartTimeout, Missing: s.session.Missing(), Disk: s.timing.recordFull})
	} else if away := s.awaited(); s.config.Resume != nil && len(away) > 0 {
		s.fail(&StartError{After: s.config.StartTimeout, Missing: away, Again: true})
	}
}

// round is one turn: everything that waits is stepped, then authorizations are computed once, then each connection is
// written once. The caller has the turn.
func (s *Server) round(work func()) {
	if s.ended {
		return
	}
	s.readClock()
	s.held.Until(int64(s.wall))
	work()
	s.settle()
	for s.flush() {
		s.settle() // a client was cut off, and others may have waited for it
	}
	if s.stepped {
		s.stepped = false
		s.wakeups++
		s.flushLater()
		if s.session.Started() {
			s.rounds += time.Since(s.began) - s.wall
		}
	}
	s.endTurn()
}

// endTurn is called before the turn is given away. It notes whether observers are full by now, as nobody may take mail before they have room. Once the run
// is over nobody waits to be heard.
func (s *Server) endTurn() {
	if !s.ended {
		s.waitsForRecord()
	}
	if s.ended {
		s.mail.close()
		s.mail.wake()
	}
}

// maxBatch is how many mails are taken before their effects are carried out. The effects of a batch stay in memory, and a message has as
// many effects as recipients.
const maxBatch = 1 << 10

// takeAll takes all that waits.
func (s *Server) takeAll() { s.takeMail() }

// takeMail takes all that waits. It reports false if some of it is left, because observers cannot take more.
func (s *Server) takeMail() bool {
	items := s.mail.take()
	for i, in := range items {
		if s.waitsForRecord() {
			s.mail.putBack(items[i:])
			return false
		}
		if i%maxBatch == maxBatch-1 {
			s.settle()
			s.flush() // where it drops a peer, the next settle sees that
		}
		switch {
		case in.command != nil:
			s.observeAll()
			in.command()
		case in.err != nil:
			s.take(in.from, nil, in.err)
		default:
			s.packet(in.from, in.packet)
		}
	}
	return !s.waitsForRecord()
}

// take takes what a connection brought.
func (s *Server) take(c *connection, packets []wire.Packet, err error) {
	for _, p := range packets {
		s.packet(c, p)
	}
	if err == nil || s.ended {
		return
	}
	if malformed := new(wire.ProtocolError); errors.As(err, &malformed) && !errors.Is(err, io.ErrUnexpectedEOF) {
		told := *malformed
		told.Peer = "" // it knows who it is
		s.session.Malformed(c.session, told.Error())
		if _, _, err := c.flush(); err != nil { // it is written before the connection closes
			s.fail(err)
		}
	}
	s.disconnect(c, cause(err))
}

// cause says in words how a connection ended.
func cause(err error) string {
	switch {
	case errors.Is(err, io.EOF):
		return "the connection was closed"
	case errors.As(err, new(*wire.ProtocolError)):
		return "it sent what is not the protocol: " + err.Error()
	}
	return "the connection broke: " + err.Error()
}

// packet takes one message of a peer.
func (s *Server) packet(c *connection, p wire.Packet) {
	if s.ended {
		return
	}
	c.heard++
	if c.repeating > 0 {
		if id, repeats := c.session.Repeating(p.Member); repeats {
			s.timing.heard++
			defer s.progress(id)
		}
	}
	ev, refusal := s.session.Receive(c.session, p)
	if c.visitor != nil {
		s.meet(c, refusal)
	}
	if refusal != nil {
		s.observeAll()
		if refusal.Precedes && s.await(refusal.Client, "its relay was lost: it comes back through another one") {
			s.packet(c, p)
			return
		}
		if refusal.Text != "" {
			s.refused(c, refusal.Text)
		}
		switch {
		case refusal.Gone:
			s.gone(refusal.Client, refusal.Cause)
		case refusal.Lost:
			s.lost(refusal.Client, refusal.Cause, refusal.Said)
		}
		if refusal.Difference != nil {
			s.unlike(refusal)
		}
		return
	}
	if ev == nil {
		if _, repeats := c.session.Repeating(p.Member); !repeats {
			c.repeat(true) // it tells the dispatcher nothing
		}
		s.keep()
		return
	}
	if join, ok := ev.(*metasim.Join); ok && s.session.Presence(join.Client) == session.Away {
		s.returned(c, join, s.recall)
		return
	}
	for ev != nil {
		s.timing.hear(c, ev, s.wall)
		s.step(ev)
		if s.err != nil {
			return // the farewell says the last word, or the eviction has said it
		}
		next := s.session.Answer(ev)
		if join, ok := ev.(*metasim.Join); ok {
			s.log.Debug("joined", "client", s.dispatcher.Names()[join.Client], "peer", c.conn.Peer(), "missing", s.session.Awaited())
		}
		if _, all := ev.(*metasim.Begin); all {
			close(s.joined)
		}
		if _, begins := next.(*metasim.Begin); begins && s.config.MayBegin != nil {
			if err := s.config.MayBegin(); err != nil {
				s.fail(err)
				return
			}
		}
		ev = next
	}
}

// recall takes a part of what a client has still to repeat, and then what the client has said that waited for it.
func (s *Server) recall(id metasim.ClientID, m *memory, p part) {
	s.do(func() {
		a := &s.timing.clients[id]
		switch {
		case a.past != m:
			return // its process has died again
		case p.err != nil:
			s.fail(&ObserverError{Err: p.err})
			return
		}
		if at := p.past.Begin; at != nil {
			s.log.Info("begins at a checkpoint", "client", s.dispatcher.Names()[id], "at", at.Now)
		}
		s.session.Remember(id, p.past, p.last)
		for _, packet := range s.session.Held(id) {
			s.packet(m.conn, packet)
		}
		s.progress(id)
	})
}

// flush writes to each connection what this round has for it. It reports true when a peer that does not read was dropped.
func (s *Server) flush() bool {
	dropped := false
	for _, c := range s.written {
		before, after, err := c.flush()
		switch limit := s.config.OutboxLimit; {
		case s.ended:
		case err != nil:
			s.fail(fmt.Errorf("what %s is to be told cannot be sent: %w", c.conn.Peer(), err))
		case before > hardFactor*limit && c.asks():
			dropped = true
			s.drop(c, before)
		case after > limit:
			s.watch(c)
		}
	}
	clear(s.written)
	s.written = s.written[:0]
	s.commit()
	return dropped
}
