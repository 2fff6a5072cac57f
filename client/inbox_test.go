package client

import (
	"context"
	"net"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/wire"
)

// A waitedFor is a connection in which something happens while it is read.
type waitedFor struct {
	wire.Prompt
	meanwhile func()
	closed    bool
}

func (c *waitedFor) Read() ([]wire.Packet, error) {
	c.meanwhile()
	if c.closed {
		return nil, net.ErrClosed
	}
	return []wire.Packet{{Body: &metasim.Advance{}}}, nil
}

func (c *waitedFor) Close() error {
	c.closed = true
	return nil
}

// The context of a call that has returned ends, as with defer cancel(), and the goroutine that it wakes comes when the next call waits already:
// that call goes on. The context of the call that waits ends the wait.
func TestTheContextOfAnotherCallEndsNoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &waitedFor{}
		in := &ownInbox{conn: conn}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		conn.meanwhile = func() { in.wake(over.Done()) }
		_, err := in.wait(t.Context())
		require.NoError(t, err)

		ctx, cancel := context.WithCancel(t.Context())
		conn.meanwhile = func() {
			cancel()
			synctest.Wait()
		}
		_, err = in.wait(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.True(t, conn.closed)
	})
}
