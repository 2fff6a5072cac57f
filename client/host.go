package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"metasim/wire"
	"metasim/wire/dial"
)

// A Host is a connection that many clients of one process share: see WithHost. What they send at the same time goes out
// in one write, and what the server has for them comes in in one read, so a thousand clients cost little more than one.
//
// A Host may be used by many goroutines; each client on it by one.
type Host struct {
	conn wire.Conn
	done chan struct{} // closed when nothing is read any more
	met  acquaintances // the reader's

	mu      sync.Mutex
	inboxes map[uint32]*inbox
	next    uint32 // number of the next member
	err     error  // why nothing comes any more
	room    sync.Cond
	out     []wire.Packet // to be written
	written []wire.Packet // memory of the write before
	writing bool          // somebody writes; he writes what is put meanwhile, too
	broken  error         // why nothing can be written any more
}

// maxPending is how many packets may wait to be written before those who add to them wait.
const maxPending = 4096

// Connect connects a Host to the server. The options say where it is, as those of Complete do.
func Connect(ctx context.Context, opts ...Option) (*Host, error) {
	h, err := connect(ctx, gather(opts))
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return h, nil
}

func connect(ctx context.Context, o options) (*Host, error) {
	if o.conn != nil {
		return newHost(o.conn), nil
	}
	if o.url == "" {
		return nil, errors.New("no server; set METASIM_SERVER, or use WithServer")
	}
	conn, err := dial.URL(ctx, o.url)
	if err != nil {
		return nil, err
	}
	return newHost(conn), nil
}

func newHost(conn wire.Conn) *Host {
	h := &Host{conn: conn, done: make(chan struct{}), met: acquaintances{peer: conn.Peer()}, inboxes: map[uint32]*inbox{}}
	h.room.L = &h.mu
	if direct, ok := conn.(wire.Direct); ok {
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

// Close drops the connection. Clients on it that have not left count as crashed.
func (h *Host) Close() error {
	err := h.conn.Close()
	<-h.done
	h.end(net.ErrClosed)
	return err
}

// join gives a client a place on the connection. Where that has ended, the inbox says so.
func (h *Host) join() (uint32, *inbox) {
	h.mu.Lock()
	defer h.mu.Unlock()
	number, in := h.next, newInbox()
	h.next++
	h.inboxes[number] = in
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

// write sends a client's packets. Who comes while another writes leaves them to him: they share the next write.
func (h *Host) write(number uint32, packets []wire.Packet) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.out) >= maxPending && h.broken == nil {
		h.room.Wait()
	}
	for _, p := range packets {
		p.Member = number
		h.out = append(h.out, p)
	}
	if h.writing {
		return h.broken
	}
	h.writing = true
	for len(h.out) > 0 && h.broken == nil {
		batch := h.out
		h.out = h.written[:0]
		h.room.Broadcast()
		h.mu.Unlock()
		err := h.conn.Write(batch)
		clear(batch)
		h.mu.Lock()
		h.written = batch
		if err != nil {
			h.broken = err
			h.room.Broadcast()
		}
	}
	h.writing = false
	return h.broken
}
