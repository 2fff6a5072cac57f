package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var proxies = flag.Uint64("proxies", 2, "how many runs go through a bad network")

// A badNetwork carries UDP packets between clients and a server: it loses some, delays each differently, so that they overtake one
// another, and carries none for a while. What it does with a packet is drawn from a seed.
type badNetwork struct {
	testing.TB
	front  *net.UDPConn
	server *net.UDPAddr
	loss   float64
	jitter time.Duration

	mu     sync.Mutex
	r      *rand.Rand
	backs  map[netip.AddrPort]*net.UDPConn // by client
	black  [2]time.Time                    // it carries nothing between these
	latest time.Time                       // when the last packet arrives of those on their way
	closed bool

	carried, lost, overtaken, blacked int
}

// newBadNetwork begins a network to the server of an address, and returns the address that leads through it.
func newBadNetwork(t testing.TB, seed uint64, server string) (*badNetwork, string) {
	u, err := url.Parse(server)
	require.NoError(t, err)
	to, err := net.ResolveUDPAddr("udp", u.Host)
	require.NoError(t, err)
	front, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(seed, 0))
	l := &badNetwork{
		TB: t, front: front, server: to, loss: float64(seed%5) / 20, jitter: 200 * time.Millisecond, r: r, backs: map[netip.AddrPort]*net.UDPConn{},
	}
	begin := time.Now().Add(time.Duration(r.Int64N(int64(6 * time.Second))))
	l.black = [2]time.Time{begin, begin.Add(3 * time.Second)}
	t.Cleanup(l.close)
	go l.forward()
	u.Host = front.LocalAddr().String()
	return l, u.String()
}

// forward carries what clients send.
func (l *badNetwork) forward() {
	for buf := make([]byte, 1<<16); ; {
		n, from, err := l.front.ReadFromUDPAddrPort(buf)
		if err != nil {
			return // it was closed
		}
		if back := l.back(from); back != nil {
			l.carry(buf[:n], func(b []byte) error { _, err := back.Write(b); return err })
		}
	}
}

// back returns the socket that stands for a client at the server; nil if the network is closed.
func (l *badNetwork) back(client netip.AddrPort) *net.UDPConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if back := l.backs[client]; back != nil || l.closed {
		return back
	}
	back, err := net.DialUDP("udp", nil, l.server)
	if err != nil {
		l.Error(err)
		return nil
	}
	l.backs[client] = back
	go func() {
		for buf := make([]byte, 1<<16); ; {
			n, err := back.Read(buf)
			if err != nil {
				return // it was closed, or the server has ended
			}
			l.carry(buf[:n], func(b []byte) error { _, err := l.front.WriteToUDPAddrPort(b, client); return err })
		}
	}()
	return back
}

func (l *badNetwork) carry(packet []byte, send func([]byte) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	late := time.Duration(l.r.Int64N(int64(l.jitter)))
	switch {
	case now.After(l.black[0]) && now.Before(l.black[1]):
		l.blacked++
		return
	case l.r.Float64() < l.loss:
		l.lost++
		return
	}
	l.carried++
	if at := now.Add(late); at.Before(l.latest) {
		l.overtaken++
	} else {
		l.latest = at
	}
	b := append([]byte(nil), packet...)
	time.AfterFunc(late, func() { _ = send(b) }) // a packet that cannot be sent is lost
}

func (l *badNetwork) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, c := range l.backs {
		_ = c.Close() // nothing is read from it any more
	}
	_ = l.front.Close() // the run is over
}

// relayed is a scenario with a dialogue and a stream, whose clients come from outside where model is replaced.
const relayed = `name: relayed
until: 500ms
clients:
  - {name: ear, model: sink, with: {channels: [TICK, PONG]}}
  - {name: ping, model: ping, with: {rounds: 4, out: PING, in: PONG, size: 3000}}
  - {name: pong, model: echo, with: {in: PING, out: PONG}}
  - {name: tick, model: source, with: {channel: TICK, period: 20ms, count: 20, size: 500}}
links:
  - {delay: {uniform: {min: 5ms, max: 20ms}}}
`

// Whatever the network does with the packets of QUIC, the digest is the same.
func TestABadNetwork(t *testing.T) {
	s := newStage(t)
	s.file("quiet.yaml", relayed)
	quiet, _ := s.run("quiet.yaml")
	var mu sync.Mutex
	var lost, overtaken, blacked int
	t.Run("seeds", func(t *testing.T) {
		for seed := range *proxies {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				l := throughRelay(t, seed+1, quiet)
				l.mu.Lock()
				defer l.mu.Unlock()
				t.Logf("loss %.0f %%: %d packets carried, %d lost, %d overtaken, %d in a black-out", 100*l.loss, l.carried, l.lost, l.overtaken, l.blacked)
				mu.Lock()
				defer mu.Unlock()
				lost, overtaken, blacked = lost+l.lost, overtaken+l.overtaken, blacked+l.blacked
			})
		}
	})
	require.Positive(t, lost, "nothing was lost")
	require.Positive(t, overtaken, "nothing was overtaken")
	require.Positive(t, blacked, "there was no black-out")
}

// throughRelay carries a run out whose clients come through a relay, and compares its digests with those of a quiet one.
func throughRelay(t *testing.T, seed uint64, quiet outcome) *badNetwork {
	s := newStage(t)
	lines := strings.Split(relayed, "\n")
	clients := map[string][]string{
		"ear":  {"sink", "--with", "channels=[TICK, PONG]"},
		"ping": {"ping", "--with", "rounds=4", "--with", "out=PING", "--with", "in=PONG", "--with", "size=3000"},
		"pong": {"echo", "--with", "in=PING", "--with", "out=PONG"},
		"tick": {"source", "--with", "channel=TICK", "--with", "period=20ms", "--with", "count=20", "--with", "size=500"},
	}
	for i, line := range lines {
		if head, _, is := strings.Cut(line, ", model:"); is {
			lines[i] = head + ", external: true}"
		}
	}
	s.file("p.yaml", strings.Join(lines, "\n"))
	p := s.serve("p.yaml", "--transport", "quic")
	l, through := newBadNetwork(t, seed, p.url)
	p.url = through
	var ends []*running
	for name, args := range clients {
		ends = append(ends, p.join(name, args...))
	}
	for _, c := range ends {
		e := c.wait()
		assert.Equal(t, 0, e.status, e.err)
	}
	e := p.wait()
	require.Equal(t, 0, e.status, e.err)
	var o outcome
	e.object(t, &o)
	require.Equal(t, []string{quiet.Digest, quiet.SendsDigest, quiet.ResultsDigest}, []string{o.Digest, o.SendsDigest, o.ResultsDigest})
	return l
}
