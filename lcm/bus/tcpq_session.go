package bus

import (
	"bufio"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	helloTime  = 10 * time.Second       // for a peer to say hello
	idleTime   = 500 * time.Millisecond // for a peer to take something, once the bus is closed
	lingerTime = 5 * time.Second        // for a peer to take all, once the bus is closed
	writeSize  = 1 << 16                // bytes put into one write, about
)

// A session is one connection of tcpq. A goroutine of its own writes what waits for the peer, so that one who does not
// read holds up nobody.
type session struct {
	conn   net.Conn
	out    *queue[[]byte]
	ending atomic.Pointer[time.Time] // when the bus was closed

	mu       sync.Mutex
	patterns []*pattern // what the peer subscribes to
}

func newSession(conn net.Conn, limit int) *session {
	return &session{conn: conn, out: newQueue[[]byte](limit)}
}

// put gives the peer a frame, which must not change any more, if there is room.
func (s *session) put(frame []byte) bool { return s.out.put(frame, frameCost+len(frame)) }

// frameCost is what a waiting frame costs beside its bytes, about.
const frameCost = 48

// write writes what is put, until the queue is closed and empty or the peer is gone. The hello is written first.
func (s *session) write(hello []byte) error {
	if _, err := s.conn.Write(hello); err != nil {
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
			s.hurry()
			frames := net.Buffers(batch)
			if _, err := frames.WriteTo(s.conn); err != nil {
				return err
			}
			clear(batch)
		}
	}
	return nil
}

// hurry bounds the next write once the bus is closed. A connection on which no bound can be set is broken: the write says so.
func (s *session) hurry() {
	if end := s.ending.Load(); end != nil {
		_ = s.conn.SetWriteDeadline(earlier(time.Now().Add(idleTime), end.Add(lingerTime)))
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// end lets the peer take what waits for it, for a moment.
func (s *session) end() {
	now := time.Now()
	s.ending.Store(&now)
	s.hurry()
	s.out.close()
	time.AfterFunc(lingerTime, s.cut)
}

// half tells the peer that nothing more comes, and waits for its end: closing what has bytes that nobody read would take
// from the peer what it has not read yet.
func (s *session) half() {
	c, ok := s.conn.(*net.TCPConn)
	if !ok || c.CloseWrite() != nil || c.SetReadDeadline(time.Now().Add(idleTime)) != nil {
		s.cut()
	}
}

// cut ends the session at once.
func (s *session) cut() {
	s.out.close()
	_ = s.conn.Close() // nothing is to be saved of it
}

// read reads the other side's hello, and then its frames until it ends or take fails.
func (s *session) read(magic uint32, most int, take func(*frame) error) error {
	if err := s.conn.SetReadDeadline(time.Now().Add(helloTime)); err != nil {
		return err
	}
	in := bufio.NewReaderSize(s.conn, 1<<16)
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
