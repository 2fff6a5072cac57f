package relay

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"metasim/metasim"
	"metasim/wire"
)

// connected takes a connection to the server. The caller has r.mu.
func (r *Relay) connected(conn wire.Conn) {
	f := &far{relay: r, conn: conn, out: newOutbox(conn, true, r.goroutines.Go), members: map[uint32]*member{}, names: map[metasim.ClientID]string{}}
	r.far = f
	r.goroutines.Go(f.read)
	r.config.Log.Info("connected", "server", conn.Peer())
}

// read is the reader of the far connection. It waits for no client.
func (f *far) read() {
	for {
		packets, err := f.conn.Read()
		f.sort(packets)
		for _, l := range f.touched {
			if l.out.put(l.batch) != nil {
				f.relay.goroutines.Go(func() { _ = l.conn.Close() }) // its reader does the rest
			}
			if l.refused {
				l.out.close()
			}
			clear(l.batch)
			l.batch = l.batch[:0]
		}
		clear(f.touched)
		f.touched = f.touched[:0]
		if err != nil {
			f.ended(err)
			return
		}
	}
}

// sort puts each packet into the batch of the connection that it is for.
func (f *far) sort(packets []wire.Packet) {
	f.relay.mu.Lock()
	defer f.relay.mu.Unlock()
	for _, p := range packets {
		if in, ok := p.Body.(wire.Introduce); ok {
			f.names[in.Client] = in.Name
			continue
		}
		m := f.members[p.Member]
		if m == nil {
			if refuse, ok := p.Body.(wire.Refuse); ok {
				f.said = refuse.Text
			}
			continue
		}
		l := m.local
		if len(l.batch) == 0 {
			f.touched = append(f.touched, l)
		}
		switch body := p.Body.(type) {
		case wire.Welcome:
			f.joined, m.joined, m.patience = true, true, body.Patience
			l.welcomed()
		case *metasim.Deliver:
			f.introduce(l, body.Message.From)
		case wire.Refuse:
			if m.joined && (body.Reason == wire.RunFailed || body.Reason == wire.RuleBroken) {
				f.failed = cmp.Or(f.failed, body.Text)
			}
			f.over(m)
		case wire.Goodbye:
			f.over(m)
		}
		p.Member = m.number
		l.batch = append(l.batch, p)
	}
	for _, l := range f.touched {
		// Of several clients on a connection one may be refused and another let in.
		l.refused = l.visitor != nil && !slices.ContainsFunc(slices.Collect(maps.Values(l.members)), func(m *member) bool { return !m.done })
	}
}

func byName(a, b *member) int { return cmp.Compare(a.name, b.name) }

// over takes that a member was told its last message.
func (f *far) over(m *member) {
	m.done = true
	delete(f.members, m.far)
}

// introduce tells a connection the name of a sender, unless it knows it. The server has told the relay once.
func (f *far) introduce(l *local, from metasim.ClientID) {
	if _, known := l.introduced[from]; known {
		return
	}
	if name, told := f.names[from]; told {
		l.introduced[from] = struct{}{}
		l.batch = append(l.batch, wire.Packet{Body: wire.Introduce{Client: from, Name: name}})
	}
}

// ended takes the end of the far connection. Where a client has joined, the run is over for this host, unless clients come back to a server that is resumed. Where none has
// joined, the next client may try again.
func (f *far) ended(err error) {
	r := f.relay
	r.mu.Lock()
	var cause error
	switch r.far = nil; {
	case len(f.members) > 0 || !errors.Is(err, io.EOF):
		cause = fmt.Errorf("the relay %s has lost the server: the connection %s", r.config.Name, how(err))
		if f.said != "" {
			cause = fmt.Errorf("%w; the server said: %s", cause, f.said)
		}
	case f.failed != "":
		cause = errors.New(f.failed)
	}
	patience := f.release(cause)
	f.end(cause)
	r.mu.Unlock()
	if patience > 0 {
		r.config.Log.Warn("the server was lost, and clients wait for metasim resume", "for", patience, "cause", cause)
		r.await(patience, cause)
	} else if f.joined {
		r.end(cause)
	} else if cause != nil {
		r.config.Log.Warn("connection to the server lost", "cause", cause)
	}
}

// release closes the connections of the clients that come back to a server that is resumed: that tells them, and they say Hello again. It returns for how long they wait;
// 0: there are none. The caller has r.mu.
func (f *far) release(why error) (patience time.Duration) {
	for _, m := range slices.SortedFunc(maps.Values(f.members), byName) {
		if m.patience == 0 || why == nil {
			continue
		}
		patience = max(patience, time.Duration(m.patience))
		m.done = true
		delete(f.members, m.far)
		m.local.out.close()
	}
	return patience
}

// await ends the relay if no client has come back to a server that was resumed.
func (r *Relay) await(patience time.Duration, why error) {
	r.mu.Lock()
	r.lives++
	life := r.lives
	r.mu.Unlock()
	time.AfterFunc(patience, func() {
		r.mu.Lock()
		lost := r.far == nil && r.lives == life
		r.mu.Unlock()
		if lost {
			r.end(fmt.Errorf("%w; it was not resumed within %v", why, patience))
		}
	})
}

// end tells the clients of the connection that nothing comes any more, and the server that they are gone, and closes the connection. The
// caller has r.mu.
func (f *far) end(why error) {
	var packets []wire.Packet
	// In order of name, so that the server names the same one first each time.
	for _, m := range slices.SortedFunc(maps.Values(f.members), byName) {
		if !m.last {
			packets = append(packets, wire.Packet{Member: m.far, Body: wire.Failed{Reason: why.Error(), Gone: true}})
		}
		m.done = true
		m.local.out.refuse(m.number, wire.RunFailed, why)
	}
	clear(f.members)
	f.relay.goroutines.Go(func() {
		_ = f.out.put(packets) // the server learns of the end in any case
		f.out.close()
	})
}

// end ends the relay, with what its clients are told. The first end counts.
func (r *Relay) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended() {
		return
	}
	r.err = err
	close(r.over)
	if r.far != nil {
		r.far.end(err)
	}
	for l := range r.locals {
		l.out.close()
	}
}
