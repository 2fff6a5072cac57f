package client_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport/mem"
)

// A host is a server by hand, for one client: it says what the test wants, and shows what the client said.
type host struct {
	t     *testing.T
	conn  wire.Conn
	hello wire.Hello
	heard chan wire.Body
	reads atomic.Int64 // writes of the client, unless several were read at once
	given uint64
	welcome
}

// A welcome is what a host tells the client at first.
type welcome struct {
	timed bool            // it asks how long the client computes
	until metasim.Instant // the end of the run
	saves wire.Checkpoint // what it says of checkpoints, if the client makes any

	patience time.Duration   // for which the client waits for it, if it dies
	known    chan wire.Known // what it has of a client that comes back
	stays    bool            // it never answers Leave
}

// theEnd is the end of the run of a host.
var theEnd = metasim.At(metasim.Second)

// join completes a client against a server by hand. The run has clients a and b, and ends at a second.
func join(t *testing.T, b *client.Builder) (*client.Client, *host) {
	t.Helper()
	return joinAs(t, b, welcome{until: theEnd})
}

func joinTimed(t *testing.T, b *client.Builder) (*client.Client, *host) {
	t.Helper()
	return joinAs(t, b, welcome{timed: true, until: theEnd})
}

func joinAs(t *testing.T, b *client.Builder, w welcome) (*client.Client, *host) {
	t.Helper()
	c, h, err := completeAs(t, b, w)
	require.NoError(t, err)
	h.hello = hears[wire.Hello](h)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		require.NoError(t, h.conn.Close())
	})
	return c, h
}

func completeAs(t *testing.T, b *client.Builder, w welcome) (*client.Client, *host, error) {
	t.Helper()
	mine, theirs := mem.Pipe("client", "server")
	h := &host{welcome: w, t: t, conn: plainConn{theirs}, heard: make(chan wire.Body, 1000)}
	go h.serve()
	c, err := b.Complete(t.Context(), client.WithConn(mine))
	return c, h, err
}

// serve answers Hello and Leave, and keeps what the client says until the connection ends.
func (h *host) serve() {
	defer close(h.heard)
	for {
		packets, err := h.conn.Read()
		if err != nil {
			return
		}
		h.reads.Add(1)
		for _, p := range packets {
			if hello, ok := p.Body.(wire.Hello); ok {
				w := wire.Welcome{Timed: h.timed, Patience: int64(h.patience)}
				if hello.Back != nil {
					known := <-h.known
					w.Known = &known
				}
				h.say(w)
				if hello.Saves {
					h.say(h.saves)
				}
				h.say(wire.Start{Until: h.until}, wire.Introduce{Client: 1, Name: "b"})
			}
			if _, ok := p.Body.(*metasim.Leave); ok && !h.stays {
				_ = h.conn.Write([]wire.Packet{{Body: wire.Goodbye{}}}) // a client whose Leave was interrupted is gone
			}
			h.heard <- p.Keep().Body
		}
	}
}

func (h *host) say(bodies ...wire.Body) {
	h.t.Helper()
	var packets []wire.Packet
	for _, b := range bodies {
		packets = append(packets, wire.Packet{Body: b})
	}
	require.NoError(h.t, h.conn.Write(packets))
}

// grant authorizes the client to go on before an instant, and delivers messages before that, due at these.
func (h *host) grant(until metasim.Instant, dues ...metasim.Instant) {
	h.t.Helper()
	for _, due := range dues {
		h.given++
		h.say(&metasim.Deliver{Number: h.given, Message: metasim.Message{
			From: 1, Seq: h.given, Channel: "X", Due: due, Payload: []byte(due.String()),
		}})
	}
	h.say(&metasim.Authorize{Until: until})
}

// hears returns the next thing that the client said, which is a T.
func hears[T wire.Body](h *host) T {
	h.t.Helper()
	select {
	case body := <-h.heard:
		require.IsType(h.t, *new(T), body, "%+v", body)
		return body.(T)
	case <-time.After(20 * time.Second):
		require.Fail(h.t, "the client says nothing")
		return *new(T)
	}
}

// silent is a client that has said nothing that the test has not heard.
func (h *host) silent() {
	h.t.Helper()
	select {
	case body, open := <-h.heard:
		require.False(h.t, open, "the client said %T %+v", body, body)
	default:
	}
}

// quits has the client leave.
func (h *host) quits(c *client.Client) *metasim.Leave {
	h.t.Helper()
	require.NoError(h.t, c.Leave(h.t.Context()))
	return hears[*metasim.Leave](h)
}

func ms(n metasim.Time) metasim.Instant { return metasim.At(n * metasim.Millisecond) }

func msStep(n metasim.Time, step uint32) metasim.Instant {
	return metasim.Instant{Time: n * metasim.Millisecond, Step: step}
}

// dues are the instants of messages.
func dues(msgs []client.Message) (is []metasim.Instant) {
	for _, m := range msgs {
		is = append(is, m.Due)
	}
	return is
}
