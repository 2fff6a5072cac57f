package bus

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/net/ipv4"
)

const (
	// atOnce is how many datagrams are collected before they are given to the system.
	atOnce = 256
	// sendTime is how long the system may take to find room for them. Loopback has room at once; the time is not shorter as
	// it runs while this goroutine waits for a processor, too.
	sendTime = 250 * time.Millisecond
)

// A sender cuts messages into datagrams and sends many with one call.
type sender struct {
	conn  *net.UDPConn
	batch *ipv4.PacketConn
	to    *net.UDPAddr
	count *counters

	seq       uint32 // of the next message
	broken    int64  // the number of the message that failed last; -1 for none
	datagrams []datagram
	heads     []byte // the datagrams' heads
	segments  segmenter
	calls     []ipv4.Message
	firsts    []int // the datagram with which a call begins
	buffers   [][]byte
}

func newSender(conn *net.UDPConn, p *ipv4.PacketConn, to netip.AddrPort, count *counters) *sender {
	return &sender{
		conn: conn, batch: p, broken: -1, to: net.UDPAddrFromAddrPort(to), count: count,
		datagrams: make([]datagram, 0, atOnce), heads: make([]byte, 0, atOnce*maxHead),
		calls: make([]ipv4.Message, 0, atOnce), firsts: make([]int, 0, atOnce), buffers: make([][]byte, 0, 2*atOnce),
		segments: newSegmenter(),
	}
}

// add takes a message, whose payload must not change before the next flush.
func (s *sender) add(m *Message) {
	s.count.sent.Add(1)
	for next := 0; ; {
		s.datagrams, s.heads, next = appendDatagrams(s.datagrams, s.heads, m, s.seq, next, atOnce-len(s.datagrams))
		if next == 0 {
			break
		}
		s.flush()
	}
	s.seq++ // wraps
	if len(s.datagrams) == atOnce {
		s.flush()
	}
}

// flush sends what was added.
func (s *sender) flush() {
	if len(s.datagrams) > 0 {
		s.send()
	}
	clear(s.datagrams)
	clear(s.buffers[:cap(s.buffers)]) // payloads belong to others
	s.datagrams, s.heads = s.datagrams[:0], s.heads[:0]
}

func (s *sender) send() {
	if err := s.conn.SetWriteDeadline(time.Now().Add(sendTime)); err != nil {
		s.fail(0, len(s.datagrams), err)
		return
	}
	s.plan(0)
	for i := 0; i < len(s.calls); {
		n, err := s.batch.WriteBatch(s.calls[i:], 0)
		i += max(n, 0)
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			s.fail(s.firsts[i], len(s.datagrams), err)
			return
		case len(s.calls[i].OOB) > 0 && s.segments.refused(err):
			s.plan(s.firsts[i])
			i = 0
		default:
			s.fail(s.firsts[i], s.end(i), err)
			i++
		}
	}
}

// end is the datagram after the last of a call.
func (s *sender) end(call int) int {
	if call+1 < len(s.firsts) {
		return s.firsts[call+1]
	}
	return len(s.datagrams)
}

// plan makes calls of the datagrams from first on: one each, or one of several that the system cuts apart, where it can.
func (s *sender) plan(first int) {
	s.calls, s.firsts, s.buffers = s.calls[:0], s.firsts[:0], s.buffers[:0]
	for first < len(s.datagrams) {
		n := s.segments.run(s.datagrams[first:])
		start := len(s.buffers)
		for _, d := range s.datagrams[first : first+n] {
			s.buffers = append(s.buffers, d.head, d.body)
		}
		call := ipv4.Message{Addr: s.to, Buffers: s.buffers[start:len(s.buffers):len(s.buffers)]}
		if n > 1 {
			call.OOB = s.segments.control(s.datagrams[first].size())
		}
		s.calls, s.firsts = append(s.calls, call), append(s.firsts, first)
		first += n
	}
}

func (d *datagram) size() int { return len(d.head) + len(d.body) }

// fail counts the messages of datagrams that did not go out. A message of many is one.
func (s *sender) fail(first, end int, err error) {
	messages := uint64(0)
	for _, d := range s.datagrams[first:end] {
		if int64(d.seq) != s.broken {
			s.broken = int64(d.seq)
			messages++
		}
	}
	s.count.sent.Add(-messages)
	s.count.fails(messages, err)
}
