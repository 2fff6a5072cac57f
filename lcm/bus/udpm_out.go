package bus

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/net/ipv4"
)

const (
	// atOnce is how many datagrams are collected for one call of the system.
	atOnce = 256
	// sendTime is how long the system may take to find room for them. Loopback has room at once; but the time also runs while
	// this goroutine waits for a processor.
	sendTime = 250 * time.Millisecond
)

// A sender cuts messages into datagrams and sends many with one call, as far as the listeners have room.
type sender struct {
	conn  *net.UDPConn
	room  *room
	batch *ipv4.PacketConn
	to    *net.UDPAddr
	count *counters

	seq       uint32 // of the next message
	broken    int64  // the number of the message that failed last; -1: none
	datagrams []datagram
	heads     []byte // the memory of the heads of datagrams
	segments  segmenter
	calls     []ipv4.Message
	firsts    []int // the first datagram of each call, and at last the number of datagrams
	buffers   [][]byte
}

func newSender(conn *net.UDPConn, p *ipv4.PacketConn, to netip.AddrPort, count *counters) *sender {
	return &sender{
		conn: conn, room: newRoom(to, "/proc/net/udp"), batch: p, broken: -1, to: net.UDPAddrFromAddrPort(to), count: count,
		datagrams: make([]datagram, 0, atOnce), heads: make([]byte, 0, atOnce*maxHead),
		calls: make([]ipv4.Message, 0, atOnce), firsts: make([]int, 0, atOnce+1), buffers: make([][]byte, 0, 2*atOnce),
	}
}

// add adds a message, whose payload must not change before the next flush.
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
	clear(s.buffers[:cap(s.buffers)]) // lets go of the payloads
	s.datagrams, s.heads = s.datagrams[:0], s.heads[:0]
}

func (s *sender) send() {
	s.plan(0)
	for i := 0; i < len(s.calls); {
		end := s.roomFor(i)
		n := 0
		err := s.conn.SetWriteDeadline(time.Now().Add(sendTime))
		if err == nil {
			n, err = s.batch.WriteBatch(s.calls[i:end], 0)
		}
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
			s.fail(s.firsts[i], s.firsts[i+1], err)
			i++
		}
	}
}

// roomFor waits until the listeners have room for call i, and returns the end of the calls for which they have.
func (s *sender) roomFor(i int) int {
	s.room.wait(s.cost(i))
	for i++; i < len(s.calls) && s.room.fits(s.cost(i)); i++ {
	}
	return i
}

// cost is what a call takes of a listener's receive buffer.
func (s *sender) cost(call int) (bytes int) {
	for _, d := range s.datagrams[s.firsts[call]:s.firsts[call+1]] {
		size := d.size()
		if bytes += datagramCost + size; size < pagedSize {
			bytes += size / 2
		}
	}
	return bytes
}

// plan makes calls of the datagrams from first on: one for each, or one for several that the system can cut apart.
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
	s.firsts = append(s.firsts, first)
}

// fail counts the messages of datagrams that were not sent. A message of several datagrams counts once.
func (s *sender) fail(first, end int, err error) {
	messages := uint64(0)
	for _, d := range s.datagrams[first:end] {
		if int64(d.seq) != s.broken {
			s.broken = int64(d.seq)
			messages++
		}
	}
	s.count.sent.Add(-messages)
	s.count.fails(messages, withRoute(err))
}

// withRoute adds what helps to the error of a system that has no route for multicast.
func withRoute(err error) error {
	if errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.ENODEV) {
		return fmt.Errorf("no route for multicast: %w; %s", err, routeRemedy)
	}
	return err
}

// An orderer puts messages of one size side by side, because the system can send a run of them with one write. The messages
// of one channel, which mostly have one size, keep their order.
type orderer struct {
	groups map[group]int
	sorted []int
}

// A group is messages that keep their order: those of a channel, or the unordered ones of a channel and a size.
type group struct {
	channel string
	size    int // 0: ordered
}

// order returns the order in which to send at most atOnce messages: group by group, as these first occur. It is valid until
// the next call.
func (o *orderer) order(ms []Message) []int {
	if o.groups == nil {
		o.groups = make(map[group]int, atOnce)
	}
	clear(o.groups)
	o.sorted = o.sorted[:0]
	for i := range ms {
		key := group{channel: ms[i].Channel}
		if ms[i].Unordered {
			key.size = 1 + len(ms[i].Payload)
		}
		g, known := o.groups[key]
		if !known {
			g = len(o.groups)
			o.groups[key] = g
		}
		o.sorted = append(o.sorted, g*atOnce+i)
	}
	slices.Sort(o.sorted)
	for i := range o.sorted {
		o.sorted[i] %= atOnce
	}
	return o.sorted
}
