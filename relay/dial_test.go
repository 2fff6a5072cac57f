package relay_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/relay"
	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/mem"
)

// Clients that wait while a server does not answer are told so together. Where the server has refused the token of one, the others try theirs.
func TestOneDialForAll(t *testing.T) {
	const crowd = 20
	for name, c := range map[string]struct {
		fails error
		token func(i int) string
		dials int
	}{
		"nobody listens":       {syscall.ECONNREFUSED, func(i int) string { return fmt.Sprint("token-", i) }, 1},
		"one token, refused":   {errors.New("refused"), func(int) string { return "sesame" }, 1},
		"several tokens, each": {errors.New("refused"), func(i int) string { return fmt.Sprint("token-", i) }, crowd},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net, goOn := mem.NewNet(), make(chan struct{})
				dials := 0
				rel := relay.New(relay.Config{Name: "host-1", Server: "tcp://far", Dial: func(context.Context, string, string) (wire.Conn, error) {
					dials++ // the relay dials once at a time
					<-goOn
					return nil, c.fails
				}})
				ctx, stop := context.WithCancel(t.Context())
				var relaying, clients sync.WaitGroup
				relaying.Go(func() { _ = rel.Accept(&transport.Listener{Listener: net, Private: true}) }) // it ends with the relay
				relaying.Go(func() { _ = rel.Serve(ctx) })                                                // likewise
				for i := range crowd {
					clients.Go(func() {
						conn, err := net.Dial(t.Context())
						require.NoError(t, err)
						_, err = client.NewBuilder(fmt.Sprint("c", i)).Complete(t.Context(), client.WithConn(conn), client.WithToken(c.token(i)))
						require.ErrorContains(t, err, "the relay host-1 cannot reach the server: "+c.fails.Error())
					})
				}
				synctest.Wait() // all wait for the first dial
				close(goOn)
				clients.Wait()
				require.Equal(t, c.dials, dials)
				stop()
				relaying.Wait()
			})
		})
	}
}
