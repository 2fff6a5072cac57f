package tree

import "fmt"

// A Path names a node: "/" is the root, "/stock/wood/oak" a node three levels below it. A component that begins with ":" (an atom in Khepri) is another name
// than the one without. At makes a Path of names that hold other characters.
type Path string

// A PayloadKind says what a payload is.
type PayloadKind string

// The kinds of payloads.
const (
	NoPayload PayloadKind = ""
	Data      PayloadKind = "data"
	Procedure PayloadKind = "procedure" // the name of a procedure of the program, which triggers run
)

// A Payload is what a node holds.
type Payload struct {
	Kind PayloadKind `json:"kind,omitempty"`
	// Bytes are the data, or the name of the procedure; at most Limits.Payload.
	Bytes []byte `json:"bytes,omitempty"`
}

// A Node is what is known of a node at one moment.
type Node struct {
	Path    Path    `json:"path"`
	Payload Payload `json:"payload"`
	// PayloadVersion is 1 for a new node, and one more after each change of the payload.
	PayloadVersion uint64 `json:"payload_version"`
	// ChildListVersion is 1 for a new node, and one more after each child that came or went.
	ChildListVersion uint64 `json:"child_list_version"`
	ChildListLength  int    `json:"child_list_length"`
}

// A CommandKind says what a command does.
type CommandKind string

// The kinds of commands.
const (
	KindPut          CommandKind = "put"           // sets the payload of the nodes of a pattern; a name that is missing is made
	KindDelete       CommandKind = "delete"        // removes the nodes of a pattern with all below them
	KindClear        CommandKind = "clear"         // removes the payloads of the nodes of a pattern
	KindTransaction  CommandKind = "transaction"   // does several commands, or none
	KindOpenSession  CommandKind = "open-session"  // from now on nodes may be kept while the session is open
	KindEndSession   CommandKind = "end-session"   // removes what was kept by the session
	KindTrigger      CommandKind = "trigger"       // registers a trigger, or replaces it
	KindNoTrigger    CommandKind = "no-trigger"    // removes a trigger
	KindProjection   CommandKind = "projection"    // registers a projection, or replaces it
	KindNoProjection CommandKind = "no-projection" // removes a projection
)

// A Command changes a tree. Functions make those that are used most: Put, Create, Update, Swap, Delete.
type Command struct {
	Kind    CommandKind `json:"kind"`
	Pattern Pattern     `json:"pattern,omitempty"` // of put, delete, clear
	Payload Payload     `json:"payload,omitzero"`  // of put
	// Keep replaces the conditions that keep the nodes of a put. Empty leaves them as they are; Forget removes them.
	Keep   []Keep `json:"keep,omitempty"`
	Forget bool   `json:"forget,omitempty"`
	// Name is the session, the trigger or the projection.
	Name       string      `json:"name,omitempty"`
	Trigger    *Trigger    `json:"trigger,omitempty"`
	Projection *Projection `json:"projection,omitempty"`
	Commands   []Command   `json:"commands,omitempty"` // of a transaction
}

// A Keep is a condition that keeps a node: the node is removed, with all below it, when the condition does not hold.
type Keep struct {
	// Path is the node that must meet If: absolute, or relative to the node that is kept: ".", "..", "./child", "../sibling".
	Path string    `json:"path,omitempty"`
	If   Condition `json:"if,omitzero"`
	// Session, where it is set, stands in the place of Path and If: the node is kept while the session is open.
	Session string `json:"session,omitempty"`
}

// An Action is what happened to a node.
type Action string

// The actions.
const (
	Created Action = "create"
	Updated Action = "update" // its payload changed
	Deleted Action = "delete"
)

// A Reason says why a node was deleted.
type Reason string

// The reasons.
const (
	Explicit  Reason = "explicit"   // a command deleted it, or a node above it
	KeepWhile Reason = "keep_while" // a condition that kept it, or a node above it, does not hold any more
)

// An Event is a change of one node.
type Event struct {
	Action Action `json:"action"`
	Path   Path   `json:"path"`
	Before *Node  `json:"before,omitempty"` // nil if it was created
	After  *Node  `json:"after,omitempty"`  // nil if it was deleted
	Reason Reason `json:"reason,omitempty"` // of a deletion
}

// A Result is what a command did.
type Result struct {
	Index uint64 // how many commands the tree has applied, with this one
	// Nodes are what a put, a delete or a clear matched, by path: as they are now; those deleted as they were.
	Nodes  []Node
	Events []Event  // in the order in which they happened
	Fired  []Firing // greater priority first, then by the name of the trigger, then by event
}

// A Trigger runs a procedure after changes of some nodes.
type Trigger struct {
	ID     string   `json:"id"`
	Filter Pattern  `json:"filter"`
	On     []Action `json:"on,omitempty"` // empty: all
	// Priority orders the triggers of one command: greater first; of equal ones the lesser ID.
	Priority int64 `json:"priority,omitempty"`
	// Procedure is the node that holds the procedure.
	Procedure Path `json:"procedure"`
}

// A Firing is a procedure to be run once, or more often.
type Firing struct {
	Trigger   string `json:"trigger"`
	Procedure string `json:"procedure"` // its name; empty: the node of the trigger holds no procedure
	Event     Event  `json:"event"`
}

// A Projection keeps a table of rows made of some nodes, in each member.
type Projection struct {
	Name     string  `json:"name"`
	Filter   Pattern `json:"filter"`
	Function string  `json:"function"` // its name; "copy": path and data as they are
}

// A Row is a row of a projection.
type Row struct {
	Key   string `json:"key"`
	Value []byte `json:"value,omitempty"`
	Gone  bool   `json:"gone,omitempty"` // from a Function: the row is removed
}

// A Function makes rows of a change of a node that matches: before is nil if it is new or did not match, after if it is gone or matches no more. It must be
// pure: each member calls it.
type Function func(path Path, before, after *Node) []Row

// Limits bound a tree. All members of a store have the same ones. 0 is the default.
type Limits struct {
	Payload  int `json:"payload"`  // bytes of one payload; default 262144; at most 524288, as a store must keep a command in one piece
	Nodes    int `json:"nodes"`    // nodes in the tree; default 1000000
	Depth    int `json:"depth"`    // components of a path; default 64
	Walk     int `json:"walk"`     // nodes that one pattern may look at; default 250000. Raise it for patterns over more entities
	Commands int `json:"commands"` // commands in a transaction; default 1000
}

// maxPayload leaves room for base64 and the rest of a command below the 1.5 MiB that etcd takes in one request.
const maxPayload = 512 << 10

// MaxCommand bounds an encoded command, in bytes.
const MaxCommand = 1 << 20

// Bounds of the parts of a command.
const (
	maxName    = 255  // bytes of a component, as it is written
	maxText    = 1000 // bytes of a regular expression or of a pattern of data
	maxNesting = 16   // conditions within conditions
	maxParts   = 64   // conditions in a list, and keep-while conditions of a node
	maxLabel   = 255  // bytes of the name of a session, trigger, projection, procedure or function
)

// Resolve returns the limits with defaults in the place of zeros, or what is wrong with them.
func (l Limits) Resolve() (Limits, error) {
	for _, f := range []struct {
		name            string
		value           *int
		otherwise, most int
	}{
		{"payload", &l.Payload, 256 << 10, maxPayload},
		{"nodes", &l.Nodes, 1_000_000, 100_000_000},
		{"depth", &l.Depth, 64, 1000},
		{"walk", &l.Walk, 250_000, 100_000_000},
		{"commands", &l.Commands, 1000, 100_000},
	} {
		if *f.value == 0 {
			*f.value = f.otherwise
		}
		if *f.value < 1 || *f.value > f.most {
			return l, fmt.Errorf("limit %s is %d: give 1 to %d, or 0 for %d", f.name, *f.value, f.most, f.otherwise)
		}
	}
	return l, nil
}

// A Tree is the nodes, the sessions, the triggers and the projections that commands have made. New makes one, Restore one from a snapshot.
type Tree struct {
	limits      Limits
	functions   map[string]Function // looked up, never iterated
	index       uint64
	root        *node
	size        int // nodes without the root
	sessions    []string
	triggers    []*trigger    // by ID
	projections []*projection // by name
	watchers    map[watched][]Path

	// Of the command that is being applied:
	undo    []func()
	events  []Event
	changed []change // what keep-while conditions may look at
}
