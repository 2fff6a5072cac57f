package server_test

import (
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/transport/stream"
)

// street is a listener whose connections come from outside of the process, as far as the server knows.
type street struct {
	ends   chan io.ReadWriteCloser // nil: no descriptor is left
	closed chan struct{}
}

func (s *street) Accept() (wire.Conn, error) {
	select {
	case <-s.closed:
		return nil, net.ErrClosed
	case end := <-s.ends:
		if end == nil {
			return nil, syscall.EMFILE
		}
		return stream.New(end.(net.Conn), "peer"), nil
	}
}

func (s *street) Close() error {
	close(s.closed)
	return nil
}

func (*street) URL() string { return "street:" }

// outside lets a server take in connections from a street.
func (r *running) outside() *street {
	s := &street{ends: make(chan io.ReadWriteCloser, 100), closed: make(chan struct{})}
	accepted := make(chan error, 1)
	go func() { accepted <- r.Accept(s) }()
	r.t.Cleanup(func() {
		<-r.ended
		require.NoError(r.t, <-accepted)
	})
	return s
}

func (s *street) come() wire.Conn {
	here, there := net.Pipe()
	s.ends <- there
	return stream.New(here, "server")
}

// told reads until the end of a connection, and returns the last refusal.
func told(t *testing.T, c wire.Conn) (refusal wire.Refuse) {
	for {
		packets, err := c.Read()
		if err != nil {
			require.NoError(t, c.Close())
			return refusal
		}
		for _, p := range packets {
			refusal = p.Body.(wire.Refuse)
		}
	}
}

func secret(name string) []wire.Packet {
	h := hello(name)
	h.Token = "secret"
	return []wire.Packet{{Body: h}}
}

// joins says Hello, and fails if that is not answered with a Welcome.
func joins(t *testing.T, c wire.Conn, name string) {
	require.NoError(t, c.Write(secret(name)))
	packets, err := c.Read()
	require.NoError(t, err)
	require.IsType(t, wire.Welcome{}, packets[0].Body)
}

// door serves a run with a token and few places for visitors, in a bubble.
func door(t *testing.T, test func(t *testing.T, r *running, s *street)) {
	synctest.Test(t, func(t *testing.T) {
		c := config("a", "b")
		c.Token, c.Visitors = "secret", 3
		r := serve(t, c)
		test(t, r, r.outside())
		r.cancel(errTestOver)
	})
}

// A visitor that says nothing, or only what is wrong, is told why and turned away after two seconds. A client may wait longer.
func TestVisitorsAreTurnedAway(t *testing.T) {
	door(t, func(t *testing.T, _ *running, s *street) {
		a := s.come()
		joins(t, a, "a")
		began := time.Now()
		silent, wrong := s.come(), s.come()
		require.NoError(t, wrong.Write([]wire.Packet{{Body: hello("b")}}))
		require.Equal(t, wire.Refuse{Reason: wire.BadMessage, Text: "no Hello with the join token came within 2s; say it at once"}, told(t, silent))
		require.InDelta(t, 2*time.Second, time.Since(began), float64(100*time.Millisecond))
		require.Contains(t, told(t, wrong).Text, "no Hello with the join token")
		<-time.After(20 * time.Second) // in the bubble
		b := s.come()
		joins(t, b, "b")
	})
}

// Silent visitors who take all places do not keep a client out, nor does a lack of descriptors; who talks too much leaves too.
func TestCrowd(t *testing.T) {
	door(t, func(t *testing.T, _ *running, s *street) {
		told20 := make(chan string, 20)
		for range 20 {
			silent := s.come()
			go func() { told20 <- told(t, silent).Text }()
			s.ends <- nil
		}
		began := time.Now()
		joins(t, s.come(), "a")
		require.Less(t, time.Since(began), 2*time.Second)
		for range 20 {
			require.Contains(t, <-told20, "no Hello")
		}
		loud := s.come()
		for range 15 {
			require.NoError(t, loud.Write([]wire.Packet{{Body: hello("b")}}))
			_, err := loud.Read()
			require.NoError(t, err)
		}
		require.NoError(t, loud.Write([]wire.Packet{{Body: hello("b")}}))
		require.Contains(t, told(t, loud).Text, "16 messages came without the join token")
	})
}

// A large frame is refused before the token was shown, and taken if it begins with the token, or comes from a client.
func TestLargeFramesBeforeTheToken(t *testing.T) {
	door(t, func(t *testing.T, r *running, s *street) {
		large := secret("b")
		h := large[0].Body.(wire.Hello)
		h.Publications = []string{strings.Repeat("X", 1000), strings.Repeat("Y", 1000), strings.Repeat("Z", 1000), strings.Repeat("W", 1000), strings.Repeat("V", 1000)}
		h.Token = "guessed"
		guest := s.come()
		go func() { _ = guest.Write([]wire.Packet{{Body: h}}) }() // the server stops to read it
		require.Contains(t, told(t, guest).Text, "a frame without a Hello and the join token in its first 4096 bytes")
		h.Token = "secret"
		b := s.come()
		large[0].Body = h
		require.NoError(t, b.Write(large))
		packets, err := b.Read()
		require.NoError(t, err)
		require.IsType(t, wire.Welcome{}, packets[0].Body)
	})
}

// A client's expressions are compiled by the goroutine that brings them, and not by whoever has the turn: they take milliseconds, in which
// nobody else would be heard.
func TestExpressionsAreCompiledBeforeTheTurn(t *testing.T) {
	for where, connect := range map[string]func(*running) wire.Conn{
		"outside":    func(r *running) wire.Conn { return r.outside().come() },
		"in process": func(r *running) wire.Conn { return r.dial().conn },
	} {
		t.Run(where, func(t *testing.T) { compiledBeforeTheTurn(t, connect) })
	}
}

func compiledBeforeTheTurn(t *testing.T, connect func(*running) wire.Conn) {
	const long = "A{1000}"
	taken, free := make(chan struct{}), make(chan struct{})
	c := config("a", "b")
	c.Observers = []server.Observer{observer(func(ev metasim.Event) {
		if join, ok := ev.(*metasim.Join); ok && join.Client == 0 {
			close(taken)
			<-free
		}
	})}
	r := serve(t, c)
	b := connect(r)
	a := r.dial()
	said := make(chan error, 2)
	go func() { said <- a.conn.Write([]wire.Packet{{Body: hello("a")}}) }()
	<-taken
	var before, compiled, now runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := metasim.CompilePattern(long)
	require.NoError(t, err)
	runtime.ReadMemStats(&compiled)
	h := hello("b")
	h.Subscriptions = slices.Repeat([]string{long}, 10)
	go func() { said <- b.Write([]wire.Packet{{Body: h}}) }()
	assert.Eventually(t, func() bool {
		runtime.ReadMemStats(&now)
		return now.TotalAlloc-compiled.TotalAlloc > 8*(compiled.TotalAlloc-before.TotalAlloc)
	}, 10*time.Second, 100*time.Millisecond)
	close(free)
	require.NoError(t, errors.Join(<-said, <-said))
	hear[wire.Welcome](a)
	hear[wire.Start](a)
	require.NoError(t, b.Close())
}

// An observer sees events.
type observer func(metasim.Event)

func (o observer) Observe(_ int64, ev metasim.Event, _ []metasim.Effect) error {
	o(ev)
	return nil
}
