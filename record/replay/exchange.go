package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"metasim/internal/scope"
	"metasim/metasim"
	"metasim/record/journal"
	"metasim/wire"
	"metasim/wire/session"
)

// An exchange is the server's end of the connection with the client that is replayed. The client is answered as by any
// server, and given what was delivered to it then, ahead of need but within bounds. What it sends is compared with the
// tape.
type exchange struct {
	Checked
	name   string
	tape   *tape
	server *session.Server
	conn   *session.Conn
	batch  []wire.Packet // to be written

	joined bool
	feed   session.Feed
	over   bool // it has had its last message
	gone   bool // it is no longer there, and did not leave
	silent bool // it did not say why
}

func newExchange(name, token string, about wire.About, scopes scope.Set, t *tape) (*exchange, error) {
	m := t.run.Manifest
	server, err := session.NewServer(session.ServerConfig{
		Scenario: m.Scenario, Seed: m.Seed, Token: token, About: map[string]wire.About{name: about}, Scopes: scopes, Names: m.Clients, Until: t.run.End(),
	})
	if err != nil {
		return nil, err
	}
	for i := range m.Clients {
		if id := metasim.ClientID(i); id != t.past.Client {
			server.SkipJoin(id)
		}
	}
	x := &exchange{name: name, tape: t, server: server}
	x.conn = server.Connect(x)
	return x, nil
}

// Put adds a packet to what is to be written.
func (x *exchange) Put(p wire.Packet) { x.batch = append(x.batch, p) }

// errNothingSaid tells that a connection has ended on which nothing was said. It was not the client's: another metasim may have looked whether somebody listens
// here, before it removes what was left behind.
var errNothingSaid = errors.New("nothing was said")

// serve talks with the client until its part is over, or until the first difference. The error says what prevented the
// check.
func (x *exchange) serve(conn wire.Conn) error {
	w := &writer{conn: conn}
	heard := false
	defer w.close()
	for !x.over {
		packets, ended := conn.Read()
		heard = heard || len(packets) > 0
		for _, p := range packets {
			if x.over {
				break
			}
			if err := x.packet(p); err != nil {
				w.write(x.batch)
				return err
			}
		}
		w.write(x.batch)
		x.batch = nil
		if ended != nil && !heard && !errors.As(ended, new(*wire.ProtocolError)) {
			return errNothingSaid
		}
		if ended != nil && !x.over {
			return x.disconnected(ended)
		}
	}
	return nil
}

// disconnected takes the end of the connection before the last message.
func (x *exchange) disconnected(err error) error {
	cause := "its connection ended"
	x.silent = true
	switch {
	case errors.As(err, new(*wire.ProtocolError)):
		cause = "it sent what is not the protocol: " + err.Error()
	case !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed):
		cause = "its connection broke: " + err.Error()
	}
	return x.lost(cause)
}

// lost takes the end of a client that has not left.
func (x *exchange) lost(cause string) error {
	if !x.joined {
		return fmt.Errorf("client %q did not join: %s", x.name, cause)
	}
	x.gone = true
	if err := x.tape.drain(); err != nil {
		return err
	}
	rest := x.tape.past.Sends.All()
	switch {
	case !x.tape.end.lost:
		return x.missing(cause)
	case !x.tape.stepwise:
		x.Missing = uint64(len(rest)) // its library may have had them
	case len(rest) > 0 && rest[0].Sent != rest[len(rest)-1].Sent: // only what it published last can be in its library
		return x.missing(cause)
	}
	x.stop()
	return nil
}

// packet takes one message.
func (x *exchange) packet(p wire.Packet) error {
	ev, refusal := x.server.Receive(x.conn, p)
	if refusal != nil {
		return x.refused(refusal, p.Body)
	}
	switch ev := ev.(type) {
	case *metasim.Join:
		x.joins(ev)
	case *metasim.Send:
		return x.sends(ev)
	case *metasim.Advance:
		return x.reports(ev.Report, nil)
	case *metasim.PollWait:
		return x.reports(ev.Report, ev)
	case *metasim.Leave:
		return x.leaves(ev)
	}
	return nil // a promise: no other client is there that relies on it
}

// refused ends the check, unless the client has joined and another one was refused on its connection.
func (x *exchange) refused(r *session.Refusal, said wire.Body) error {
	hello, _ := said.(wire.Hello)
	switch {
	case r.Said:
		return x.lost(r.Cause)
	case r.Lost:
		return fmt.Errorf("client %q: %s", x.name, r.Cause)
	case x.joined:
		return nil
	case r.Reason == wire.UnknownName || r.Reason == wire.NameTaken:
		return fmt.Errorf("%q is replayed, and %q wants to join; give it METASIM_CLIENT", x.name, hello.Name)
	}
	return errors.New(r.Text)
}

// joins compares what the client declares, and lets it in. All others count as joined, so that the run starts.
func (x *exchange) joins(now *metasim.Join) {
	x.joined = true
	if d := session.CompareJoins(x.name, x.tape.past.Joined, now); d != nil {
		x.differs(d)
		return
	}
	for ev := metasim.Event(now); ev != nil; {
		ev = x.server.Answer(ev)
	}
}

// reports takes a report; poll is the wait that it belongs to, nil if the client goes on computing.
func (x *exchange) reports(r metasim.Report, poll *metasim.PollWait) error {
	if err := x.feed.Report(&r, poll); err != nil {
		return fmt.Errorf("client %q: %w", x.name, err)
	}
	if !x.feed.Waited() {
		return nil
	}
	before := x.feed.Granted
	for !x.isAhead() || !x.answers(poll) {
		next, ok, err := x.tape.more()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		x.feed.Give(next, x.server.Deliver)
	}
	x.Delivered = x.feed.Delivered
	if x.feed.Granted != before || poll != nil && x.answers(poll) {
		x.server.Authorize(&metasim.Authorize{To: x.tape.past.Client, Until: x.feed.Granted})
	}
	if !x.answers(poll) {
		return x.stuck(poll)
	}
	return nil
}

// isAhead reports whether the client has as much ahead as it should.
func (x *exchange) isAhead() bool {
	return x.tape.stepwise || x.feed.IsAhead(x.tape.past.Sends.Len())
}

// answers reports whether the client needs no further authorization.
func (x *exchange) answers(poll *metasim.PollWait) bool {
	return x.feed.Answers(poll, x.tape.run.End())
}

// sends compares one send.
func (x *exchange) sends(now *metasim.Send) error {
	then, err := x.tape.send(now.Sent)
	if err != nil {
		return err
	}
	if then == nil {
		switch end := x.tape.end; {
		case end == nil:
			x.differ(x.where(), x.onward(), session.SendText(now, 0))
		case end.leave != nil:
			x.differ(x.where(), leave("it left", end.leave), session.SendText(now, 0))
		default:
			x.stop() // it sends what came after the end of the record
		}
		return nil
	}
	if d := session.CompareSends(x.name, x.Sent, then, now); d != nil {
		x.differs(d)
		return nil
	}
	x.tape.past.Sends.Pop()
	x.Sent++
	if end := x.tape.end; end != nil && end.brokeRule && x.tape.past.Sends.Len() == 0 {
		x.stop()
	}
	return nil
}

// leaves compares a leave.
func (x *exchange) leaves(now *metasim.Leave) error {
	then, err := x.tape.send(now.Now)
	if err != nil {
		return err
	}
	text := leave("it leaves", now)
	end := x.tape.end
	switch {
	case then != nil:
		x.differ(x.where(), session.SendText(then, 0), text)
	case end == nil:
		x.differ(x.whereEnds(), x.onward()+", and did not leave", text)
	case end.leave != nil && (end.leave.Now != now.Now || end.leave.Acked != now.Acked ||
		!bytes.Equal(journal.CanonicalResult(end.leave.Result), journal.CanonicalResult(now.Result))):
		x.differ(x.whereEnds(), leave("it left", end.leave), text)
	default:
		x.end()
		x.server.Answer(now)
	}
	return nil
}

// stuck takes a wait for more than was recorded. If the client then broke a rule with a send while it waited, it is to do
// that again.
func (x *exchange) stuck(poll *metasim.PollWait) error {
	if x.tape.end.brokeRule && x.tape.past.Sends.Len() > 0 {
		return nil
	}
	return x.missing(session.WaitText(poll))
}

// missing takes that the client sends nothing more; now says why.
func (x *exchange) missing(now string) error {
	then, err := x.tape.send(metasim.Infinity)
	if err != nil {
		return err
	}
	switch {
	case then != nil:
		x.differ(x.where(), session.SendText(then, 0), now)
	case x.tape.end.leave != nil:
		x.differ(x.whereEnds(), leave("it left", x.tape.end.leave), now)
	default:
		x.stop()
	}
	return nil
}

// stop ends the replay where the record ends, with the last message that the client received then.
func (x *exchange) stop() {
	end := x.tape.end
	x.end()
	switch {
	case end.evict != nil:
		x.server.Evict(end.evict)
	case end.farewell:
		x.server.Farewell(end.err)
	}
}

// end notes that the client has had its last message, and how its part ended then.
func (x *exchange) end() {
	x.End, x.CutOff, x.over = x.tape.end.text, x.tape.end.cutOff, true
}

// differ ends the replay at a difference.
func (x *exchange) differ(where, then, now string) {
	x.differs(&Difference{Where: where, Then: then, Now: now})
}

func (x *exchange) differs(d *Difference) {
	x.Difference, x.over = d, true
	x.server.Refuse(x.tape.past.Client, wire.RuleBroken, d.Where+" is not what it was: the replay ends here")
}

func (x *exchange) where() string { return session.WhereSent(x.name, x.Sent) }

func (x *exchange) whereEnds() string { return session.WhereEnds(x.name) }

// onward says that the client had sent nothing more then.
func (x *exchange) onward() string { return session.OnwardText(x.tape.past.Clock) }

// leave puts a leave into words.
func leave(verb string, l *metasim.Leave) string {
	return fmt.Sprintf("%s at %v, with %d deliveries handled and the result %q", verb, l.Now, l.Acked, l.Result)
}

// A writer writes to the client on a goroutine of its own: a client that sends much before it reads would otherwise wait
// for a replay that waits for the client. What waits is bounded by what the client is given ahead.
type writer struct {
	conn  wire.Conn
	group sync.WaitGroup

	mu      sync.Mutex
	waiting []wire.Packet
	active  bool  // there is a goroutine
	err     error // of a write: nothing more is written, and the connection is still read to its end
}

// write takes packets, which belong to the writer from now on.
func (w *writer) write(packets []wire.Packet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = append(w.waiting, packets...)
	if !w.active && len(w.waiting) > 0 {
		w.active = true
		w.group.Go(w.run)
	}
}

func (w *writer) run() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.waiting) > 0 && w.err == nil {
		packets := w.waiting
		w.waiting = nil
		w.mu.Unlock()
		err := w.conn.Write(packets)
		w.mu.Lock()
		w.err = err
	}
	w.waiting, w.active = nil, false
}

// close waits until all is written that can be written, and closes the connection.
func (w *writer) close() {
	w.group.Wait()
	_ = w.conn.Close() // everything was written, or the client is gone
}
