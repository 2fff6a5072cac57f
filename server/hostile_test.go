package server_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/shortdir"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/transport/stream"
)

// unix lets the server listen on a socket too, and returns its path.
func (r *running) unix() string {
	r.t.Helper()
	path := filepath.Join(shortdir.Make(r.t), "s")
	l, err := stream.Unix().Listen("unix://" + path)
	require.NoError(r.t, err)
	accepted := make(chan error, 1)
	go func() { accepted <- r.Accept(l) }()
	r.t.Cleanup(func() {
		<-r.ended
		require.NoError(r.t, <-accepted)
	})
	return path
}

// nonsense is what no metasim peer sends, and what is said of it.
var nonsense = []struct{ name, bytes, is string }{
	{"text", "GET / HTTP/1.1\r\nHost: metasim\r\n\r\n", "it sent what is not the protocol: "},
	{"4 GiB", "\xff\xff\xff\xff", "it sent what is not the protocol: "},
	{"zeros", strings.Repeat("\x00", 100), "it sent what is not the protocol: "},
	{"half a frame", "\x10\x00\x00\x00half", "it sent what is not the protocol: "},
}

// A connection on which no client has joined is closed if it sends garbage. The run goes on.
func TestGarbageBeforeJoin(t *testing.T) {
	r := serve(t, config("a"))
	path := r.unix()
	for _, n := range nonsense {
		conn, err := net.Dial("unix", path)
		require.NoError(t, err)
		_, err = io.WriteString(conn, n.bytes)
		require.NoError(t, err)
		require.NoError(t, conn.(*net.UnixConn).CloseWrite())
		if n.name != "half a frame" { // its end is there
			refused, err := wire.NewReader(conn, "server").Read()
			require.NoError(t, err)
			require.Equal(t, wire.BadMessage, refused[0].Body.(wire.Refuse).Reason)
		}
		_, err = io.Copy(io.Discard, conn) // until the server closes
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	r.start(hello("a"))[0].leave()
	require.NoError(t, r.end())
}

// Garbage from a client ends the run, and names it.
func TestGarbageAfterJoin(t *testing.T) {
	for _, n := range nonsense {
		t.Run(n.name, func(t *testing.T) {
			r := serve(t, config("a", "b"))
			b := r.join(hello("b"))[0]
			raw, err := net.Dial("unix", r.unix())
			require.NoError(t, err)
			a := &peer{t: t, conn: stream.New(raw, "server")}
			a.say(hello("a"))
			hear[wire.Welcome](a)
			hear[wire.Start](a)
			_, err = io.WriteString(raw, n.bytes)
			require.NoError(t, err)
			require.NoError(t, raw.(*net.UnixConn).CloseWrite())
			var lost *server.LostError
			require.ErrorAs(t, r.end(), &lost)
			require.Equal(t, "a", lost.Client)
			require.True(t, strings.HasPrefix(lost.Cause, n.is), lost.Cause)
			hear[wire.Start](b)
			require.Contains(t, hear[wire.Refuse](b).Text, n.is)
			if n.name != "half a frame" { // its end is there
				refused := hear[wire.Refuse](a)
				require.Equal(t, wire.BadMessage, refused.Reason)
				require.Contains(t, refused.Text, "speak the metasim protocol")
			}
			a.hangsUp()
			require.NoError(t, a.conn.Close())
		})
	}
}

// A peer that announces a long frame and then is silent is slow, not dead: it delays no client that does not wait for it.
func TestSilentPeer(t *testing.T) {
	r := serve(t, config("a"))
	raw, err := net.Dial("unix", r.unix())
	require.NoError(t, err)
	_, err = raw.Write(binary.LittleEndian.AppendUint32(nil, wire.MaxFrame))
	require.NoError(t, err)
	r.start(hello("a"))[0].leave()
	require.NoError(t, r.end())
	require.NoError(t, raw.SetReadDeadline(time.Now().Add(20*time.Second)))
	_, err = raw.Read(make([]byte, 1))
	if !errors.Is(err, syscall.ECONNRESET) { // the server had not read all
		require.ErrorIs(t, err, io.EOF, "the server has closed the connection")
	}
	require.NoError(t, raw.Close())
}

// A socket whose peer does not read keeps a run that is over from ending for the time of a farewell.
func TestSocketThatIsNotRead(t *testing.T) {
	c := config("a", "b")
	c.Core.Ahead = 64 << 20
	srv, err := server.New(c)
	require.NoError(t, err)
	path := filepath.Join(shortdir.Make(t), "s")
	l, err := stream.Unix().Listen("unix://" + path)
	require.NoError(t, err)
	accepted, ended := make(chan error, 1), make(chan error, 1)
	go func() { accepted <- srv.Accept(l) }()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { ended <- srv.Serve(ctx) }()
	raw, err := net.Dial("unix", path)
	require.NoError(t, err)
	p := &peer{t: t, conn: stream.New(raw, "server")}
	p.say(mutual("a"))
	p.member = 1
	p.say(mutual("b"))
	for range 4 {
		_, err = p.next()
		require.NoError(t, err)
	}
	payload := strings.Repeat("x", 4<<20)
	for range 4 {
		p.say(sendX(payload))
	}
	p.say(idle(0))
	p.member = 0
	p.say(idle(0))
	cancel(errTestOver)
	select {
	case err = <-ended:
		require.ErrorIs(t, err, errTestOver)
	case <-time.After(20 * time.Second):
		require.Fail(t, "the run does not end")
	}
	require.NoError(t, <-accepted)
	require.NoError(t, p.conn.Close())
}
