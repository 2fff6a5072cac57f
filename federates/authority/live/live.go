// Package live is a simulation server as a program of its own: the machine of package transfer, outside of a run. Servers say to each other over QUIC what
// clients of a run say over the dispatcher; each message is a stream.
//
// What a server must not forget is written down before what it says is sent. So a server that is killed, whenever, and started again owns nothing that
// it has handed over, and hands over what it has promised.
package live

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"metasim/federates/authority/balls"
	"metasim/federates/authority/homeclient"
	"metasim/federates/authority/pieces"
	"metasim/federates/authority/seal"
	"metasim/federates/authority/shard"
	"metasim/federates/authority/transfer"
	"metasim/internal/filelock"
	"metasim/metasim"
	"metasim/wire/transport/quic"
)

// Config says what a server is.
type Config struct {
	Name   string
	Listen string            // host:port; port 0: a free one
	Data   string            // a directory, which is made: what must not be forgotten
	Token  string            // that all servers of a world know
	Peers  map[string]string // the other servers: a URL as Ready is called with, or a file that holds it, which is read before each connection
	Own    []string          // what it owns at the beginning, where Data has nothing
	Step   metasim.Time      // of the simulation; above 0
	Retry  metasim.Time      // after which it says again what has not been answered; above 0

	Home   *Home         // its homeserver; nil: it has none, and hands over directly
	Master transfer.Mind // what it answers where it is the master of an entity; Silent: whoever commands it does
	World  *World        // balls that it moves together with others; nil: its entities do not move
}

// A ConfigError says what of a Config makes no sense.
type ConfigError struct{ Field, Why string }

func (e *ConfigError) Error() string { return e.Field + " " + e.Why }

// Validate says what makes no sense.
func (c *Config) Validate() error {
	switch {
	case c.Name == "" || len(c.Name) > maxName:
		return &ConfigError{"the name", fmt.Sprintf("has %d bytes; write 1 to %d", len(c.Name), maxName)}
	case strings.HasPrefix(c.Name, ".") || strings.ContainsFunc(c.Name, notInNames):
		return &ConfigError{"the name", fmt.Sprintf("is %q; write letters, digits, '-', '_' and '.', not '.' first: a file has it", c.Name)}
	case c.Data == "":
		return &ConfigError{"the directory", "is not named; name one, in which the server keeps what it owns"}
	case c.Token == "":
		return &ConfigError{"the token", "is empty; write one that all servers of the world know"}
	case c.Peers[c.Name] != "":
		return &ConfigError{"the peers", "have the server itself; name the others"}
	case c.Step <= 0 || c.Retry <= 0:
		return &ConfigError{"Step or Retry", "is not above 0; write a time"}
	}
	for _, entity := range c.Own {
		if entity == "" || len(entity) > maxEntity || strings.ContainsFunc(entity, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return &ConfigError{"an entity", fmt.Sprintf("is %q; write 1 to %d bytes without spaces", entity[:min(len(entity), maxEntity)], maxEntity)}
		}
	}
	if c.Home != nil {
		if err := c.Home.validate(c); err != nil {
			return err
		}
	}
	if c.World != nil {
		return c.World.validate(c)
	}
	return nil
}

const (
	maxName   = 255 // bytes of the name of a server: one byte says how long it is
	maxEntity = 128 // bytes of the name of an entity: no homeserver keeps a longer one
)

// notInNames reports whether no name of a server has a character: a name is that of a file, and of an account.
func notInNames(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
}

// A Command is what a person tells a server to do; the zero Command has it say what it owns, and what it has heard of others.
type Command struct {
	Give, To string // an entity, and to whom
	Take     string // an entity
	Rule     transfer.Rule
	Of       string // the entity of Rule
	Answer   string // an entity: what the server was asked last about it, as its master, is answered
	Yes      bool
	Leave    bool // what a World balances is given away; an event left says when nothing needs the server any more
}

// An Event is what happened at a server.
type Event struct {
	Event  string            `json:"event"` // ready, owns (in the beginning, or asked), heard (a message), asked (as the master), got, gave, removed (from its homeserver), refused, left (nothing needs this server any more), unreached (another server), late (a handover), wrong
	URL    string            `json:"url,omitempty"`
	NS     int64             `json:"ns,omitempty"` // Unix time
	Entity string            `json:"entity,omitempty"`
	Epoch  transfer.Sequence `json:"epoch"`
	Heard  *Heard            `json:"heard,omitempty"`
	Reason transfer.Reason   `json:"reason,omitempty"`
	Owns   []string          `json:"owns,omitempty"`
	Sees   map[string]Sight  `json:"sees,omitempty"` // what others own, by entity, as they said last
	Error  string            `json:"error,omitempty"`
	From   string            `json:"from,omitempty"` // who has sent what is wrong or late, as it says
	To     string            `json:"to,omitempty"`   // who is not reached
}

// A Heard is a message that has arrived: who asked for what, and how many hops it has travelled.
type Heard struct {
	From      string        `json:"from"`
	Kind      transfer.Kind `json:"kind"`
	Requester string        `json:"requester"`
	ID        uint64        `json:"id"`
	Owner     string        `json:"owner,omitempty"`
	Trail     []string      `json:"trail"`
	Hops      int           `json:"hops"`
	Sealed    bool          `json:"sealed"`               // its sender is proven
	SentNS    []int64       `json:"sent_ns,omitempty"`    // Unix time at which each of the trail has sent it, by its clock
	LatencyNS []int64       `json:"latency_ns,omitempty"` // of each hop: from one sending to the next, and at last to when it was received here
}

// A server is a running one.
type server struct {
	cfg       Config
	kept      kept
	sim       *transfer.Simserver
	out       map[string]*mailer
	tell      func(Event)
	seen      map[string]Sight
	written   []byte // of what the file holds, who owns what and what was said
	writtenAt time.Time
	told      time.Time // when others were told last of what it owns
	effects   int
	given     int
	refused   int
	removed   map[string]bool // what it let go of since the last report, as it was removed; looked up, never iterated
	leaving   bool            // it was told to leave, and has not said yet that it has left

	home    *homeLink
	world   *world
	notes   chan Event        // what goroutines beside the main loop have to tell
	noted   map[string]notice // what was told of them last, by Event.To
	lookers map[*quic.Caller]*looker
	shown   time.Time                   // when they were shown the last picture
	asked   map[string]transfer.Message // what it was asked last as the master, by entity
}

// newServer returns one, which neither owns nor hears anything yet.
func newServer(cfg Config, tell func(Event)) *server {
	return &server{
		cfg: cfg, out: map[string]*mailer{}, seen: map[string]Sight{}, asked: map[string]transfer.Message{}, removed: map[string]bool{}, lookers: map[*quic.Caller]*looker{},
		notes: make(chan Event, 16), noted: map[string]notice{},
		tell: func(e Event) { e.NS = time.Now().UnixNano(); tell(e) },
	}
}

// A notice is what was told last of something that lasts.
type notice struct {
	text string
	at   time.Time
}

// A parcel is what has come from another server.
type parcel struct {
	from   string
	text   []byte
	sealed bool
	says   transfer.Message  // sealed: what text says
	epoch  transfer.Sequence // sealed: of the entity, when the homeserver was asked
	doubt  error             // sealed: why it is not proven
	caller *quic.Caller      // over whose connection it came
	err    error             // why it is not taken
}

// Run runs a server until ctx ends. Commands are carried out in order; tell is called with each event, on this goroutine.
func Run(ctx context.Context, cfg Config, commands <-chan Command, tell func(Event)) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	s := newServer(cfg, tell)
	lock, err := s.lock()
	if err != nil {
		return err
	}
	cert, err := s.open()
	if err == nil {
		err = s.run(ctx, cert, commands)
	}
	return errors.Join(err, filelock.Close(lock))
}

// A Home is the homeserver of a server: what the server asks goes there, and what is for it waits there.
type Home struct {
	Name     string // by which the homeserver signs what it passes on
	At       string // its URL, or a file that has it
	Token    string // of the account there, whose name is that of the server
	Instance string // of the homeservers
	CertFile string // as that of homeclient.Config
	Rule     transfer.Rule
	Master   string // of the entities that the server brings; empty: the server itself
}

// An entry is what a homeserver says of another server.
type entry struct {
	url string
	key seal.PublicKey
	at  time.Time // when it said so
}

// A trusted is what the homeserver has said of an entity: who signs its owners.
type trusted struct {
	keys  map[string]seal.PublicKey
	epoch transfer.Sequence
	at    time.Time
}

// freshFor is how long what the homeserver has said of a server is not asked again because of a key that is not known, and for how long who has handed over what it could not prove has it not asked.
const freshFor = 100 * time.Millisecond

// trustFor is how long the keys of an entity count without being asked for again: an admin may have removed one.
const trustFor = time.Minute

// A letter that waits at the homeserver.
type waiting struct {
	Number  uint64           `json:"number"`
	Message transfer.Message `json:"message"`
}

// An entered is an entity that the server has brought, and owns.
type entered struct {
	entity string
	epoch  transfer.Sequence
}

// A batch is what the homeserver had for this server. When done is closed what it led to is written down.
type batch struct {
	letters []waiting
	done    chan struct{}
}

// A homeLink is what a server has of its homeserver; nil: it has none.
type homeLink struct {
	cfg    *Home
	self   string
	url    string
	own    []string
	key    seal.PrivateKey
	client *homeclient.Client

	registered string // what it says so that it gets no mail that is for another process of its name
	fetched    chan batch
	entered    chan entered
	trouble    chan string
	ends       chan error // why the server cannot go on
	says       chan transfer.Message

	mu       sync.Mutex // what follows
	known    map[string]entry
	openings map[string]*opening
	trusted  map[string]trusted // by entity
	last     string             // the trouble that was told last
}

// A mailer sends to one server. What it cannot send it drops: the machine says it again.
type mailer struct {
	server *server
	to     string
	at     string // a URL or a file with it; empty: the homeserver knows it
	waits  chan letter
	link   sealing

	dialled entry // where the connection goes
}

// A letter is what one server sends to another.
type letter struct {
	text     []byte
	datagram bool // it may be lost
	again    bool // it was said before, and not acknowledged
}

const (
	mailWaits = 256             // messages that wait at most
	dialTime  = 2 * time.Second // for a connection
)

// A sealing is what a server seals for another one with.
type sealing struct {
	to     entry
	sealer *seal.Sealer
	with   string // the key for which sealer is
}

// An opening is what a server opens messages of another one with.
type opening struct {
	mu     sync.Mutex
	from   entry
	opener *seal.Opener

	doubted time.Time // when it last handed over what it could not prove
}

// A World is what a server does with balls that it moves in a square, together with others: package shard, as in a run. What the servers say to each other of
// them are datagrams, which may be lost.
type World struct {
	Servers []string // all of the world, this one too
	Balls   int64    // that this server brings
	Resting int64    // how many of them rest
	Seed    uint64
	Side    int64 // of the square, in micrometres
	Sees    int64 // micrometres
	Reach   int64 // from ball to ball where they touch, in micrometres; 0: they never do
	Tick    metasim.Time
	Balance metasim.Time // from one comparison of work to the next; 0: never
	Window  uint64       // bytes on the way to one server
	Packet  uint64       // bytes of a packet: where they are more than a datagram takes, it is split
	Reads   uint64       // bytes of updates that it reads in a tick; 0: all
}

// A world is a World while it goes on; nil: there is none.
type world struct {
	cfg   *World
	shard *shard.Shard
	names []string
	field balls.Field
	split map[string]*pieces.Splitter // by server; looked up, never iterated
	join  map[string]*pieces.Joiner   // likewise
	begun uint64                      // Unix time in ns, without its last 16 bits: the session of what this server splits
}

// The first bytes of datagrams beside those that tell what a server owns: a piece of a packet; and, of who looks, that it wants to be shown what the server owns for a
// while, which it is over the same connection, in pieces of JSON.
const (
	pieceDatagram   = 4
	lookDatagram    = 5
	pictureDatagram = 6
)

// A kept is the file of a server.
type kept struct {
	Origin int64          `json:"origin"` // when its time began: ns since 1970; 0: in 1970, which all servers have in common
	Cert   []byte         `json:"cert"`   // with its key, so that others find the server again
	State  transfer.Saved `json:"state"`
	World  []shard.Kept   `json:"world,omitempty"` // whose touches count, with balls
}
