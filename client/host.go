package client

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"

	"metasim/client/internal/sched"
	"metasim/wire"
	"metasim/wire/session"
)

// maxPending: when more bytes than this wait to be written, the clients that add to them wait.
const maxPending = 256 << 10

// minFrames is how much memory for frames a connection always keeps, in bytes.
const minFrames = 1 << 10

func newHost(conn wire.Conn) *Host {
	h := &Host{conn: conn, done: make(chan struct{}), names: session.Names{Peer: conn.Peer()}, inboxes: map[uint32]*sharedInbox{}}
	h.room.L = &h.mu
	h.writeLater = h.writeOut
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

// newOwnHost is a host for one client alone. With a task it must not read itself, as that would block the task's worker.
func newOwnHost(conn wire.Conn, task *sched.Task) *Host {
	prompt, ok := conn.(wire.Prompt)
	if !ok || task != nil {
		return newHost(conn)
	}
	h := &Host{conn: conn, own: prompt, done: make(chan struct{})}
	close(h.done)
	return h
}

// Close drops the connection. Clients on it that have not left count as crashed.
func (h *Host) Close() error {
	if h.lineage == nil {
		return h.drop()
	}
	l := h.lineage
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return l.last.drop()
}

// isClosed reports whether the host was closed by its owner: then its clients do not come back.
func (h *Host) isClosed() bool {
	if h.lineage == nil {
		return false
	}
	h.lineage.mu.Lock()
	defer h.lineage.mu.Unlock()
	return h.lineage.closed
}

// latest is the host that new clients join.
func (h *Host) latest() *Host {
	if h.lineage == nil {
		return h
	}
	h.lineage.mu.Lock()
	defer h.lineage.mu.Unlock()
	return h.lineage.last
}

// successor returns the host that follows one whose server was lost. Of those who ask for it one dials, and the others wait for how that ends.
func (h *Host) successor(ctx context.Context) (*Host, error) {
	l := h.lineage
	before := l.dials.Load()
	l.dialing.Lock()
	defer l.dialing.Unlock()
	if last := h.latest(); last != h {
		return last, nil
	}
	if l.dials.Load() > before {
		return nil, l.failed
	}
	conn, err := l.dial(ctx)
	if err != nil {
		l.failed = err
		l.dials.Add(1)
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	l.last = newHost(conn)
	l.last.lineage = l
	return l.last, nil
}

// drop closes the connection.
func (h *Host) drop() error {
	err := h.conn.Close()
	if len(h.scheduled()) == 0 { // otherwise it may be the reader that calls, on behalf of a task
		<-h.done
	}
	h.end(net.ErrClosed)
	return err
}

// join adds a client to the connection. If that has ended, the inbox says so.
func (h *Host) join(task *sched.Task) (uint32, inbox) {
	if h.own != nil {
		return 0, &ownInbox{conn: h.own, names: session.Names{Peer: h.conn.Peer()}}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	number, in := h.next, newSharedInbox(task, task != nil && (task.Scheduler.Assisted || !h.direct))
	h.next++
	h.inboxes[number] = in
	if task != nil && !slices.Contains(h.schedulers, task.Scheduler) {
		h.schedulers = append(slices.Clip(h.schedulers), task.Scheduler) // the reader may be looking at it
	}
	if h.err != nil {
		in.close(h.err)
	}
	return number, in
}

// encodes reports whether a write copies the payloads. Inside one process the peer gets the payloads themselves.
func (h *Host) encodes() bool {
	_, direct := h.conn.(wire.Direct)
	return !direct
}

// leave removes a client from the connection.
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
		for _, s := range h.scheduled() {
			s.Assist(true) // also after an error: packets may have come before it
		}
		if err != nil {
			return
		}
	}
}

// hand gives packets to the clients that they are for: all that are for one at once. What is for a client that has left
// is looked through all the same, as an introduction is for all.
func (h *Host) hand(packets []wire.Packet) error {
	for len(packets) > 0 {
		n := 1
		for n < len(packets) && packets[n].Member == packets[0].Member {
			n++
		}
		var err error
		if in := h.inbox(packets[0].Member); in != nil {
			err = in.put(packets[:n], &h.names)
		} else {
			err = new(session.Inbound).Add(packets[:n], &h.names)
		}
		if err != nil {
			return err
		}
		packets = packets[n:]
	}
	return nil
}

// scheduled returns the schedulers that have clients on the connection.
func (h *Host) scheduled() []*sched.Scheduler {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.schedulers
}

func (h *Host) inbox(number uint32) *sharedInbox {
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

// write sends a client's packets, of which it keeps nothing. While a goroutine writes, it also writes what others bring:
// they share the next write. With a task the tasks that can go on share the next write.
func (h *Host) write(packets []wire.Packet, task *sched.Task) error {
	if h.direct || h.own != nil {
		return h.conn.Write(packets)
	}
	h.mu.Lock()
	for h.frames.Len() >= maxPending && h.broken == nil && task == nil {
		h.room.Wait()
	}
	first := h.frames.Len() == 0
	err := h.encoder.Append(&h.frames, packets)
	much := h.frames.Len() >= maxPending
	err = errors.Join(err, h.broken)
	h.mu.Unlock()
	switch {
	case err != nil || task != nil && !first && !much:
		return err
	case task != nil && !much:
		task.Scheduler.WriteLater(h.writeLater)
		return nil
	}
	return h.writeOut()
}

// writeOut writes what is there, unless another goroutine does.
func (h *Host) writeOut() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.writing {
		return h.broken
	}
	h.writing = true
	for h.frames.Len() > 0 && h.broken == nil {
		h.written, h.frames = h.frames, h.written
		h.room.Broadcast()
		h.mu.Unlock()
		err := h.written.WriteAll(h.conn)
		h.mu.Lock()
		h.written.Reuse(&h.use, minFrames, maxPending) // the memory of a burst is given back
		if err != nil {
			h.broken = err
			h.room.Broadcast()
		}
	}
	h.writing = false
	return h.broken
}

// NewScheduler returns a scheduler without clients.
func NewScheduler() *Scheduler { return &Scheduler{sched.New()} }

// Go runs f as a coroutine. It is given an option for Complete; f makes at most one client with it, and ends when that has
// ended.
func (s *Scheduler) Go(f func(scheduled Option)) {
	s.tasks.Go(func(t *sched.Task) { f(func(o *options) { o.task = t }) })
}

// Wait waits until all that was begun with Go has ended.
func (s *Scheduler) Wait() { s.tasks.Wait() }

// Served tells the scheduler that the server of its clients is in this process. The function that it returns is to be
// called, as server.Config.After, whenever clients may have got packets. If no worker is awake and canRun is true, the
// function resumes the clients on the caller's goroutine, so that no worker need be woken. It leaves clients that compute
// for long to the workers. Call Served before Go.
func (s *Scheduler) Served() (after func(canRun bool)) {
	s.tasks.Assisted = true
	return s.tasks.Assist
}
