package relay

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"

	"metasim/metasim"
	"metasim/wire"
)

// A Config says what a relay is to do.
type Config struct {
	// Name says for people which relay this is: "host-3 pid 812".
	Name string
	// Server is the URL of the server.
	Server string
	// Dial connects to the server. The token is that of the client that is to join first.
	Dial func(ctx context.Context, url, token string) (wire.Conn, error)
	// Token lets a client of a listener that is not private say a Hello of more than 4 KiB at once. Empty: nobody may.
	Token string
	Log   *slog.Logger // nil: nothing is logged
}

// A Relay passes on what the clients of this host and the server say.
type Relay struct {
	config     Config
	visitors   chan struct{} // one element for each visitor
	over       chan struct{} // closed when the relay has ended
	err        error         // how; set before
	goroutines sync.WaitGroup
	dialing    chan struct{} // has an element while the far connection is opened

	mu     sync.Mutex // guards what follows, and all members
	dials  int        // that have ended
	dialed dialed     // the last of them
	locals map[*local]struct{}
	far    *far   // nil: there is no connection
	next   uint32 // the number of the next member on the far connection
	lives  int    // how many connections were lost whose clients come back
}

// A dialed is how a dial ended, with a client's token.
type dialed struct {
	token string
	err   error
}

// A local is a connection of this host, with one client or many.
type local struct {
	relay   *Relay
	conn    wire.Conn
	out     *outbox
	packets []wire.Packet // of its reader: what goes on from the last Read

	members    map[uint32]*member // by the number that the peer chose
	introduced map[metasim.ClientID]struct{}
	batch      []wire.Packet // of the far reader: what it has for the connection
	refused    bool          // likewise: it is to be closed
	visitor    func()        // gives back the place of a visitor; nil: it is none
}

// The far is a connection to the server.
type far struct {
	relay   *Relay
	conn    wire.Conn
	out     *outbox
	members map[uint32]*member // by the relay's number
	names   map[metasim.ClientID]string
	joined  bool     // a client has joined: the connection is that of the run
	said    string   // what the server said to nobody
	failed  string   // why it has ended a client that had joined, the first time
	touched []*local // of the reader: those that have a batch
}

// A member is a client, with its numbers on both connections.
type member struct {
	local  *local
	name   string
	number uint32 // on its own connection
	far    uint32 // on the far connection
	joined bool   // the server has welcomed it
	// patience is for how many nanoseconds of real time the client waits for a server that has died, and then comes back; 0: it does not
	patience int64
	last     bool // it has said its last message
	done     bool // it was told its last message
}

// ended reports whether the relay has ended.
func (r *Relay) ended() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// how says in words how a connection ended.
func how(err error) string {
	switch malformed := new(wire.ProtocolError); {
	case errors.Is(err, io.EOF):
		return "was closed"
	case errors.As(err, &malformed):
		return "it sent what is not the protocol: " + err.Error()
	}
	return "broke: " + err.Error()
}
