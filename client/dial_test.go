package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/internal/shortdir"
	"metasim/metasim"
	"metasim/server"
	"metasim/wire/transport/all"
	"metasim/wire/transport/secure"
)

// freePort is a port of the loopback interface at which nobody listens: where that has many addresses, on one that no other test uses, so that
// the port stays free.
func freePort(t *testing.T) string {
	host := "127.0.0.1"
	if runtime.GOOS == "linux" {
		host = fmt.Sprintf("127.83.%d.%d", 1+os.Getpid()/250%250, 1+os.Getpid()%250)
	}
	l, err := net.Listen("tcp", host+":0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().String()
}

// A client that is started before its server joins when that listens, over each transport that has an address before.
func TestStartedBeforeTheServer(t *testing.T) {
	identity, err := secure.NewServer(secure.Files{}) // its pin is in the address of tls and quic
	require.NoError(t, err)
	table := all.TableOf(identity)
	for _, scheme := range []string{"unix", "shm", "tcp", "tls", "quic"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			address, url := freePort(t), ""
			switch scheme {
			case "unix", "shm":
				address = filepath.Join(shortdir.Make(t), "s")
				url = scheme + "://" + address
			case "tcp":
				url = scheme + "://" + address
			default:
				url = identity.URL(scheme, address)
			}
			var log bytes.Buffer
			looked := make(chan struct{}, 1000)
			options := []client.Option{
				client.WithStartTimeout(2 * time.Minute), client.WithTransports(table),
				client.WithLogger(slog.New(slog.NewTextHandler(writer(func(b []byte) (int, error) { looked <- struct{}{}; return log.Write(b) }), nil))),
			}
			joined := make(chan error, 1)
			go func() {
				c, err := client.NewBuilder("early").Complete(t.Context(), append(options, client.WithServer(url))...)
				if err == nil {
					err = c.Leave(t.Context())
				}
				joined <- err
			}()
			if scheme == "quic" { // it would find out after ten seconds that nobody is there
				firstPacket(t, address)
			} else {
				<-looked
			}
			srv, err := server.New(server.Config{Core: metasim.Config{Clients: []string{"early"}}})
			require.NoError(t, err)
			l, err := table.Listen(scheme, address)
			require.NoError(t, err)
			go func() { _ = srv.Accept(l) }() // Serve says how the run ended
			require.NoError(t, srv.Serve(t.Context()))
			require.NoError(t, <-joined)
			lines := []string{"joining", "joined", "left"}
			if scheme != "quic" {
				lines = append(lines, "the server does not listen yet")
			}
			for _, line := range lines {
				require.Equal(t, 1, strings.Count(log.String(), `msg="`+line)+strings.Count(log.String(), "msg="+line+" "), "%s: %s", line, log.String())
			}
		})
	}
}

// firstPacket waits for the first packet that somebody sends to an address at which nobody will answer.
func firstPacket(t *testing.T, address string) {
	socket, err := net.ListenPacket("udp", address)
	require.NoError(t, err)
	_, _, err = socket.ReadFrom(make([]byte, 2000))
	require.NoError(t, errors.Join(err, socket.Close()))
}

type writer func(b []byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// What no waiting mends fails at once, and the wait has an end.
func TestStartTimeout(t *testing.T) {
	complete := func(url string, d time.Duration) error {
		_, err := client.NewBuilder("a").Complete(t.Context(), client.WithServer(url), client.WithStartTimeout(d))
		return err
	}
	require.ErrorContains(t, complete("unix://"+filepath.Join(t.TempDir(), "s"), 50*time.Millisecond), "nobody listened within ")
	// On a busy machine the time may be over while the last attempt is under way: then that says so.
	require.Regexp(t, "nobody listened within .*, as long as WithStartTimeout allows: (nobody listens at|dial) tcp://", complete("tcp://"+freePort(t), 50*time.Millisecond).Error())
	require.ErrorContains(t, complete("carrier://pigeon", time.Hour), "no transport has the scheme")
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	_, err := client.NewBuilder("a").Complete(ctx, client.WithServer("tcp://"+freePort(t)), client.WithStartTimeout(time.Hour))
	require.ErrorIs(t, err, enough)
}
