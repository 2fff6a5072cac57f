package mem

import (
	"fmt"
	"io"
	"net"
	"sync"

	"metasim/metasim"
	"metasim/wire"
)

// full is how many bytes may lie unread before a Write waits; overhead is what a packet counts beside its payload.
const (
	full     = 1 << 20
	overhead = 64
)

// Pipe returns the two ends of a connection. The names tell each end who the other is.
func Pipe(clientName, serverName string) (client, server wire.Conn) {
	up, down := newPipe(), newPipe()
	client = &conn{in: down, out: up, peer: serverName}
	server = &conn{in: up, out: down, peer: clientName}
	return client, server
}

type conn struct {
	in, out *pipe
	peer    string
}

func (c *conn) Read() ([]wire.Packet, error) { return c.in.read() }

func (c *conn) Write(packets []wire.Packet) error {
	size := 0
	for _, p := range packets {
		if err := wire.Check(p); err != nil {
			return err
		}
		size += overhead + payloadSize(p.Body)
	}
	if err := c.out.write(packets, size); err != nil {
		return fmt.Errorf("wire: write to %s: %w", c.peer, err)
	}
	return nil
}

func (c *conn) Close() error {
	c.out.close(writerGone)
	c.in.close(readerGone)
	return nil
}

func (c *conn) Peer() string { return c.peer }

func payloadSize(body wire.Body) int {
	switch b := body.(type) {
	case metasim.Send:
		return len(b.Payload)
	case metasim.Deliver:
		return len(b.Message.Payload)
	case metasim.Leave:
		return len(b.Result)
	}
	return 0
}

// A pipe is one direction: one writer, one reader.
type pipe struct {
	mu      sync.Mutex
	changed sync.Cond
	packets []wire.Packet // written, unread
	size    int           // what they count
	taken   []wire.Packet // handed to the reader; its memory is used again
	gone    ends
}

// ends are the ends of a pipe that were closed.
type ends uint8

const (
	writerGone ends = 1 << iota
	readerGone
)

func newPipe() *pipe {
	p := &pipe{}
	p.changed.L = &p.mu
	return p
}

// read waits for packets and takes all that are there.
func (p *pipe) read() ([]wire.Packet, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.gone&readerGone != 0:
			return nil, net.ErrClosed
		case len(p.packets) > 0:
			clear(p.taken) // the last ones' payloads may go
			p.packets, p.taken, p.size = p.taken[:0], p.packets, 0
			p.changed.Broadcast()
			return p.taken, nil
		case p.gone&writerGone != 0:
			return nil, io.EOF
		}
		p.changed.Wait()
	}
}

// write waits for room, then adds all packets: the last write may go over what is full.
func (p *pipe) write(packets []wire.Packet, size int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.size >= full && p.gone == 0 {
		p.changed.Wait()
	}
	switch {
	case p.gone&writerGone != 0:
		return net.ErrClosed
	case p.gone != 0:
		return io.ErrClosedPipe
	}
	p.packets = append(p.packets, packets...)
	p.size += size
	p.changed.Broadcast()
	return nil
}

func (p *pipe) close(end ends) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone |= end
	if end == readerGone {
		p.packets, p.size = nil, 0
	}
	p.changed.Broadcast()
}
