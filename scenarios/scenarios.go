package scenarios

import (
	"embed"
	"time"

	"metasim/delay"
	"metasim/internal/problem"
	"metasim/internal/scope"
	"metasim/metasim"
	"metasim/scenarios/flow"
)

// Shipped holds the scenarios that come with metasim, and the files they read: what the demo runs without a checkout.
//
//go:embed *.metasim.yaml data
var Shipped embed.FS

// NoPeerTimeout is the PeerTimeout of a scenario that never gives up a host.
const NoPeerTimeout time.Duration = -1

// peerTimeoutOff is what such a scenario says.
const peerTimeoutOff = "off"

// DefaultStartTimeout is how long clients may take to join where a scenario does not say.
const DefaultStartTimeout = 30 * time.Second

// compositeModel is the model of an entry that stands for a scenario.
const compositeModel = "scenario"

// Masked stands in a resolved scenario for the value of an environment variable, which may be a secret.
const Masked = "<masked>"

// The limits on what is read. They are far above what a person writes, and low enough that a hostile file costs
// little.
const (
	maxBytes = 1 << 20 // of a scenario file
	maxDepth = 32      // lists and mappings within one another
	maxKeys  = 1000    // of one mapping
	maxCount = 100_000 // clients in all
)

// A Scenario is a file that was read, overridden, checked and expanded: ready to run.
type Scenario struct {
	Name string
	Seed uint64
	// Until ends the run: everything strictly before it happens. Zero: when every client has left.
	Until metasim.Time
	// Rate is simulated seconds a wall-clock second. Zero: as fast as it can.
	Rate float64
	// MaxSteps is how many steps one time may have; never zero.
	MaxSteps uint32
	// Memory bounds the bytes of messages that are sent and not handled; zero: no bound.
	Memory int
	// Cascade bounds what is sent without delay at one step of a time; zero: no bound.
	Cascade int
	// StartTimeout is the wall-clock time that all clients have to join; never zero.
	StartTimeout time.Duration
	// OutputLimit is how many bytes are kept of what a client's process writes; never zero.
	OutputLimit int64
	// PeerTimeout is how long the host of a client may be silent, in wall-clock time, until the client is lost. Zero: as long as the
	// transport gives a host where nobody says; or NoPeerTimeout.
	PeerTimeout time.Duration
	// PublicLCM is the URL of the LCM network on which the run is shown. Empty: none. A path in it is absolute.
	PublicLCM string
	// LCMSuffix stands on that network between a channel and the name of the sender. Empty: "@".
	LCMSuffix string
	// LCMPlain shows messages that were received on their own channels, without the name of the sender.
	LCMPlain bool
	// LCMSubscribers is for how many programs that listen to that network a run waits before it begins.
	LCMSubscribers int
	// Clients are all clients of the run, in the order of the file; names are unique.
	Clients []Client
	// Rules say how long messages travel; the last that matches decides.
	Rules []delay.Rule
	// Hosts are the names of hosts that Placement speaks of: the first is the first one of the run. They may be none.
	Hosts []string
	// Placement has the hosts of clients, by name: an index of Hosts. Others are on any host. It changes no result, so it is not resolved.
	Placement map[string]int
	// Sweep is what a sweep varies, in the order of the file; a run of its own does not use it.
	Sweep []Axis
	// Nested are the scenarios inside, each behind the one around it. Clients has their clients.
	Nested []scope.Nested
	// Scopes say what their clients call channels and one another.
	Scopes scope.Set
	// Dir is the scenario's directory: what paths in it are relative to, but for those of clients of a scenario inside.
	Dir string
	// Flow says which clients can send to which, as far as that is known before the run; nil for a restored scenario.
	Flow *flow.Graph

	doc          document // what Resolved writes
	root         *node    // where Problem finds places
	origins      origins
	dirs         map[string]string // of the scenarios inside, by name
	allowOutside bool
}

// A Client is one simulator of a run: exactly one of Model, Run and External says what it is.
type Client struct {
	// Name is Entry, or Entry-Index where the entry has a count. Both begin with the name of the scenario inside that the client is from, and a /.
	Name  string
	Entry string
	// Scope is that scenario inside; nil: none. It calls the client Scope.Calls(Name).
	Scope *scope.Scope
	// Dir is what the paths of the client are relative to.
	Dir string
	// Index is the client's position among the Count clients of its entry, from 0. Count is 1 without a count.
	Index, Count int

	// Model names a built-in model, and With holds its parameters as they were written. Clients of one entry share the
	// map: it is not to be changed.
	Model string
	With  map[string]any
	// Run is a command and its arguments, started without a shell; Scenario.Command finds the program.
	Run []string
	// Env holds NAME=value, to be added to the command's environment, and WorkDir is where it runs: never empty for a
	// command.
	Env     []string
	WorkDir string
	// External says that the client is started outside of metasim.
	External bool
	// Detach says that the run goes on without the client when it is lost; else it fails.
	Detach bool
	// Restarts is how often it is started again when its process dies; zero: not at all.
	Restarts int
	// HangTimeout is how long it may compute without a word, in wall-clock time, until its process is ended; zero: as long as it likes.
	HangTimeout time.Duration
	// Checkpoint is the interval of its checkpoints, in simulated time, if it supports them; zero: it makes none.
	Checkpoint metasim.Time
	// Ahead bounds the bytes that the client is given ahead of what it has handled; zero: the default.
	Ahead int
	// Publish and Subscribe are the lists of the client's entry; nil where there is none. See Scenario.Permissions.
	Publish, Subscribe []string
}

// An Axis is a value of a scenario that a sweep varies.
type Axis struct {
	// Path names the value as in Overrides.Set.
	Path string `json:"path"`
	// Values are what it is in turn, as YAML in one line: never none.
	Values []string `json:"values"`
}

// Overrides change a scenario on its way from the file to the checks. The zero value changes nothing.
type Overrides struct {
	// Set holds assignments "path=value", as the flag --set takes them; they apply in order. A path names keys with
	// dots and list elements with brackets: "until=3s", "links[1].delay=50ms", "clients[0].with.rounds=5"; a client
	// is named as well as numbered: "clients.pinger.with.rounds=5". A value is YAML: "run=[./arm, --fast]".
	Set []string
	// Seed and Until replace those of the file, as the flags --seed and --until take them; empty: they stay.
	Seed, Until string
	// Memory replaces that of the file, as the flag --memory takes it; empty: it stays.
	Memory string
	// PublicLCM replaces the URL of the file, as the flag --lcm takes it; empty: it stays. A path in it is relative to the
	// working directory, and may lie anywhere.
	PublicLCM string
	// LCMNames and LCMSubscribers replace lcm_names and lcm_subscribers, as the flags take them; empty: they stay.
	LCMNames, LCMSubscribers string
	// AllowOutside lets file parameters reach beyond the scenario's directory.
	AllowOutside bool
}

// A document is a scenario as a file writes it, with its defaults filled in.
type document struct {
	Name         string  `json:"name"`
	Seed         uint64  `json:"seed"`
	Until        span    `json:"until,omitzero"`
	Rate         float64 `json:"rate"`
	MaxSteps     uint32  `json:"max_steps"`
	StartTimeout span    `json:"start_timeout"`
	OutputLimit  size    `json:"output_limit,omitzero"`
	Checkpoint   span    `json:"checkpoint,omitzero"`
	// Memory and Cascade are not resolved: they change no result. The manifest of a run has them.
	Memory  string `json:"-"`
	Cascade string `json:"-"`
	// PeerTimeout is not resolved: a run that goes well is the same with any.
	PeerTimeout time.Duration `json:"-"`
	// PublicLCM is not resolved: where a run was shown does not change the run.
	PublicLCM string `json:"-"`
	LCMSuffix string `json:"lcm_suffix,omitempty"`
	LCMNames  string `json:"lcm_names,omitempty"`
	// LCMSubscribers is not resolved: how many programs the run waits for does not change the run.
	LCMSubscribers int            `json:"-"`
	Clients        []clientEntry  `json:"clients"`
	Nested         []scope.Nested `json:"nested,omitempty"`
	Links          []object       `json:"links,omitempty"`
}

// A clientEntry is an element of a scenario's list of clients.
type clientEntry struct {
	Name     string   `json:"name"`
	Count    *int     `json:"count,omitempty"`
	Model    string   `json:"model,omitempty"`
	With     object   `json:"with,omitempty"`
	Run      []string `json:"run,omitempty"`
	Env      []string `json:"env,omitempty"`
	Dir      string   `json:"dir,omitempty"`
	External bool     `json:"external,omitempty"`
	OnExit   string   `json:"on_exit,omitempty"`
	// An empty list is not the same as none.
	Publish    []string `json:"publish,omitzero"`
	Subscribe  []string `json:"subscribe,omitzero"`
	Restarts   *int     `json:"restarts,omitempty"`
	Checkpoint span     `json:"checkpoint,omitzero"`
	// HangTimeout is wall-clock time.
	HangTimeout span `json:"hang_timeout,omitzero"`
	// Ahead is not resolved: it changes no result. The manifest of a run has it.
	Ahead string `json:"-"`
}

// A span is a duration as files write it: "5ms".
type span metasim.Time

// A node is one value of a scenario together with the place it was written at.
type node struct {
	at place
	// value is nil, a bool, int64, uint64, float64 or string, a []*node, or a *mapping.
	value any
}

// A place is where a value, or a key, stands.
type place struct {
	file         string
	line, column int
}

// A mapping keeps its entries in the order of the file. Keys are unique.
type mapping struct{ entries []entry }

type entry struct {
	key   string
	at    place // of the key
	value *node
}

// A path leads from the root of a scenario to a value: keys, and indices in decimal.
type path []string

// An object is a JSON schema, a part of one, or a decoded JSON object. In a schema, "title" is what a value is and "examples"
// how to write it: editors show both, and so do the messages of this package.
type object = map[string]any

// A directory is where a scenario's files lie.
type directory struct {
	path    string
	outside bool   // files may lie outside of it
	of      string // what lies in it, in errors; empty: the scenario
}

// A checker finds what a schema cannot express. It checks each part of the tree that has no problem so far, so that one mistake
// neither hides another nor is reported twice.
type checker struct {
	root     *node
	dir      directory
	restored bool // the scenario was read from the manifest of a run: its files and commands may be gone
	problems []problem.Problem
	bad      map[string]bool // paths at or below which there is a problem
	warnings []problem.Problem
	names    map[string]int // names of clients, and the entry that each is from
	rules    []delay.Rule
	origins  origins
	scopes   scope.Set
	dirs     map[string]string // of the scenarios inside, by name
}

// origins say where parts of a composed scenario are from: elements of clients and links, by key and number. Nil: the scenario itself.
type origins map[string][]origin

// An origin is where an element was written.
type origin struct {
	path  path         // in its own file; nil: it was not written
	dir   string       // what its paths are relative to
	scope *scope.Scope // of the scenario inside; nil: the outermost one
}

// A flowChecker checks which clients can send to which.
type flowChecker struct {
	*checker
	*flow.Graph
	s *Scenario
}

// A composer puts the scenarios inside a scenario into it.
type composer struct {
	level    // that of the outermost scenario
	outside  bool
	loaded   map[*mapping]*inner // by the entry
	problems []problem.Problem
	warnings []problem.Problem

	root    *node
	clients []*node
	links   []*node
	nested  []*node
	scopes  scope.Set
	origins origins
}

// A level is a scenario on its way into the outermost one.
type level struct {
	file  string   // as problems name it
	dir   string   // absolute
	chain []string // the files that led here, itself last
	real  []string // the same, absolute
	scope *scope.Scope
}

// An inner is a scenario file that an entry names.
type inner struct {
	level
	named string // as the entry names it
	root  *node  // nil: it cannot be used
	valid bool   // the schema found nothing
}
