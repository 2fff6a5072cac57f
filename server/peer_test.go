package server_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/transport/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a server that serves.
type running struct {
	*server.Server
	t      testing.TB
	net    *mem.Net
	cancel context.CancelCauseFunc
	ended  chan struct{}
	err    error
	peers  map[string]*peer // that have joined, by name
}

var errTestOver = errors.New("the test is over")

// config is a run of clients of these names.
func config(names ...string) server.Config {
	return server.Config{Core: metasim.Config{Clients: names}, Scenario: "test", Seed: 7}
}

func serve(t testing.TB, c server.Config) *running {
	t.Helper()
	srv, err := server.New(c)
	require.NoError(t, err)
	r := &running{Server: srv, t: t, net: mem.NewNet(), ended: make(chan struct{}), peers: map[string]*peer{}}
	ctx, cancel := context.WithCancelCause(context.Background())
	r.cancel = cancel
	accepted := make(chan error, 1)
	go func() { accepted <- srv.Accept(r.net) }()
	go func() {
		defer close(r.ended)
		r.err = srv.Serve(ctx)
	}()
	t.Cleanup(func() {
		cancel(errTestOver)
		<-r.ended
		require.NoError(t, <-accepted)
	})
	return r
}

// end waits for the end of the run and returns what Serve returned.
func (r *running) end() error {
	r.t.Helper()
	select {
	case <-r.ended:
		return r.err
	case <-time.After(time.Minute):
		require.Fail(r.t, "the run does not end")
		return nil
	}
}

// A peer speaks the protocol by hand, for one member of a connection.
type peer struct {
	t      testing.TB
	conn   wire.Conn
	member uint32
	names  map[metasim.ClientID]string // introduced so far
	read   []wire.Packet               // read and not heard
}

func (r *running) dial() *peer {
	r.t.Helper()
	conn, err := r.net.Dial(context.Background())
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, conn.Close()) })
	return &peer{t: r.t, conn: conn}
}

func (p *peer) say(bodies ...wire.Body) {
	p.t.Helper()
	var packets []wire.Packet
	for _, b := range bodies {
		packets = append(packets, wire.Packet{Member: p.member, Body: b})
	}
	require.NoError(p.t, p.conn.Write(packets))
}

// next returns the next packet, or how the connection ended. It notes introductions: a message comes after that of its sender.
func (p *peer) next() (wire.Packet, error) {
	for len(p.read) == 0 {
		packets, err := p.conn.Read()
		if err != nil {
			return wire.Packet{}, err
		}
		for _, packet := range packets {
			switch body := packet.Body.(type) {
			case wire.Introduce:
				require.Zero(p.t, packet.Member, "it is for all members")
				require.NotContains(p.t, p.names, body.Client, "a client is introduced once")
				if p.names == nil {
					p.names = make(map[metasim.ClientID]string)
				}
				p.names[body.Client] = body.Name
				continue
			case *metasim.Deliver:
				require.Contains(p.t, p.names, body.Message.From)
			}
			p.read = append(p.read, packet.Keep())
		}
	}
	packet := p.read[0]
	p.read = p.read[1:]
	return packet, nil
}

// hear returns the next message, which is a T.
func hear[T wire.Body](p *peer) T {
	p.t.Helper()
	packet, err := p.next()
	require.NoError(p.t, err)
	require.Equal(p.t, p.member, packet.Member)
	require.IsType(p.t, *new(T), packet.Body, "%+v", packet.Body)
	return packet.Body.(T)
}

// hangsUp is the server's: nothing comes before it.
func (p *peer) hangsUp() {
	p.t.Helper()
	packet, err := p.next()
	require.Error(p.t, err, "%+v", packet)
}

func hello(name string) wire.Hello { return wire.Hello{Version: wire.Version, Name: name} }

// join joins these clients, each on a connection of its own, and hears the start if they are all.
func (r *running) join(hellos ...wire.Hello) []*peer {
	r.t.Helper()
	var peers []*peer
	for _, h := range hellos {
		p := r.dial()
		p.say(h)
		require.Equal(r.t, wire.Welcome{Scenario: "test", Seed: 7}, hear[wire.Welcome](p))
		r.peers[h.Name] = p
		peers = append(peers, p)
	}
	return peers
}

func (r *running) start(hellos ...wire.Hello) []*peer {
	r.t.Helper()
	peers := r.join(hellos...)
	for _, p := range peers {
		hear[wire.Start](p)
	}
	return peers
}

// idle waits for nothing but messages.
func idle(acked uint64) *metasim.PollWait {
	return &metasim.PollWait{
		Report: metasim.Report{NextEvent: metasim.Infinity, Acked: acked}, Want: metasim.Infinity, Messages: true,
	}
}

// until waits for an instant, and says that it is at another.
func until(now, want metasim.Instant) *metasim.PollWait {
	return &metasim.PollWait{Report: metasim.Report{Now: now, NoSendBefore: now, NextEvent: want}, Want: want, Messages: true}
}

// at is a time in milliseconds.
func at(ms metasim.Time) metasim.Instant { return metasim.At(ms * metasim.Millisecond) }

// leave ends a peer as it should.
func (p *peer) leave() {
	p.t.Helper()
	p.say(&metasim.Leave{})
	hear[wire.Goodbye](p)
}

// pass lets fake time pass.
func pass(d time.Duration) { <-time.After(d) }
