// Package mem is the transport inside one process: packets are handed over as they are and never become bytes.
//
// A Net connects clients to one server: it is the server's wire.Listener, and clients call its Dial. Pipe makes a single
// connection.
//
// # Duties of the caller
//
//  1. A payload that was written or read is not changed: writer and reader share it, and so do all recipients of a message.
//  2. Do not read the Client field of events: here it arrives as it was written, elsewhere as zero.
//
// # What is promised
//
// Packets are checked as on any other transport, so a program that runs in one process also runs over a network. A Write
// waits while a mebibyte is unread, like a socket whose buffer is full. What was written before a Close is still read.
package mem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"metasim/metasim"
	"metasim/wire"
)

// ErrRefused is the error of Dial after Close.
var ErrRefused = errors.New("nobody listens; start the server first")

// A Net connects clients to one server. Each Net is independent of others.
type Net struct {
	mu      sync.Mutex
	changed sync.Cond
	waiting []wire.Conn // dialed, not yet accepted
	dialed  int
	closed  bool
}

// NewNet returns a Net that is open: Dial does not wait for an Accept.
func NewNet() *Net {
	n := &Net{}
	n.changed.L = &n.mu
	return n
}

// Dial connects. It fails with ErrRefused after Close.
func (n *Net) Dial(ctx context.Context) (wire.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, ErrRefused
	}
	n.dialed++
	client, server := Pipe(fmt.Sprintf("mem client %d", n.dialed), "mem server")
	n.waiting = append(n.waiting, server)
	n.changed.Signal()
	return client, nil
}

// Accept waits for the next connection. It fails with net.ErrClosed after Close.
func (n *Net) Accept() (wire.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.waiting) == 0 && !n.closed {
		n.changed.Wait()
	}
	if n.closed {
		return nil, net.ErrClosed
	}
	conn := n.waiting[0]
	n.waiting = n.waiting[1:]
	return conn, nil
}

// Close stops listening and closes the connections that were not accepted. Accepted connections stay open.
func (n *Net) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	var errs []error
	for _, conn := range n.waiting {
		errs = append(errs, conn.Close())
	}
	n.waiting = nil
	n.changed.Broadcast()
	return errors.Join(errs...)
}

// URL is "mem:": no other program can use it.
func (n *Net) URL() string { return "mem:" }

const (
	full     = 1 << 20 // a Write waits while so many bytes are unread
	overhead = 64      // what a packet counts for, beside its payload, in bytes
)

// Pipe returns the two ends of a connection. Peer of each end returns the other's name.
func Pipe(clientName, serverName string) (client, server wire.Conn) {
	up, down := newPipe(), newPipe()
	client = &conn{in: down, out: up, peer: serverName}
	server = &conn{in: up, out: down, peer: clientName}
	return client, server
}

type conn struct {
	in, out *pipe
	peer    string

	decoding sync.Mutex // held during a WriteFrames
	begun    []byte     // a frame of which a part was written
}

func (c *conn) Read() ([]wire.Packet, error) { return c.in.read() }

// Receive implements wire.Direct.
func (c *conn) Receive(f func([]wire.Packet, error)) { c.in.receive(f) }

// Immediate implements wire.Direct.
func (c *conn) Immediate() bool {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	return c.out.sink != nil
}

func (c *conn) Write(packets []wire.Packet) error {
	size := 0
	for _, p := range packets {
		if err := wire.Check(p); err != nil {
			return err
		}
		size += overhead + payloadSize(p.Body)
	}
	if err := c.out.write(packets, size); err != nil {
		return fmt.Errorf("write to %s: %w", c.peer, err)
	}
	return nil
}

// WriteFrames implements wire.Conn. It decodes the frames and writes the packets.
func (c *conn) WriteFrames(frames []byte) error {
	c.decoding.Lock()
	defer c.decoding.Unlock()
	c.begun = append(c.begun, frames...)
	r := wire.NewReader(bytes.NewReader(c.begun), c.peer)
	for {
		packets, err := r.Read()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			_, whole := r.Taken()
			if c.begun = c.begun[:copy(c.begun, c.begun[whole:])]; len(c.begun) == 0 {
				c.begun = nil // it may have been large
			}
			return nil
		}
		if err == nil {
			err = c.Write(packets)
		}
		if err != nil {
			return err
		}
	}
}

func (c *conn) Close() error {
	c.out.close(writerClosed)
	c.in.close(readerClosed)
	return nil
}

func (c *conn) Peer() string { return c.peer }

// Traffic implements wire.Conn. It never waits.
func (c *conn) Traffic() (t wire.Traffic) {
	t.FramesIn, t.BytesIn = c.in.total()
	t.FramesOut, t.BytesOut = c.out.total()
	return t
}

func payloadSize(body wire.Body) int {
	switch b := body.(type) {
	case *metasim.Send:
		return len(b.Payload)
	case *metasim.Deliver:
		return len(b.Message.Payload)
	case *metasim.Leave:
		return len(b.Result)
	}
	return 0
}

// A pipe is one direction: one writer, one reader.
type pipe struct {
	mu      sync.Mutex
	changed sync.Cond
	packets []wire.Packet // written and unread
	size    int           // what packets count for, in bytes
	taken   []wire.Packet // lent to the reader; its memory is used again
	closed  ends
	writes  uint64 // accepted writes
	bytes   uint64 // of the payloads in them

	handing sync.Mutex // held during a write and a call of sink, so that the calls are in order
	opening bool       // sink is about to be set: a write no longer waits for room
	sink    func([]wire.Packet, error)
	told    bool // sink was called with the end
}

// ends are those ends of a pipe that were closed.
type ends uint8

const (
	writerClosed ends = 1 << iota
	readerClosed
)

func newPipe() *pipe {
	p := &pipe{}
	p.changed.L = &p.mu
	return p
}

// read waits for packets and returns all that are there.
func (p *pipe) read() ([]wire.Packet, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.closed&readerClosed != 0:
			return nil, net.ErrClosed
		case len(p.packets) > 0:
			clear(p.taken) // frees the payloads of the last read
			p.packets, p.taken, p.size = p.taken[:0], p.packets, 0
			p.changed.Broadcast()
			return p.taken, nil
		case p.closed&writerClosed != 0:
			return nil, io.EOF
		}
		p.changed.Wait()
	}
}

// write waits until fewer than full bytes are unread, then adds all packets. If there is a sink, it gets them at once.
func (p *pipe) write(packets []wire.Packet, size int) error {
	p.handing.Lock()
	defer p.handing.Unlock()
	p.mu.Lock()
	for p.size >= full && p.closed == 0 && !p.opening {
		p.changed.Wait()
	}
	sink := p.sink
	var err error
	switch {
	case p.closed&writerClosed != 0:
		err = net.ErrClosed
	case p.closed != 0:
		err = io.ErrClosedPipe
	case sink == nil:
		for _, packet := range packets {
			p.packets = append(p.packets, packet.Keep())
		}
		p.size += size
		p.changed.Broadcast()
	}
	if err == nil && len(packets) > 0 {
		p.writes++
		p.bytes += uint64(size - overhead*len(packets))
	}
	p.mu.Unlock()
	if err == nil && sink != nil {
		sink(packets, nil)
	}
	return err
}

// total returns the number of accepted writes, and the bytes of their payloads.
func (p *pipe) total() (writes, bytes uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writes, p.bytes
}

// receive sets the sink, and calls it with what is unread.
func (p *pipe) receive(sink func([]wire.Packet, error)) {
	p.mu.Lock()
	p.opening = true
	p.changed.Broadcast() // a write that waits for room holds handing
	p.mu.Unlock()
	p.handing.Lock()
	defer p.handing.Unlock()
	p.mu.Lock()
	p.sink = sink
	packets := p.packets
	p.packets, p.size = nil, 0
	p.mu.Unlock()
	if len(packets) > 0 {
		sink(packets, nil)
	}
	p.tell()
}

// tell calls the sink once when the writer has closed. The caller holds handing.
func (p *pipe) tell() {
	p.mu.Lock()
	due := p.sink != nil && !p.told && p.closed == writerClosed
	p.told = p.told || due
	p.mu.Unlock()
	if due {
		p.sink(nil, io.EOF)
	}
}

// close closes one end of the pipe. A sink is called with the end after all that was written.
func (p *pipe) close(end ends) {
	p.mu.Lock()
	p.closed |= end
	if end == readerClosed {
		p.packets, p.size = nil, 0
	}
	p.changed.Broadcast()
	p.mu.Unlock()
	if end == writerClosed {
		p.handing.Lock()
		defer p.handing.Unlock()
		p.tell()
	}
}
