package live

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/wire/transport/quic"
	"metasim/wire/transport/secure"
)

// A server that was started again has another address. What the old one did not acknowledge goes there, although the connection to the old one has not broken yet.
func TestServerThatHasMovedIsFound(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b.url")
	cert, err := secure.NewServer(secure.Files{})
	require.NoError(t, err)
	require.NoError(t, cert.Admit(true, sesame))
	old, err := quic.ListenPost("quic://127.0.0.1:0", cert, func(net.Addr, error) {})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	heard, ended := make(chan []byte, 100), make(chan error, 1)
	go func() {
		ended <- old.Receive(ctx, func(b []byte, _ *quic.Caller) {
			select {
			case heard <- b:
			default:
			}
		})
	}()
	require.NoError(t, os.WriteFile(file, []byte(old.URL()), 0o600))
	a := host(t, Config{Name: "a", Own: []string{"ball"}, Peers: map[string]string{"b": file}})
	a.commands <- Command{Give: "ball", To: "b"}
	for b := range heard { // and never acknowledges
		if _, text, err := unpack(b); err == nil && text[0] == '{' {
			break
		}
	}
	b := host(t, Config{Name: "b", Peers: map[string]string{"a": a.url}})
	require.NoError(t, os.WriteFile(file, []byte(b.url), 0o600))
	b.until(0, func(e Event) bool { return e.Event == "got" && e.Entity == "ball" })
	cancel()
	require.NoError(t, <-ended)
}
