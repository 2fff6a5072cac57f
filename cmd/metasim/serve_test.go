package main

import (
	"context"
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport/all"
)

// A served is a `metasim serve` that clients can reach.
type served struct {
	*running
	url, token string
}

// serve starts to serve, and waits for the ready file, which is there as a whole or not at all.
func (s *stage) serve(args ...string) *served {
	s.Helper()
	file := filepath.Join(s.dir, "ready")
	p := s.start([]string{"METASIM_TOKEN=sesame"}, append([]string{"serve", "--json", "--ready-file", file}, args...)...)
	url := p.readyURL(file)
	require.NoError(s, os.Remove(file))
	return &served{p, url, "sesame"}
}

// readyURL waits for a ready file, and returns the address in it.
func (p *running) readyURL(file string) (url string) {
	p.Helper()
	if !filepath.IsAbs(file) {
		file = filepath.Join(p.dir, file)
	}
	require.Eventually(p, func() bool {
		b, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		require.True(p, strings.HasSuffix(string(b), "\n"), "half a file: %q", b)
		url = strings.TrimSpace(string(b))
		return true
	}, patience/2, time.Millisecond, "not ready: %s", &p.err)
	return url
}

// join starts `metasim client`, as somebody at another terminal would.
func (p *served) join(name string, args ...string) *running {
	p.Helper()
	env := []string{"METASIM_SERVER=" + p.url, "METASIM_CLIENT=" + name, "METASIM_TOKEN=" + p.token}
	return p.stage.start(env, append([]string{"client"}, args...)...)
}

func (p *served) pinger() *running {
	return p.join("pinger", "ping", "--with", "rounds=10", "--with", "out=PING", "--with", "in=PONG")
}

func (p *served) ponger() *running {
	return p.join("ponger", "echo", "--with", "in=PING", "--with", "out=PONG")
}

// done waits for the end of a run that is as it should be.
func (p *served) done() {
	p.Helper()
	e := p.wait()
	require.Equal(p, 0, e.status)
	var o outcome
	e.object(p, &o)
	require.Equal(p, pingPongDigest, o.Digest)
	p.clean()
}

// external is ping-pong, with clients that somebody else starts.
var external = strings.NewReplacer("model: ping, with: {rounds: 10, out: PING, in: PONG}", "external: true",
	"model: echo, with: {in: PING, out: PONG}", "external: true").Replace(pingPong)

func TestServe(t *testing.T) {
	for _, transport := range []string{"unix", "tcp", "quic", "shm"} {
		for _, order := range []string{"pinger first", "ponger first"} {
			t.Run(transport+" "+order, func(t *testing.T) {
				s := raced(t)
				s.file("p.yaml", external)
				p := s.serve("p.yaml", "--transport", transport)
				require.True(t, strings.HasPrefix(p.url, transport+"://"))
				clients := []func() *running{p.pinger, p.ponger}
				if order == "ponger first" {
					clients[0], clients[1] = clients[1], clients[0]
				}
				first := clients[0]()
				second := clients[1]()
				require.Equal(t, 0, first.wait().status)
				require.Equal(t, 0, second.wait().status)
				p.done()
				require.Contains(t, p.err.String(), "METASIM_SERVER="+p.url+"\n")
			})
		}
	}
}

// A run with an external client says where it is to be reached, whatever its transport.
func TestRunExternal(t *testing.T) {
	s := raced(t)
	s.file("p.yaml", strings.Replace(pingPong, "model: echo, with: {in: PING, out: PONG}", "external: true", 1))
	p := s.start([]string{"METASIM_TOKEN=sesame"}, "run", "--json", "p.yaml", "--ready-file", "r")
	q := &served{p, p.readyURL("r"), "sesame"}
	e := q.join("nobody", "sink", "--with", "channels=[A]").wait()
	require.Equal(t, 1, e.status)
	e.says(t, `has no client "nobody"; name it there, or join as one of: ["ponger"]`)
	require.Equal(t, 0, q.ponger().wait().status)
	q.done()
	require.Contains(t, p.err.String(), "METASIM_SERVER="+q.url+"\nMETASIM_TOKEN=sesame\n")
}

// Who is not let in is told why, and the others do not notice.
func TestRefused(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", external)
	p := s.serve("p.yaml")
	wrong := *p
	wrong.token = "guess"
	e := wrong.pinger().wait()
	require.Equal(t, 1, e.status)
	e.says(t, `"pinger"`, "token", "METASIM_TOKEN")
	e = p.join("nobody", "sink", "--with", "channels=[A]").wait()
	require.Equal(t, 1, e.status)
	e.says(t, `"nobody"`, `"pinger"`)

	refuse := func(h wire.Hello) wire.Refuse {
		conn := p.dial()
		defer func() { require.NoError(t, conn.Close()) }()
		require.NoError(t, conn.Write([]wire.Packet{{Body: h}}))
		packets, err := conn.Read()
		require.NoError(t, err)
		return packets[0].Body.(wire.Refuse)
	}
	r := refuse(wire.Hello{Version: 99, Name: "pinger", Token: p.token})
	require.Equal(t, wire.BadVersion, r.Reason)
	require.Contains(t, r.Text, "99")
	r = refuse(wire.Hello{Version: wire.Version, Name: "pinger", Token: p.token, Subscriptions: []string{"("}})
	require.Equal(t, wire.BadMessage, r.Reason)

	// Two of one name: the second one is told, the first one takes part.
	conn := p.dial()
	defer func() { require.NoError(t, conn.Close()) }()
	require.NoError(t, conn.Write([]wire.Packet{{Body: wire.Hello{Version: wire.Version, Name: "pinger", Token: p.token}}}))
	until[wire.Welcome](t, conn)
	e = p.pinger().wait()
	require.Equal(t, 1, e.status)
	e.says(t, `"pinger"`, "joined already")
	second := p.ponger()
	until[wire.Start](t, conn)
	require.NoError(t, conn.Write([]wire.Packet{{Body: &metasim.Leave{}}}))
	until[wire.Goodbye](t, conn)
	require.Equal(t, 0, second.wait().status)
	require.Equal(t, 0, p.wait().status)
	s.clean()
}

// until reads until a message of this kind comes.
func until[B wire.Body](t *testing.T, conn wire.Conn) {
	t.Helper()
	for {
		packets, err := conn.Read()
		require.NoError(t, err)
		for _, packet := range packets {
			if _, ok := packet.Body.(B); ok {
				return
			}
		}
	}
}

func (p *served) dial() wire.Conn {
	p.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := all.Table().Dial(ctx, p.url)
	require.NoError(p, err)
	return conn
}

// Strangers who do not speak the protocol do no harm, and a run with one who does not read ends.
func TestGarbage(t *testing.T) {
	s := raced(t)
	s.file("p.yaml", external)
	p := s.serve("p.yaml", "--transport", "tcp")
	hello := "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"
	for _, bytes := range []string{
		hello, "", "\x00", "\xff\xff\xff\xff", "\xff\xff\xff\xffmore", "\x10\x00\x00\x00half", "\x00\x00\x00\x00",
		"\x05\x00\x00\x00\xff\xff\xff\xff\xff", string(binary.LittleEndian.AppendUint32(nil, 1<<26)) + strings.Repeat("x", 1<<16),
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "tcp://"))
		require.NoError(t, err)
		_, err = conn.Write([]byte(bytes))
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	// One who says nothing, and one who asks for much and does not read: they stay to the end.
	silent, err := net.Dial("tcp", strings.TrimPrefix(p.url, "tcp://"))
	require.NoError(t, err)
	defer func() { require.NoError(t, silent.Close()) }()
	first, second := p.pinger(), p.ponger()
	require.Equal(t, 0, first.wait().status)
	require.Equal(t, 0, second.wait().status)
	p.done()
}

// A client that comes when all are there, or after the end, is told so.
func TestLate(t *testing.T) {
	s := raced(t)
	s.file("p.yaml", external)
	p := s.serve("p.yaml")
	first := make(chan *client.Client, 1)
	var joining sync.WaitGroup
	joining.Go(func() {
		b := client.NewBuilder("pinger")
		c, err := b.Complete(t.Context(), client.WithTransports(all.Table()), client.WithServer(p.url), client.WithToken(p.token), client.WithName("pinger"))
		if err == nil {
			first <- c
		}
		close(first)
	})
	second := p.ponger()
	c := <-first
	joining.Wait()
	require.NotNil(t, c)
	e := p.pinger().wait()
	require.Equal(t, 1, e.status)
	e.says(t, `"pinger"`, "too late")
	require.NoError(t, c.Leave(t.Context()))
	require.Equal(t, 0, second.wait().status)
	require.Equal(t, 0, p.wait().status)
	e = p.pinger().wait()
	require.Equal(t, 1, e.status)
	e.says(t, "nobody listens")
	s.clean()
}

// Every client of the shipped PHOLD, started by hand, gives the same as when metasim starts it.
func TestServeCounted(t *testing.T) {
	s := newStage(t)
	file, err := filepath.Abs("../../scenarios/phold.metasim.yaml")
	require.NoError(t, err)
	want, _ := s.run(file, "--until", "100ms")
	p := s.serve(file, "--transport", "quic", "--until", "100ms")
	var clients []*running
	for _, name := range []string{"phold-3", "phold-0", "phold-2", "phold-1"} {
		clients = append(clients, p.join(name, "phold", "--count", "4", "--seed", "1", "--with", "lps=64", "--with", "population=4",
			"--with", "remote=0.25", "--with", "mean=10ms", "--with", "lookahead=1ms"))
	}
	for _, c := range clients {
		require.Equal(t, 0, c.wait().status)
	}
	e := p.wait()
	require.Equal(t, 0, e.status)
	var o outcome
	e.object(t, &o)
	require.Equal(t, want.Digest, o.Digest)
	for i := range want.Clients {
		require.JSONEq(t, string(want.Clients[i].Result), string(o.Clients[i].Result))
	}
	bad := p.join("phold-4", "phold", "--count", "4").wait()
	require.Equal(t, 2, bad.status)
	bad.says(t, "phold-4", "name-0 to name-3")
}
