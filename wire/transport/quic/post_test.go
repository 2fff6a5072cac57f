package quic

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/wire/transport/secure"
)

// Messages and datagrams arrive; one that is too long, or from who has another token, does not.
func TestPost(t *testing.T) {
	s, err := secure.NewServer(secure.Files{})
	require.NoError(t, err)
	require.NoError(t, s.Admit(true, "sesame"))
	refused := make(chan string, 10)
	o, err := ListenPost("quic://127.0.0.1:0", s, func(who net.Addr, why error) { refused <- fmt.Sprint(who, ": ", why) })
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	received, ended := make(chan []byte, 10), make(chan error, 1)
	go func() { ended <- o.Receive(ctx, func(b []byte, _ *Caller) { received <- b }) }()

	p, err := DialPost(ctx, o.URL(), "sesame")
	require.NoError(t, err)
	require.NoError(t, p.Send(ctx, make([]byte, maxPost+1)))
	long := bytes.Repeat([]byte("long"), maxPost/4)
	require.NoError(t, p.Send(ctx, long))
	require.True(t, bytes.Equal(long, <-received))
	require.NoError(t, p.SendDatagram([]byte("short")))
	require.Equal(t, "short", string(<-received))
	require.Error(t, p.SendDatagram(make([]byte, 100_000)))

	stranger, err := DialPost(ctx, o.URL(), "other")
	if err == nil { // a handshake ends before the listener has looked at the certificate
		require.Eventually(t, func() bool { err = stranger.Send(ctx, []byte("wrong")); return err != nil }, time.Minute, time.Millisecond)
		require.NoError(t, stranger.Close())
	}
	require.ErrorContains(t, err, "give METASIM_TOKEN as the server wrote it")
	require.Regexp(t, `^127\.0\.0\.1:\d+: the certificate of the client follows from no token`, <-refused)
	require.Empty(t, received)
	require.NoError(t, p.Close())
	cancel()
	require.NoError(t, <-ended)

	_, err = DialPost(t.Context(), "quic://127.0.0.1:1", "sesame")
	require.ErrorContains(t, err, "does not pin")
	_, err = ListenPost("quic://192.0.2.1:0", s, nil)
	require.ErrorContains(t, err, "use a free port")
}
