package mem

import (
	"bytes"
	"errors"
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

// WriteFrames implements wire.Conn. Inside a process nobody needs it: it is here for the sake of completeness.
func (c *conn) WriteFrames(frames []byte) error {
	r := wire.NewReader(bytes.NewReader(frames), c.peer)
	for {
		packets, err := r.Read()
		if errors.Is(err, io.EOF) {
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
	c.out.close(writerGone)
	c.in.close(readerGone)
	return nil
}

func (c *conn) Peer() string { return c.peer }

// Traffic implements wire.Conn. It waits for nobody.
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
	packets []wire.Packet // written, unread
	size    int           // what they count
	taken   []wire.Packet // handed to the reader; its memory is used again
	gone    ends
	writes  uint64 // that were taken
	bytes   uint64 // of the payloads in them

	handing sync.Mutex // held by who writes, or calls sink, so that calls are in order
	opening bool       // sink is about to be set: nobody waits for room any more
	sink    func([]wire.Packet, error)
	told    bool // sink was told of the end
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

// write waits for room, then adds all packets: the last write may go over what is full. Where there is a sink it takes
// them at once.
func (p *pipe) write(packets []wire.Packet, size int) error {
	p.handing.Lock()
	defer p.handing.Unlock()
	p.mu.Lock()
	for p.size >= full && p.gone == 0 && !p.opening {
		p.changed.Wait()
	}
	sink := p.sink
	var err error
	switch {
	case p.gone&writerGone != 0:
		err = net.ErrClosed
	case p.gone != 0:
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

// total returns how many writes were taken, and the bytes of their payloads.
func (p *pipe) total() (writes, bytes uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writes, p.bytes
}

// receive sets the sink, and gives it what is there.
func (p *pipe) receive(sink func([]wire.Packet, error)) {
	p.mu.Lock()
	p.opening = true
	p.changed.Broadcast() // a write that waits for room holds the lock that is taken next
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

// tell tells the sink, once, that the writer has gone. The caller holds handing.
func (p *pipe) tell() {
	p.mu.Lock()
	due := p.sink != nil && !p.told && p.gone == writerGone
	p.told = p.told || due
	p.mu.Unlock()
	if due {
		p.sink(nil, io.EOF)
	}
}

// close ends the pipe from one of its ends. A sink hears of it after all that was written.
func (p *pipe) close(end ends) {
	p.mu.Lock()
	p.gone |= end
	if end == readerGone {
		p.packets, p.size = nil, 0
	}
	p.changed.Broadcast()
	p.mu.Unlock()
	if end == writerGone {
		p.handing.Lock()
		defer p.handing.Unlock()
		p.tell()
	}
}
