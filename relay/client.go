package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport"
)

// take takes in a connection. It reports false when the relay has ended.
func (r *Relay) take(conn wire.Conn, private bool) bool {
	l := &local{relay: r, conn: conn, out: newOutbox(conn, false, r.goroutines.Go), members: map[uint32]*member{}, introduced: map[metasim.ClientID]struct{}{}}
	if !private && !l.visits() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended() {
		return false
	}
	r.locals[l] = struct{}{}
	r.goroutines.Go(l.read)
	return true
}

// read is the reader of one connection. It waits while the far connection is full, and so, through the transport, does the client.
func (l *local) read() {
	for {
		packets, err := l.conn.Read()
		if e := l.pass(packets); err == nil {
			err = e
		}
		if err != nil {
			l.lost(err)
			return
		}
	}
}

// pass passes packets on to the server. It returns why the connection is to end, nil if it goes on.
func (l *local) pass(packets []wire.Packet) error {
	r := l.relay
	for _, p := range packets {
		if h, ok := p.Body.(wire.Hello); ok {
			if err := r.reach(h.Token); err != nil {
				if h.Back == nil || !transport.Unanswered(err) { // else it tries again until the server is resumed
					l.out.refuse(p.Member, wire.RunFailed, err)
				}
				return err
			}
		}
	}
	far, err := l.renumber(packets)
	if far != nil {
		_ = far.out.put(l.packets) // its reader learns of an error, and tells everybody
	}
	clear(l.packets)
	return err
}

// renumber leaves in l.packets what goes on to the far connection.
func (l *local) renumber(packets []wire.Packet) (*far, error) {
	r := l.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	l.packets = l.packets[:0]
	for _, p := range packets {
		m := l.members[p.Member]
		if hello, ok := p.Body.(wire.Hello); ok && m == nil && r.far != nil {
			m = &member{local: l, name: hello.Name, number: p.Member, far: r.next}
			r.next++
			l.members[m.number], r.far.members[m.far] = m, m
			hello.Relay, hello.Minor = r.config.Name, min(hello.Minor, wire.Minor) // what the server says the relay has to know too
			p.Body = hello
		} else if m == nil {
			err := fmt.Errorf("member %d sent a %s before its Hello; say Hello first", p.Member, wire.NameOf(p.Body))
			l.out.refuse(p.Member, wire.BadMessage, err)
			return r.far, err
		}
		if m.last || m.done {
			continue
		}
		switch p.Body.(type) {
		case *metasim.Leave, wire.Failed:
			m.last = true
		}
		p.Member = m.far
		l.packets = append(l.packets, p)
	}
	return r.far, nil
}

// reach sees to it that there is a far connection. Who waited while a dial failed does not dial again, unless a token of its own may help.
func (r *Relay) reach(token string) error {
	r.mu.Lock()
	before := r.dials
	r.mu.Unlock()
	r.dialing <- struct{}{}
	defer func() { <-r.dialing }()
	r.mu.Lock()
	there, waited, last := r.far != nil, r.dials > before, r.dialed
	r.mu.Unlock()
	if there {
		return nil
	}
	if waited && last.err != nil && (last.token == token || transport.Unanswered(last.err)) {
		return last.err
	}
	err := r.dial(token)
	r.mu.Lock()
	r.dials++
	r.dialed = dialed{token, err}
	r.mu.Unlock()
	return err
}

// dial opens the far connection.
func (r *Relay) dial(token string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-r.over:
			cancel()
		case <-ctx.Done():
		}
	}()
	conn, err := r.config.Dial(ctx, r.config.Server, token)
	if err != nil {
		err = fmt.Errorf("the relay %s cannot reach the server: %w", r.config.Name, err)
		r.config.Log.Warn("cannot connect to the server", "cause", err)
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended() {
		return errors.Join(fmt.Errorf("the relay %s has ended", r.config.Name), conn.Close())
	}
	r.connected(conn)
	return nil
}

// lost takes the end of a connection: the server is told of each client on it that has not said its last message.
func (l *local) lost(err error) {
	r := l.relay
	if broken := l.out.broken(); broken != nil {
		err = broken
	}
	malformed := new(wire.ProtocolError)
	wrong := errors.As(err, &malformed) && !errors.Is(err, io.ErrUnexpectedEOF)
	reason := fmt.Sprintf("its connection to the relay %s %s", r.config.Name, how(err))
	r.mu.Lock()
	delete(r.locals, l)
	far := r.far
	l.packets = l.packets[:0]
	for _, m := range slices.SortedFunc(maps.Values(l.members), byName) {
		if m.done {
			continue
		}
		if wrong {
			l.out.refuse(m.number, wire.BadMessage, malformed)
		}
		if m.done = true; far != nil {
			delete(far.members, m.far)
		}
		if !m.last {
			l.packets = append(l.packets, wire.Packet{Member: m.far, Body: wire.Failed{Reason: reason, Gone: true}})
			r.config.Log.Warn("client lost", "client", m.name, "cause", reason)
		}
	}
	visitor := l.visitor
	r.mu.Unlock()
	if visitor != nil {
		visitor()
	}
	if far != nil {
		_ = far.out.put(l.packets) // its reader learns of an error
	}
	l.out.close()
}
