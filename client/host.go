package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"metasim/wire"
)

// A Host is a connection that many clients of one process share: see WithHost. What they send at the same time goes out
// in one write, and what the server has for them comes in in one read, so a thousand clients cost little more than one.
//
// A Host may be used by many goroutines; each client on it by one.
type Host struct {
	conn   wire.Conn
	direct bool          // the connection hands over at once, so nothing is to be gathered
	own    wire.Prompt   // set where one client has the connection for itself, and reads it
	done   chan struct{} // closed when no goroutine reads any more
	met    acquaintances // of who reads

	mu      sync.Mutex
	inboxes map[uint32]*inbox
	manned  []*Crew // who have clients here
	next    uint32  // number of the next member
	err     error   // why nothing comes any more
	room    sync.Cond
	encoder wire.Encoder
	out     []byte // frames to be written
	written []byte // memory of the write before
	writing bool   // somebody writes; he writes what is put meanwhile, too
	broken  error  // why nothing can be written any more
}

// maxPending is how many bytes may wait to be written before those who add to them wait.
const maxPending = 256 << 10

// Connect connects a Host to the server. The options say where it is, as those of Complete do.
func Connect(ctx context.Context, opts ...Option) (*Host, error) {
	conn, err := connect(ctx, gather(opts))
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return newHost(conn), nil
}

func connect(ctx context.Context, o options) (wire.Conn, error) {
	if o.conn != nil {
		return o.conn, nil
	}
	if o.url == "" {
		return nil, errors.New("no server; set METASIM_SERVER, or use WithServer")
	}
	return dial(ctx, o)
}

func newHost(conn wire.Conn) *Host {
	h := &Host{conn: conn, done: make(chan struct{}), met: acquaintances{peer: conn.Peer()}, inboxes: map[uint32]*inbox{}}
	h.room.L = &h.mu
	if direct, ok := conn.(wire.Direct); ok {
		h.direct = true
		close(h.done)
		direct.Receive(func(packets []wire.Packet, err error) {
			if err = cmp.Or(h.hand(packets), err); err != nil {
				h.end(err)
			}
		})
		return h
	}
	go h.read()
	return h
}

// newOwn is a host for one client alone. In a crew it must not read itself, as that would block its worker.
func newOwn(conn wire.Conn, s *seat) *Host {
	prompt, ok := conn.(wire.Prompt)
	if !ok || s != nil {
		return newHost(conn)
	}
	h := &Host{conn: conn, own: prompt, done: make(chan struct{})}
	close(h.done)
	return h
}

// Close drops the connection. Clients on it that have not left count as crashed.
func (h *Host) Close() error {
	err := h.conn.Close()
	if len(h.crews()) == 0 { // else it may be the reader that calls, on behalf of a client of a crew
		<-h.done
	}
	h.end(net.ErrClosed)
	return err
}

// join gives a client a place on the connection. Where that has ended, the inbox says so.
func (h *Host) join(s *seat) (uint32, mail) {
	if h.own != nil {
		return 0, &ownMail{conn: h.own, known: acquaintances{peer: h.conn.Peer()}}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	number, in := h.next, newInbox(s, s != nil && (s.crew.served || !h.direct))
	h.next++
	h.inboxes[number] = in
	if s != nil && !slices.Contains(h.manned, s.crew) {
		h.manned = append(slices.Clip(h.manned), s.crew) // the reader may be looking at it
	}
	if h.err != nil {
		in.close(h.err)
	}
	return number, in
}

// leave gives the place up.
func (h *Host) leave(number uint32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.inboxes, number)
}

// read hands on what comes, until nothing comes any more.
func (h *Host) read() {
	defer close(h.done)
	for {
		packets, err := h.conn.Read()
		if err = cmp.Or(h.hand(packets), err); err != nil {
			h.end(err)
		}
		for _, w := range h.crews() {
			w.assist(true) // also at the end: some were brought something before it
		}
		if err != nil {
			return
		}
	}
}

// hand gives packets to the clients that they are for: all that are for one at once. What is for one who has left is
// looked through all the same, as an introduction is for all.
func (h *Host) hand(packets []wire.Packet) error {
	for len(packets) > 0 {
		n := 1
		for n < len(packets) && packets[n].Member == packets[0].Member {
			n++
		}
		var err error
		if in := h.inbox(packets[0].Member); in != nil {
			err = in.put(packets[:n], &h.met)
		} else {
			err = new(news).add(packets[:n], &h.met)
		}
		if err != nil {
			return err
		}
		packets = packets[n:]
	}
	return nil
}

// crews returns the crews that have clients on the connection.
func (h *Host) crews() []*Crew {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.manned
}

func (h *Host) inbox(number uint32) *inbox {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.inboxes[number]
}

// end tells all clients that nothing comes any more.
func (h *Host) end(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return
	}
	h.err = err
	for _, in := range h.inboxes {
		in.close(err)
	}
}

// write sends a client's packets, of which it keeps nothing. Who comes while another writes leaves them to him: they
// share the next write. In a crew s is the client's seat: those who can go on share the next write.
func (h *Host) write(packets []wire.Packet, s *seat) error {
	if h.direct || h.own != nil {
		return h.conn.Write(packets)
	}
	h.mu.Lock()
	for len(h.out) >= maxPending && h.broken == nil && s == nil {
		h.room.Wait()
	}
	first := len(h.out) == 0
	var err error
	h.out, err = h.encoder.AppendFrames(h.out, packets)
	much := len(h.out) >= maxPending
	err = errors.Join(err, h.broken)
	h.mu.Unlock()
	switch {
	case err != nil || s != nil && !first && !much:
		return err
	case s != nil && !much:
		s.crew.send(h)
		return nil
	}
	return h.writeOut()
}

// writeOut writes what is there, unless somebody does.
func (h *Host) writeOut() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.writing {
		return h.broken
	}
	h.writing = true
	for len(h.out) > 0 && h.broken == nil {
		batch := h.out
		h.out = h.written[:0]
		h.room.Broadcast()
		h.mu.Unlock()
		err := h.conn.WriteFrames(batch)
		h.mu.Lock()
		h.written = batch
		if err != nil {
			h.broken = err
			h.room.Broadcast()
		}
	}
	h.writing = false
	if cap(h.written) > maxPending { // a burst is not held on to
		h.written = nil
	}
	return h.broken
}
