package bus

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"strconv"
	"time"
)

const (
	// defaultRoom is how full a receive buffer may be before a sender waits. A program's buffer has 212992 bytes by default
	// (net.core.rmem_default). It must not be filled whole: Linux frees up to a quarter of it later than it reports.
	defaultRoom = 144 << 10
	// A datagram takes about datagramCost bytes of a receive buffer beside its own. Up to pagedSize, its own bytes take up to
	// half as much again.
	datagramCost = 832
	pagedSize    = 16 << 10
	// waitForRoom is how long a sender waits for a program that does not read. After that it no longer waits for that program,
	// until the program has read again.
	waitForRoom = 100 * time.Millisecond
	// glance is the pause between two looks. Nothing better than looking exists: Linux sends no event when another program has
	// read from its socket.
	glance = 200 * time.Microsecond
)

// A room is the free space in the receive buffers of the programs of this host that listen to a network. A datagram that meets a
// full buffer is lost, and UDP does not tell the sender. Linux shows all buffers in /proc/net/udp. On other systems, and for programs
// on other hosts, the space is not known, and no sender waits.
type room struct {
	group   netip.AddrPort
	path    string // "": nothing is known
	text    []byte
	filled  int                  // bytes of the fullest buffer at the last look, and what was sent since
	known   map[uint64]*listener // by the inode of its socket
	dropped uint64               // datagrams for which the listeners had no room since the bus was opened
}

// A listener is a socket that receives the network.
type listener struct {
	drops uint64 // since it was opened
	deaf  bool   // was waited for in vain
	seen  bool   // is still there
}

func newRoom(group netip.AddrPort, path string) *room {
	r := &room{group: group, path: path, known: map[uint64]*listener{}}
	r.look()
	r.dropped = 0
	return r
}

// fits takes room for so many bytes, if it is there as far as is known without another look.
func (r *room) fits(size int) bool {
	if r.filled+size > defaultRoom {
		return false
	}
	r.filled += size
	return true
}

// wait returns when the listeners have room for so many bytes more, or when they do not read.
func (r *room) wait(size int) {
	if r.fits(size) {
		return
	}
	for patience := time.Now().Add(waitForRoom); ; time.Sleep(glance) {
		full := r.look()
		if r.filled == 0 || r.filled+size <= defaultRoom {
			break
		}
		if time.Now().After(patience) {
			full.deaf = true
			break
		}
	}
	r.filled += size
}

// look reads how full the buffers are, and returns the fullest listener that is not deaf. It counts what was dropped.
func (r *room) look() (full *listener) {
	r.filled = 0
	if r.path == "" || !r.read() {
		return nil
	}
	for _, l := range r.known {
		l.seen = false
	}
	_, rest, _ := bytes.Cut(r.text, []byte("\n")) // the titles
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		s, ok := parseSocket(line)
		if !ok || s.local.Port() != r.group.Port() || s.local.Addr() != r.group.Addr() && !s.local.Addr().IsUnspecified() {
			continue
		}
		l := r.known[s.inode]
		if l == nil {
			l = &listener{}
			r.known[s.inode] = l
		}
		r.dropped += s.drops - l.drops
		l.drops, l.seen, l.deaf = s.drops, true, l.deaf && s.queued > defaultRoom/2
		if !l.deaf && s.queued > r.filled {
			r.filled, full = s.queued, l
		}
	}
	for inode, l := range r.known {
		if !l.seen {
			delete(r.known, inode)
		}
	}
	return full
}

// read fills text with what the system says of its sockets.
func (r *room) read() bool {
	f, err := os.Open(r.path)
	if err != nil {
		r.path = ""
		return false
	}
	defer f.Close()
	r.text = r.text[:0]
	for {
		if len(r.text) == cap(r.text) {
			r.text = append(r.text, make([]byte, 4096)...)[:len(r.text)]
		}
		n, err := f.Read(r.text[len(r.text):cap(r.text)])
		if r.text = r.text[:len(r.text)+n]; err != nil {
			return true // at the end
		}
	}
}

// A udpSocket is a line of /proc/net/udp.
type udpSocket struct {
	local  netip.AddrPort
	queued int // bytes of its receive buffer
	inode  uint64
	drops  uint64
}

// parseSocket parses "sl: local remote st tx:rx tr:when retrnsmt uid timeout inode ref pointer drops", where numbers up to
// retrnsmt are hexadecimal, and an address is in the order of the machine's bytes.
func parseSocket(line []byte) (s udpSocket, ok bool) {
	f := bytes.Fields(line)
	if len(f) < 13 {
		return s, false
	}
	address, port, _ := bytes.Cut(f[1], []byte(":"))
	_, queued, _ := bytes.Cut(f[4], []byte(":"))
	var four [4]byte
	if len(address) != 8 {
		return s, false
	}
	if _, err := hex.Decode(four[:], address); err != nil {
		return s, false
	}
	binary.NativeEndian.PutUint32(four[:], binary.BigEndian.Uint32(four[:]))
	p, e1 := strconv.ParseUint(string(port), 16, 16)
	q, e2 := strconv.ParseUint(string(queued), 16, 32)
	inode, e3 := strconv.ParseUint(string(f[9]), 10, 64)
	drops, e4 := strconv.ParseUint(string(f[12]), 10, 64)
	if e1 != nil || e2 != nil || e3 != nil || e4 != nil {
		return s, false
	}
	return udpSocket{netip.AddrPortFrom(netip.AddrFrom4(four), uint16(p)), int(q), inode, drops}, true
}
