// Package home is a homeserver that programs ask: accounts, public keys, entities, and who owns an entity, who is its master, and by which rule.
// What it decides about owners is package transfer; here is what may be asked, as values: a request and the time come in, a response
// and commands for the tree go out. It opens no connection, and knows no clock.
//
// The caller's duties:
//
//  1. Handle reads a state of the tree, and its commands are applied to that state, or none of them is: one transaction.
//  2. The address of a request is where it really came from, and its Fresh text is random and used once.
//  3. Each Audit is written down, also where nothing has changed.
package home

import (
	"encoding/json"

	"metasim/federates/authority/seal"
	"metasim/federates/authority/transfer"
	"metasim/metasim"
)

// A Config says what a homeserver is. Validate checks it.
type Config struct {
	// Instance is the logical instance: homeservers and simulation servers of another one are refused. Not empty.
	Instance string
	// Name is that of this homeserver, by which others know it; empty: "home".
	Name string
	// Key signs what this homeserver grants, so that an owner proves to the next one that it hands over what it may: a private JWK, as NewKey makes one.
	Key []byte
	// Homeservers are the others to which it sends itself. Each has an account here of its name.
	Homeservers []string
	// Path are the homeservers on the way to those entities and servers that are not here, the next one first, which is one of Homeservers; empty: there are none.
	Path []string
	// Patience is how long, in ns, a request waits for the answer of a master; 0: 30 s. Below the time that a person needs, programs answer.
	Patience metasim.Time
	// Skew is how far, in ns, the clock of who publishes a key may be from that of the homeserver; 0: 5 min.
	Skew metasim.Time

	key seal.PrivateKey // Key
}

// Bounds of what is kept.
const (
	MaxBody  = 16 << 10 // of a request, in bytes
	maxName  = 128      // of an account or an entity, in bytes
	maxList  = 1000     // items of one answer
	stdList  = 100
	maxNames = 1 << 20 // mailboxes
	maxAsks  = 16      // requests of one entity that wait for its master
	maxTrail = 64      // names of a trail
)

// A Request is what somebody asks.
type Request struct {
	Method      string
	Path        string      // decoded
	Query       [][2]string // names and values, in order of name
	ContentType string
	IfMatch     string
	IfNoneMatch string
	Token       string   // after "Bearer "; empty: none
	Instance    string   // the header Metasim-Instance; empty: whichever this is
	Trail       []string // the header Metasim-Trail: who has passed the request on, first to last; empty: nobody says
	Route       []string // the header Metasim-Route: the homeservers that are still to pass it on, and last the one that answers; empty: this one answers
	Address     string   // where it comes from
	Fresh       string   // random text for a token, used once
	Body        []byte
	TooLong     bool // the body had more than MaxBody bytes, and is not here
}

// A Response is what is answered.
type Response struct {
	Status      int
	ContentType string
	ETag        string
	Location    string
	Allow       string // the methods that a resource has, of a refusal because of the method
	Challenge   bool   // a token is missing or wrong
	RetryAfter  int    // in seconds; 0: none
	Body        []byte
	Waits       int      // for how many seconds to wait for mail before this is the answer; 0: not at all
	Forward     *Forward // who is to answer; nil: this is the answer
}

// An Audit says who asked for what, and what came of it.
type Audit struct {
	TimeNS  int64    `json:"time_ns"`
	Account string   `json:"account,omitempty"` // empty: nobody whom the homeserver knows
	Address string   `json:"address"`
	Method  string   `json:"method"`
	Path    string   `json:"path"`
	Trail   []string `json:"trail,omitempty"`
	Status  int      `json:"status"`
	Outcome string   `json:"outcome"` // ok, or the name of the problem
	Detail  string   `json:"detail,omitempty"`
	Changed []string `json:"changed,omitempty"` // the nodes of the tree
	Message *Heard   `json:"message,omitempty"` // of a server or another homeserver
}

// A Heard is who asked for what, in a message.
type Heard struct {
	Kind      transfer.Kind `json:"kind"`
	Requester string        `json:"requester"`
	ID        uint64        `json:"id"`
	Entity    string        `json:"entity"`
	Owner     string        `json:"owner,omitempty"`
	Hops      int           `json:"hops"`
	Route     []string      `json:"route,omitempty"`      // who has it next
	LatencyNS []int64       `json:"latency_ns,omitempty"` // of each hop, by the clocks of who sent it and of this homeserver
}

// A Node is what the tree has at a path.
type Node struct {
	Payload []byte
	Version uint64 // of the payload: from 1, one more with each change
}

// A Tree is what Handle reads: one state.
type Tree interface {
	// Get returns the node at a path; false: there is none.
	Get(path string) (Node, bool)
	// List returns the names of at most limit nodes below a path, those after a name, in order.
	List(path, after string, limit int) []string
}

// A Command changes a node of the tree.
type Command struct {
	Path    string
	Payload []byte // nil: the node is removed
	Version uint64 // that the node had; 0: there was none
}

// An account is who may ask.
type account struct {
	Name      string `json:"name"`
	Admin     bool   `json:"admin"`      // may add and remove accounts
	CreatedNS int64  `json:"created_ns"` // Unix time
}

// A keptAccount is an account as the tree has it.
type keptAccount struct {
	account
	Token string `json:"token"` // SHA-256, in hexadecimal digits: the token itself is kept nowhere
}

// A signer is the public key of a homeserver.
type signer struct {
	Homeserver string          `json:"homeserver"`
	JWK        json.RawMessage `json:"jwk"`
}

// signers are the keys by which it is signed who owns an entity, and who does.
type signers struct {
	Owner string            `json:"owner"`
	Epoch transfer.Sequence `json:"epoch"`
	Keys  []json.RawMessage `json:"keys"`
}

// A call is one request while it is handled.
type call struct {
	*Request
	cfg      *Config
	tree     Tree
	now      metasim.Time
	account  account
	route    *route
	names    []string // the parts of the path that the route leaves open
	commands []Command
	boxes    map[string]openBox // to which this call adds; looked up, never iterated
	asked    ask                // the request that was put to a master
	message  *transfer.Message  // nil: it brings none
	sent     []int64            // when each of its trail has sent it; nil: nobody says
}

// An object is one of JSON.
type object = map[string]any

// A route is something that may be asked.
type route struct {
	method, path string // parts in braces are left open
	id, summary  string
	public       bool // needs no token
	admin        bool // needs the token of an admin
	list         bool // takes limit and after
	waits        bool // takes wait
	registered   bool // takes registered
	body         string
	status       int
	answer       string
	problems     []string
	handle       func(*call) (Response, *problem)
}

// The paths of the tree.
const (
	accountsPath = "/accounts"
	tokensPath   = "/tokens"
	keysPath     = "/keys"
	entitiesPath = "/entities"
	asksPath     = "/asks"
	retiredPath  = "/retired" // the last epochs of entities that were removed
	serversPath  = "/servers"
	signersPath  = "/signers" // the public keys of the homeservers that have worked on this tree
	mailPath     = "/mail"
)

// A simserver is where other simulation servers find one, and the key by which they know it and encrypt to it. It makes another key each time that it begins.
type simserver struct {
	Name    string          `json:"name"`
	URL     string          `json:"url"`
	KeyID   string          `json:"kid"`
	JWK     json.RawMessage `json:"jwk"`
	SinceNS int64           `json:"since_ns"`     // Unix time
	Count   uint64          `json:"registration"` // how often a process has registered as this server
}

// A keptEntity is an entity as the tree has it: a transfer.Kept, and how many requests were put to its master.
type keptEntity struct {
	transfer.Record
	Born  transfer.Sequence `json:"born,omitempty"` // the epoch with which it was entered
	Asked uint64            `json:"asked,omitempty"`
	Said  []transfer.Said   `json:"said,omitempty"`
	Waits []transfer.Asked  `json:"waits,omitempty"` // for the master
}

// byHand is set in the number of a request that a person makes: it comes once, and is not said again as those of servers are.
const byHand = 1 << 63
