package bus

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"metasim/lcm"
)

const (
	helloTime  = 10 * time.Second       // for the first bytes of a peer
	idleTime   = 500 * time.Millisecond // for a peer to read or to send something, after the bus was closed
	lingerTime = 5 * time.Second        // for a peer to read everything, after the bus was closed
	stayTime   = 500 * time.Millisecond // for a program to do something with the last message
	looks      = 10                     // parts of idleTime: while this process stands still, only one of them passes
	writeSize  = 1 << 16                // about how many bytes one write has
)

const (
	clientMagic = 0x287617fb
	serverMagic = 0x287617fa
	tcpqVersion = 0x0100

	framePublish     = 1
	frameSubscribe   = 2
	frameUnsubscribe = 3
)

// A session is one connection of tcpq. A goroutine of its own writes to the peer, so that a peer that does not read delays no
// other.
type session struct {
	conn     net.Conn
	out      *queue[[]byte]
	ending   atomic.Bool // the bus was closed
	written  atomic.Bool // all is written: the peer is expected to close
	over     chan struct{}
	once     sync.Once // closes over
	patterns patterns  // the subscriptions of the peer of a server, which guards them
}

func newSession(conn net.Conn, limit int) *session {
	return &session{conn: conn, out: newQueue[[]byte](limit), over: make(chan struct{})}
}

// put queues a frame, which must not change any more, if there is room.
func (s *session) put(frame []byte) bool { return s.out.put(frame, frameCost+len(frame)) }

// frameCost is about what a queued frame takes beside its bytes.
const frameCost = 48

// write writes the hello and then the queued frames, until the queue is closed and empty or the connection ends. After the last frame
// the connection stays open for a time: lcm-logger drops what it has not written into its log when it sees the end, and no message
// of the protocol says what a program has done.
func (s *session) write(magic uint32, stay time.Duration) error {
	err := s.writeFrames(magic)
	if err != nil {
		s.cut()
		return err
	}
	select {
	case <-time.After(stay):
	case <-s.over:
	}
	s.closeWrite()
	return nil
}

func (s *session) writeFrames(magic uint32) error {
	if _, err := s.conn.Write(appendHello(nil, magic)); err != nil {
		return err
	}
	var batch [][]byte
	for range s.out.ready {
		for {
			var open bool
			if batch, open = s.out.take(batch[:0], writeSize); !open {
				return nil
			}
			if len(batch) == 0 {
				break
			}
			if err := s.writeAll(batch); err != nil {
				return err
			}
			clear(batch)
		}
	}
	return nil
}

// writeAll writes frames. After the end of the bus it fails if the peer reads nothing for idleTime.
func (s *session) writeAll(frames net.Buffers) error {
	for look := 0; ; look++ {
		if s.ending.Load() {
			_ = s.conn.SetWriteDeadline(soon()) // fails only on a broken connection, where the write fails too
		}
		n, err := frames.WriteTo(s.conn)
		if n > 0 {
			look = 0
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || look == looks {
			return err
		}
	}
}

// Read reads from the peer. After closeWrite it fails if the peer sends nothing for idleTime.
func (s *session) Read(b []byte) (n int, err error) {
	for range looks {
		if n, err = s.conn.Read(b); n > 0 || !s.written.Load() || !errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		_ = s.conn.SetReadDeadline(soon()) // fails only on a broken connection, where the read fails too
	}
	return n, err
}

// soon is the time of the next look.
func soon() time.Time { return time.Now().Add(idleTime / looks) }

// end closes the session when the peer has read what is queued, or lingerTime is over.
func (s *session) end() {
	s.ending.Store(true)
	_ = s.conn.SetWriteDeadline(soon()) // fails only on a broken connection, where the write fails too
	s.out.close()
	time.AfterFunc(lingerTime, s.cut)
}

// closeWrite ends the direction to the peer alone. Then the peer closes, and read ends. A peer that still sends is waited for: to
// close a connection with unread input would drop what the peer has not read yet.
func (s *session) closeWrite() {
	s.written.Store(true)
	c, ok := s.conn.(*net.TCPConn)
	if !ok || c.CloseWrite() != nil || c.SetReadDeadline(soon()) != nil {
		s.cut()
	}
}

// cut ends the session at once.
func (s *session) cut() {
	s.once.Do(func() { close(s.over) })
	s.out.close()
	_ = s.conn.Close() // its error does not matter
}

// read reads the hello of the other side, and then its frames until the connection ends or take fails.
func (s *session) read(magic uint32, most int, take func(*frame) error) error {
	if err := s.conn.SetReadDeadline(time.Now().Add(helloTime)); err != nil {
		return err
	}
	in := bufio.NewReaderSize(s, 1<<16)
	if err := readHello(in, magic); err != nil {
		return err
	}
	if err := s.conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	for {
		f, err := readFrame(in, most)
		if err != nil {
			return err
		}
		if err := take(&f); err != nil {
			return err
		}
	}
}

// errNotLCM is the error of a peer that uses another protocol.
var errNotLCM = errors.New("this is not LCM's tcpq")

// appendHello appends the first bytes of a side.
func appendHello(b []byte, magic uint32) []byte {
	b = binary.BigEndian.AppendUint32(b, magic)
	return binary.BigEndian.AppendUint32(b, tcpqVersion)
}

// readHello reads the first bytes of the other side. It does not check the version: there is only one.
func readHello(r io.Reader, magic uint32) error {
	var b [8]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return err
	}
	if got := binary.BigEndian.Uint32(b[:]); got != magic {
		return fmt.Errorf("%w: it begins with %#08x and not with %#08x", errNotLCM, got, magic)
	}
	return nil
}

// newPublish returns the frame of a message.
func newPublish(m *Message) []byte {
	b := appendText(make([]byte, 0, 12+len(m.Channel)+len(m.Payload)), framePublish, m.Channel)
	b = binary.BigEndian.AppendUint32(b, uint32(len(m.Payload)))
	return append(b, m.Payload...)
}

// appendText appends a frame of a text, or the first part of a publish.
func appendText(b []byte, kind uint32, text string) []byte {
	b = binary.BigEndian.AppendUint32(b, kind)
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	return append(b, text...)
}

// A frame is a frame that was received.
type frame struct {
	kind    uint32
	text    string // the channel, or the pattern
	payload []byte
	dropped bool // the payload was too large, and was skipped
}

// readFrame reads a frame. It skips a payload of more than most bytes. It allocates for what comes, not for what is announced.
// Its error is io.EOF only between frames.
func readFrame(r *bufio.Reader, most int) (f frame, err error) {
	if f.kind, err = readUint32(r); err != nil {
		return f, err
	}
	if f.kind < framePublish || f.kind > frameUnsubscribe {
		return f, fmt.Errorf("%w: a frame of kind %d", errNotLCM, f.kind)
	}
	if err = f.readRest(r, most); errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return f, err
}

// readRest reads what comes behind the kind.
func (f *frame) readRest(r io.Reader, most int) error {
	n, err := readUint32(r)
	if err != nil {
		return err
	}
	if n > maxPattern {
		return fmt.Errorf("%w: a name of %d bytes", errNotLCM, n)
	}
	text, err := readBytes(r, int(n))
	if f.text = string(text); err != nil || f.kind != framePublish {
		return err
	}
	if n, err = readUint32(r); err != nil {
		return err
	}
	switch {
	case n > lcm.MaxPayload:
		return fmt.Errorf("%w: a payload of %d bytes", errNotLCM, n)
	case int(n) > most:
		f.dropped = true
		_, err = io.CopyN(io.Discard, r, int64(n))
	default:
		f.payload, err = readBytes(r, int(n))
	}
	return err
}

func readUint32(r io.Reader) (uint32, error) {
	var b [4]byte
	_, err := io.ReadFull(r, b[:])
	return binary.BigEndian.Uint32(b[:]), err
}

// readBytes reads n bytes, in steps, so that a length alone does not cost much memory.
func readBytes(r io.Reader, n int) ([]byte, error) {
	const step = 1 << 16
	b := make([]byte, 0, min(n, step))
	for len(b) < n {
		have := len(b)
		if have == cap(b) {
			b = append(make([]byte, 0, min(n, 2*have)), b...)
		}
		b = b[:cap(b)]
		if _, err := io.ReadFull(r, b[have:]); err != nil {
			return nil, err
		}
	}
	return b, nil
}
