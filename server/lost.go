package server

import (
	"fmt"
	"time"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// disconnect takes the end of a connection: all clients on it that have not left are lost.
func (s *Server) disconnect(c *connection, why string) {
	s.observeAll()
	c.outbox.close()
	if relay := c.session.Relay(); relay != "" {
		why = fmt.Sprintf("the relay %s was lost: %s", relay, why)
	}
	if c.visitor != nil {
		s.visitors.ended(c.visitor)
	}
	if len(c.clients) == 0 {
		s.log.Debug("a connection ended without a client", "peer", c.conn.Peer(), "cause", why)
	}
	for _, id := range s.session.Disconnect(c.session) {
		if c.session.Relay() == "" || !s.await(id, why) {
			s.gone(id, why)
		}
	}
}

// await waits for a client whose relay was lost: its process may live, and come back through another relay at the same address, or the same one. It
// returns false if the client does not come back.
func (s *Server) await(id metasim.ClientID, why string) bool {
	if s.ended || s.failing {
		return false
	}
	account, status := s.ledger.Account(id), s.dispatcher.Status(id)
	given := s.ledger.Unhandled(id)
	at := session.Standing{Acked: account.Delivered, Granted: status.Granted, Known: wire.Known{
		Sent: account.Sent, Delivered: account.Delivered + uint64(len(given)), Now: status.Clock, NoSendBefore: metasim.Later(status.Clock, status.NoSendBefore),
	}}
	for i := range given {
		at.Unhandled = append(at.Unhandled, metasim.Deliver{To: id, Number: account.Delivered + uint64(i) + 1, Message: given[i]})
	}
	patience := time.Duration(s.session.Await(id, &at))
	if patience == 0 {
		return false
	}
	a := &s.timing.clients[id]
	a.awaited++
	times := a.awaited
	s.log.Warn("awaited", "client", status.Name, "for", patience, "at", status.Clock, "cause", why)
	time.AfterFunc(patience, func() {
		s.mail.post(func() {
			if a.awaited == times && s.session.Presence(id) == session.Away {
				s.gone(id, fmt.Sprintf("%s; it did not come back within %v, through another relay at the same address", why, patience))
			}
		})
	})
	return true
}

// A peer counts as lost if it does not read. That is so if more than Config.OutboxLimit bytes wait for it and it takes none of them for
// outboxTime, or if hardFactor times as many bytes wait at any time. A peer that is only slow is not lost.
const (
	outboxTime = 10 * time.Second
	hardFactor = 4
)

// watch starts to watch a connection whose outbox exceeds OutboxLimit. If the peer takes nothing for outboxTime, although
// it waits for an answer or sends more, it is dropped. A peer that has its answer and is silent computes, and reads when it
// has done so.
func (s *Server) watch(c *connection) {
	if c.watched {
		return
	}
	c.watched, c.known = true, c.heard
	_, writes := c.outbox.state()
	time.AfterFunc(outboxTime, func() {
		s.mail.post(func() {
			c.watched = false
			switch waiting, now := c.outbox.state(); {
			case s.ended, waiting <= s.config.OutboxLimit:
			case now == writes && c.asks():
				s.drop(c, waiting)
			default:
				s.watch(c)
			}
		})
	})
}

// drop closes the connection of a peer that does not read.
func (s *Server) drop(c *connection, waiting int) {
	s.disconnect(c, fmt.Sprintf("%d bytes wait to be read by it, the limit is %d: it asks without reading",
		waiting, s.config.OutboxLimit))
	s.spawn(func() { // a transport may take a moment to close
		_ = c.conn.Close() // the client is lost already
	})
}

// gone takes that a client went away without a word: its process is replaced, or it is lost.
func (s *Server) gone(id metasim.ClientID, why string) {
	if !s.restart(id, why) {
		s.lost(id, why, false)
	}
}

// lost takes the loss of a client; said: it says so itself. If Config.Detach has its name, the run goes on without it. Otherwise the run fails, as
// soon as it is known how the client's process ended.
func (s *Server) lost(id metasim.ClientID, why string, said bool) {
	joined := s.session.Presence(id) != session.Absent
	if s.ended || !s.session.Lose(id) {
		return
	}
	status, holder := s.dispatcher.Status(id), s.holder(id)
	if s.session.Started() && s.config.Detach[status.Name] {
		s.detached = true
		s.timing.clients[id].resumes(s.wall)
		s.timing.clients[id].end = s.wall
		s.log.Warn("detached", "client", status.Name, "last_heard_of", status.Clock, "granted", status.Granted, "cause", why)
		s.step(s.session.Cut(id, status.Clock))
		return
	}
	e := &LostError{
		Client: status.Name, Joined: joined, Started: s.session.Started(),
		Now: status.Clock, Granted: status.Granted, NoSendBefore: status.NoSendBefore, Cause: why, Said: said, Restarts: s.timing.clients[id].restarts,
		Again: s.config.Restart != nil && s.config.Restart.Limit[status.Name] > 0,
	}
	if said {
		e.Holder = holder
	}
	if s.config.ProcessEnd == nil {
		s.fail(e)
		return
	}
	if s.failing {
		return // the run fails with the first loss, whichever process is looked up sooner
	}
	s.failing = true
	s.spawn(func() {
		e.Process = s.config.ProcessEnd(e.Client)
		s.mail.post(func() { s.fail(e) })
	})
}

// holder returns whom a client waits for; nil if it waits for nobody who has joined.
func (s *Server) holder(id metasim.ClientID) *Holder {
	if !s.session.Started() || !s.timing.clients[id].waiting {
		return nil
	}
	chain := s.dispatcher.Blame(nil, id)
	if len(chain) == 0 || chain[len(chain)-1].From == id || chain[len(chain)-1].Reason == metasim.NoCredit {
		return nil
	}
	root := chain[len(chain)-1].From
	status := s.dispatcher.Status(root)
	return &Holder{Client: status.Name, Silent: s.wall - s.timing.clients[root].heard, Now: status.Clock}
}
