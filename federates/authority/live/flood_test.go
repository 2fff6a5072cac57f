package live

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/authority/pieces"
	"metasim/federates/authority/shard"
	"metasim/internal/filelock"
	"metasim/metasim"
	"metasim/wire/transport/quic"
)

const sesame = "sesame"

// A hosted server is one of this process, with what it has told.
type hosted struct {
	t        *testing.T
	commands chan Command
	url      string
	end      func()

	mu     sync.Mutex
	events []Event
	wrong  map[string]bool // what is wrong is in events once: a flood would fill the memory
	counts shard.Counts    // of the world, when it told something last
}

// host runs a server over QUIC until the test, or end, ends it.
func host(t *testing.T, cfg Config) *hosted {
	cfg.Listen, cfg.Data, cfg.Token, cfg.Step, cfg.Retry = "127.0.0.1:0", t.TempDir(), sesame, metasim.Millisecond, 200*metasim.Millisecond
	require.NoError(t, cfg.Validate())
	h := &hosted{t: t, commands: make(chan Command), wrong: map[string]bool{}}
	var s *server
	s = newServer(cfg, func(e Event) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if e.Event != "wrong" || !h.wrong[e.From+e.Error] {
			h.events = append(h.events, e)
		}
		if e.Event == "wrong" {
			h.wrong[e.From+e.Error] = true
		}
		if s.world != nil {
			h.counts = s.world.shard.Counts
		}
	})
	lock, err := s.lock()
	require.NoError(t, err)
	cert, err := s.open()
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx, cert, h.commands) }()
	h.end = sync.OnceFunc(func() {
		stop()
		require.NoError(t, <-ended)
		require.NoError(t, filelock.Close(lock))
	})
	t.Cleanup(h.end)
	h.url = h.until(0, func(e Event) bool { return e.Event == "ready" }).URL
	return h
}

// told returns how many events there were.
func (h *hosted) told() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.events)
}

// until waits for an event, from the event of that number on.
func (h *hosted) until(from int, is func(Event) bool) (found Event) {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		at := slices.IndexFunc(h.events[from:], is)
		if at >= 0 {
			found = h.events[from+at]
		}
		return at >= 0
	}, 3*time.Minute, time.Millisecond) // a flood of a thousand messages takes a minute on a busy machine
	return found
}

// handOver has two servers hand an entity to and fro so often, and returns how long the median of them took.
func handOver(of map[string]*hosted, times int) time.Duration {
	var took []time.Duration
	at, to := "a", "b"
	for range times {
		n, began := of[to].told(), time.Now()
		of[at].commands <- Command{Give: "ball", To: to}
		of[to].until(n, func(e Event) bool { return e.Event == "got" && e.Entity == "ball" })
		took = append(took, time.Since(began))
		at, to = to, at
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// peak samples the heap until stop is called, and returns how much it has grown at most.
func peak() (stop func() uint64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, most := m.HeapAlloc, uint64(0)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(done)
		<-ended
		return most - min(before, most)
	}
}

// flood sends as fast as connections take it, until the test ends: messages of 1 MiB on many streams at once, and datagrams. It returns how many messages one could not send
// before the others were read, and so waited.
func flood(t *testing.T, url string, senders int) (sent func() int) {
	ctx, stop := context.WithCancel(t.Context())
	post, err := quic.DialPost(ctx, url, sesame)
	require.NoError(t, err)
	message := pack("x", bytes.Repeat([]byte{'{'}, 1<<20-10)...)
	var mu sync.Mutex
	var all sync.WaitGroup
	n := 0
	var broke error
	for range senders {
		all.Go(func() {
			for ctx.Err() == nil {
				err := post.Send(ctx, message)
				mu.Lock()
				if err == nil {
					n++
				} else if ctx.Err() == nil && broke == nil {
					broke = err
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	all.Go(func() {
		for ctx.Err() == nil && post.SendDatagram(pack("x", pieceDatagram, 1, 2, 3)) == nil {
			runtime.Gosched()
		}
	})
	t.Cleanup(func() {
		stop()
		_ = post.Close() // its streams end in the middle
		all.Wait()
		if broke != nil {
			t.Logf("the flood has ended early: %v", broke)
		}
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// Somebody with the token floods a server over QUIC with messages of 1 MiB and with datagrams, as fast as the connection takes them: others hand entities over to it all the
// same, what it keeps of the flood is bounded, and what is wrong with it is told.
func TestFlood(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name+".url") }
	of := map[string]*hosted{
		"a": host(t, Config{Name: "a", Own: []string{"ball"}, Peers: map[string]string{"b": at("b")}}),
		"b": host(t, Config{Name: "b", Peers: map[string]string{"a": at("a")}}),
	}
	for name, h := range of {
		require.NoError(t, os.WriteFile(at(name), []byte(h.url), 0o600))
	}
	handOver(of, 2) // they know each other
	alone := handOver(of, 20)
	grown := peak()
	sent := flood(t, of["b"].url, 1000)
	of["b"].until(0, func(e Event) bool {
		return e.Event == "wrong" && strings.Contains(e.Error, "1048566 bytes are no message between servers")
	})
	of["b"].until(0, func(e Event) bool {
		return e.Event == "wrong" && e.From == "x" && strings.Contains(e.Error, "moves none")
	})
	before := sent()
	flooded := handOver(of, 20)
	most := grown()
	t.Logf("a handover takes %v, and %v in a flood of %d messages of 1 MiB in that time; the heap has grown by %d MiB at most", alone, flooded, sent()-before, most>>20)
	require.Less(t, most, uint64(256<<20), "64 messages that are on their way, as many that the sender keeps, and what reading them leaves behind")
}

// taken is how many updates a server has believed since it began.
func (h *hosted) taken() uint64 {
	n := h.told()
	h.commands <- Command{}
	h.until(n, func(e Event) bool { return e.Event == "owns" })
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts.Taken
}

// updates has a server tell two others over QUIC of sixty balls, of whom c reads so many bytes in a tick, and returns how many updates in a second b and c have believed.
func updates(t *testing.T, reads uint64) (b, c float64) {
	dir := t.TempDir()
	names := []string{"a", "b", "c"}
	of := map[string]*hosted{}
	for _, name := range names {
		cfg := Config{Name: name, Peers: map[string]string{}}
		cfg.World = &World{Servers: names, Side: 40_000_000, Sees: 80_000_000, Tick: 50 * metasim.Millisecond, Window: 16384, Packet: 4096}
		for _, other := range names {
			if other != name {
				cfg.Peers[other] = filepath.Join(dir, other+".url")
			}
		}
		switch name {
		case "a":
			cfg.World.Balls = 60
		case "c":
			cfg.World.Reads = reads
		}
		of[name] = host(t, cfg)
		defer of[name].end() // who compares again does so on a machine without them
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".url"), []byte(of[name].url), 0o600))
	}
	for _, name := range names[1:] {
		require.Eventually(t, func() bool { return of[name].taken() > 500 }, time.Minute, 50*time.Millisecond)
	}
	firstB, firstC, began := of["b"].taken(), of["c"].taken(), time.Now()
	require.Eventually(t, func() bool { return time.Since(began) > 2*time.Second && of["c"].taken() > firstC }, time.Minute, 50*time.Millisecond)
	seconds := time.Since(began).Seconds()
	for _, name := range names {
		require.Zero(t, of[name].wrongs(), "credit holds: nobody was sent more than it takes")
	}
	return float64(of["b"].taken()-firstB) / seconds, float64(of["c"].taken()-firstC) / seconds
}

// wrongs counts what a server was told that is beyond its credit, or no packet.
func (h *hosted) wrongs() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.events {
		if e.Event == "wrong" {
			n++
		}
	}
	return n
}

// A server that reads a few hundred bytes in a tick is told less, and the other is told as much as when all read all. A busy machine may slow all of them for a while: then the two are
// compared again.
func TestSlowReceiverSlowsNobody(t *testing.T) {
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		fast, all := updates(t, 0)
		beside, slow := updates(t, 300)
		t.Logf("updates in a second: %.0f and %.0f; where the second reads 300 bytes in a tick, %.0f and %.0f", fast, all, beside, slow)
		assert.Greater(c, beside, 0.8*fast)
		assert.Less(c, slow, 0.4*beside)
	}, 2*time.Minute, time.Millisecond)
}

// A packet beyond the credit, and a grant of more than the window, are refused by a server over QUIC, each with its reason; it goes on with who keeps to them.
func TestCreditIsHeldOverQUIC(t *testing.T) {
	cfg := Config{Name: "a", Peers: map[string]string{"b": "nowhere"}}
	cfg.World = &World{Servers: []string{"a", "b"}, Balls: 1, Side: 40_000_000, Sees: 80_000_000, Tick: 50 * metasim.Millisecond, Window: 4096, Packet: 1024}
	a := host(t, cfg)
	post, err := quic.DialPost(t.Context(), a.url, sesame)
	require.NoError(t, err)
	defer post.Close() // the test ends
	split := pieces.NewSplitter(1)
	// An update of x, which its owner tells of; package shard has the layout.
	update := binary.LittleEndian.AppendUint64([]byte{1}, 4096)
	update = append(update, 1, 'x', 0, 0, 0, 0, 0, 0, 1)
	update = append(update, make([]byte, 8+8+8+4+4)...)
	for want, packet := range map[string][]byte{
		"bytes beyond the credit, which ends at 4096":          update,
		"a credit of 5000 bytes exceeds the window of 4096":    binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64([]byte{2}, 0), 5000),
		"a credit is for 1099511627776 bytes":                  binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64([]byte{2}, 1<<40), 0),
		"b sent a packet of kind 9":                            {9},
		"b sent what is no packet between simulation servers:": {3},
	} {
		parts, err := split.Split(packet, maxDatagram)
		require.NoError(t, err)
		require.NoError(t, post.SendDatagram(pack("b", append([]byte{pieceDatagram}, parts[0]...)...)))
		e := a.until(0, func(e Event) bool { return e.Event == "wrong" && strings.Contains(e.Error, want) })
		require.Equal(t, "b", e.From)
	}
	n := a.told()
	a.commands <- Command{}
	require.Len(t, a.until(n, func(e Event) bool { return e.Event == "owns" }).Owns, 1)
}
