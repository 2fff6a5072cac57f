package server_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport/mem"
)

// The result of a run of which every delivery is known: digests by hand, counts, and how long each client waited.
func TestResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := serve(t, config("a", "b"))
		ha, hb := hello("a"), hello("b")
		ha.Publications, hb.Subscriptions = []string{"X"}, []string{"X"}
		peers := r.start(ha, hb)
		a, b := peers[0], peers[1]
		b.say(idle(0))
		pass(3 * time.Second)
		a.say(sendX("one"), sendX("two"), until(at(0), at(5)))
		for range 2 {
			hear[*metasim.Deliver](b)
		}
		hear[*metasim.Authorize](b)
		hear[*metasim.Authorize](a)
		pass(2 * time.Second) // both compute
		step := metasim.Instant{Step: 1}
		b.say(&metasim.Leave{Now: step, Acked: 1, Result: []byte(`{"x":1}`)}) // the second it never looked at
		hear[wire.Goodbye](b)
		pass(time.Second)
		a.say(&metasim.Leave{Now: at(5)})
		hear[wire.Goodbye](a)
		require.NoError(t, r.end())

		var chain []byte
		u32 := func(n uint32) { chain = binary.LittleEndian.AppendUint32(chain, n) }
		u64 := func(n uint64) { chain = binary.LittleEndian.AppendUint64(chain, n) }
		u64(0)
		u32(1) // due: 0, step 1
		u64(0)
		u32(0) // sent: 0, step 0
		u32(1)
		chain = append(chain, "a"...)
		u32(1)
		chain = append(chain, "X"...)
		u32(3)
		chain = append(chain, "one"...)
		nothing, one := sha256.Sum256(nil), sha256.Sum256(chain)
		run := append([]byte("\x01\x00\x00\x00a"), nothing[:]...)
		run = append(append(run, "\x01\x00\x00\x00b"...), one[:]...)

		got := r.Result()
		require.NoError(t, got.Err)
		require.True(t, got.Deterministic)
		require.Equal(t, metasim.Digest(sha256.Sum256(run)), got.Digest)
		require.Equal(t, metasim.Totals{Sent: 2, Delivered: 1, Undelivered: 1, End: at(5)}, got.Totals)
		require.Equal(t, 6*time.Second, got.Wall)
		ra, rb := got.Clients[0], got.Clients[1]
		require.Equal(t, []string{"a", "b"}, []string{ra.Name, rb.Name})
		require.Equal(t, metasim.Digest(nothing), ra.Digest)
		require.Equal(t, metasim.Digest(one), rb.Digest)
		require.Equal(t, uint64(2), ra.Sent)
		require.Equal(t, uint64(1), rb.Delivered)
		require.Equal(t, at(5), ra.End)
		require.Equal(t, step, rb.End)
		require.JSONEq(t, `{"x":1}`, string(rb.Result))
		require.Equal(t, []time.Duration{6 * time.Second, 0}, []time.Duration{ra.Busy, ra.Blocked})
		require.Equal(t, []time.Duration{2 * time.Second, 3 * time.Second}, []time.Duration{rb.Busy, rb.Blocked})

		// a says hello, sends and waits, leaves, and hears welcome, start, an authorization, goodbye; b says hello, waits,
		// leaves, and hears welcome and start, both messages with their authorization, goodbye.
		wantA := wire.Traffic{FramesIn: 3, FramesOut: 4, BytesIn: uint64(len("one" + "two"))}
		wantB := wire.Traffic{FramesIn: 3, FramesOut: 3, BytesIn: uint64(len(`{"x":1}`)), BytesOut: uint64(len("one" + "two"))}
		require.Equal(t, []wire.Traffic{wantA, wantB}, []wire.Traffic{*ra.Traffic, *rb.Traffic})
		wantA.Add(wantB)
		require.Equal(t, wantA, got.Traffic)
		require.EqualValues(t, 6, got.Wakeups, "each of them said three things, one after the other")
	})
}

// A run that failed has lasted, too, and its clients were busy or blocked until then.
func TestResultOfFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := serve(t, config("a", "b"))
		peers := r.start(mutual("a"), mutual("b"))
		peers[1].say(idle(0))
		pass(4 * time.Second)
		require.NoError(t, peers[0].conn.Close())
		require.Error(t, r.end())
		got := r.Result()
		require.Equal(t, r.err, got.Err)
		require.Equal(t, 4*time.Second, got.Wall)
		require.Equal(t, 4*time.Second, got.Clients[0].Busy)
		require.Equal(t, 4*time.Second, got.Clients[1].Blocked)
	})
}

// A counting connection counts the writes of the server, and remembers what each had.
type counting struct {
	wire.Conn
	mu     sync.Mutex
	writes [][]wire.Packet
}

func (c *counting) WriteFrames(frames []byte) error {
	packets, err := wire.NewReader(bytes.NewReader(frames), "the server").Read()
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.writes = append(c.writes, packets)
	c.mu.Unlock()
	return c.Conn.WriteFrames(frames)
}

// A countingNet wraps what a Net accepts.
type countingNet struct {
	*mem.Net
	conns chan *counting
}

func (n countingNet) Accept() (wire.Conn, error) {
	conn, err := n.Net.Accept()
	if err != nil {
		return nil, err
	}
	c := &counting{Conn: conn}
	n.conns <- c
	return c, nil
}

// Fifty clients on one connection: what comes in one read is answered in one write.
func TestManyMembersOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 50
		var names []string
		for i := range n {
			names = append(names, string(rune('A'+i)))
		}
		r := serve(t, config(names...))
		net := countingNet{mem.NewNet(), make(chan *counting, 1)}
		accepted := make(chan error, 1)
		go func() { accepted <- r.Accept(net) }()
		conn, err := net.Dial(t.Context())
		require.NoError(t, err)
		p := &peer{t: t, conn: conn}
		served := <-net.conns
		all := func(body func(i int) wire.Body) {
			var packets []wire.Packet
			for i := range n {
				packets = append(packets, wire.Packet{Member: uint32(1000 - i), Body: body(i)})
			}
			require.NoError(t, conn.Write(packets))
			synctest.Wait()
		}
		all(func(i int) wire.Body { return mutual(names[i]) })
		all(func(int) wire.Body { return until(at(0), at(1)) })
		all(func(int) wire.Body { return &metasim.Leave{} })
		require.NoError(t, r.end())
		served.mu.Lock()
		require.Len(t, served.writes, 3)
		for i, packets := range [3]int{2 * n, n, n} { // welcomes and starts; authorizations; goodbyes
			require.Len(t, served.writes[i], packets)
		}
		served.mu.Unlock()
		got := r.Result()
		require.Equal(t, []uint64{3, 3, 3}, []uint64{got.Traffic.FramesIn, got.Traffic.FramesOut, got.Wakeups})
		require.Nil(t, got.Clients[0].Traffic, "it shares its connection")
		require.NoError(t, <-accepted)
		for range 4 * n {
			_, err := p.next()
			require.NoError(t, err)
		}
		require.NoError(t, conn.Close())
	})
}
