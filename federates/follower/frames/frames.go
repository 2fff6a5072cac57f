// Package frames is the core of followers: one node of a cluster, the controller, computes the state of each frame, and all others
// show exactly that frame. It is pure: a [Director] and the [Node]s are machines that turn messages into messages, and know no client.
//
// A frame goes like this, in steps of one simulated time t:
//
//	(t,0)  the director asks for frame n: a request to all nodes, with the name of the controller and an epoch
//	(t,1)  the controller has the frame, computes its state, and sends it: data to all nodes, then a notice to the director
//	(t,2)  the data is at all nodes, the notice at the director, which releases frame n: this epoch's data, and no other
//	(t,3)  the followers have the frame, with the data of frame n
//
// The release is what makes each frame have one set of data. Whatever happens to a controller, the director has its notice in time
// or has it not; in the second case an understudy is asked for the same frame under the next epoch, and data of an epoch that was
// not released reaches nobody. A frame is found by its number, never by its place in a queue.
//
// The caller's duties: messages of one instant are handed in in their order, before Tick is called at that instant; what the
// machines return is published at once, in its order.
package frames

import (
	"crypto/sha256"
	"image"

	"metasim/metasim"
)

// FrameData says what a frame is. It is the same at all nodes of a cluster.
type FrameData struct {
	Frame uint64 // its number, from 0. Discarded frames leave gaps
	// Tracked is the frame's own time, tTracked in RenderStream: that of its number, wherever simulated time is by then.
	Tracked metasim.Time
	Local   metasim.Time // since the first frame, or the last one with Reset
	Delta   metasim.Time // since the frame before, discarded ones left out; at the first one, a frame's time
	Rate    Rate         // of this cluster: that of the clock, divided by the fraction of its layer
	Reset   bool         // the scene is to begin again: FRAMEDATA_RESET
	Scene   uint32
}

// A Role is what a node is at the start of a run.
type Role uint8

// The roles. An understudy follows, and becomes the controller when it is its turn.
const (
	Follower Role = iota
	Understudy
	Controller
)

// Roles are the names of the roles, by role.
var Roles = []string{"follower", "understudy", "controller"}

// A Stream is what a node is asked to show in a frame: a part of what a camera sees.
type Stream struct {
	Node   string
	Name   string // for people
	Camera Camera
	Clip   image.Rectangle // of the camera's picture, in pixels
}

// A Camera is from where a picture is made, and through which lens.
type Camera struct {
	// Of names a camera of the scene: pose and lens are those that this one has in the state of the frame, and the other fields are zero.
	Of            string
	Position      [3]float64 // X, Y, Z in the scene, m
	Rotation      [4]float64 // W, X, Y, Z
	FOV           float64    // horizontal angle of view, rad
	Near, Far     float64    // between these distances something is seen, m
	Width, Height uint32     // of the whole picture, in pixels
}

// A Frame is what a node has finished: it goes back to the director, which puts the parts of all nodes together.
type Frame struct {
	Frame    uint64
	Tracked  metasim.Time
	State    [sha256.Size]byte // hash of the state that was shown: parts that disagree are a torn frame
	Pictures [][]byte          // of the node's streams, in their order; where it was asked for none, its part of the picture, or nothing
}

// A Whole is a frame that has come back from all nodes. Its parts belong together: they have the tTracked of the frame.
type Whole struct {
	Frame      uint64
	Tracked    metasim.Time
	Sync, Torn bool
	Controller string
	Inputs     [][]byte // what came from outside, applied in this frame
	Parts      []Part   // of all nodes, in order of name
}

// A Part is what one node has sent back.
type Part struct {
	Node     string
	State    [sha256.Size]byte // zeros: the node has failed, or has not said which state it shows
	Streams  []Stream          // for which it was asked
	Pictures [][]byte          // as in Frame
}

// A Config says what a director does.
type Config struct {
	Rate   Rate
	Frames uint64 // how many are asked for, or discarded
	Sync   bool   // engine synchronisation
	// Bounded is how many frames may be on their way at a node: one that comes while a node has as many is discarded, for all. 0: none
	// is discarded, and each waits until the one before is done everywhere.
	Bounded int
	// Patience is for how long, in simulated time, the director waits for a controller's notice and for a frame to come back. A node that
	// takes longer has failed.
	Patience metasim.Time
	Nodes    []string // that it waits for at the start; empty: those that say hello first
	Reset    []uint64 // frames with Reset
	Streams  []uint64 // frames before which the streams change
	Scene    uint32
	Views    []Stream // what the nodes are asked to show
	Every    uint64   // in one frame of so many; 0: in each
	Wholes   bool     // keep the frames that have come back, for Director.Wholes
	Packing  uint8    // how data is to be packed: a kind of the nodes' Packers; 0: not at all
}

// A Packer makes data smaller on its way. It is called in the order of the frames.
type Packer interface {
	Pack(kind uint8, frame uint64, data []byte) ([]byte, error)
	Keep(kind uint8, frame uint64, data []byte) // is called when packed data is sent
	Unpack(kind uint8, frame uint64, packed []byte, most uint64) ([]byte, error)
	Forget() // is called before the first data of an epoch: other nodes may have missed the frame before, so the state is to travel whole
}

// Totals count what happened to frames.
type Totals struct {
	Frames    uint64 `json:"frames"` // that have been done, with one set of data each
	Discarded uint64 `json:"discarded"`
	Missing   uint64 `json:"missing"` // whose controller sent nothing
	Torn      uint64 `json:"torn_frames"`
	FirstTorn string `json:"first_torn,omitempty"` // which nodes showed which states in the first of them that had streams
	Failovers int    `json:"failovers"`
	// Late counts frames that took longer than the time of a frame, for another reason than a failure.
	Late   uint64   `json:"late"`
	Failed []string `json:"failed,omitempty"` // nodes, with why
	// Stopped says why the cluster ended before its last frame.
	Stopped string `json:"stopped,omitempty"`
}

// A Director is the clock of a cluster: it asks for frames, decides which data each has and who is the controller, and puts the frames
// of all nodes together. See NewDirector.
type Director struct {
	cfg     Config
	members []*member // in order of name
	turned  []string  // nodes that said hello too late, and leave
	lead    *member   // the controller; nil: none is left
	epoch   uint32
	flights []*flight // asked for, and not done everywhere; in order
	next    uint64    // frame
	due     metasim.Time
	last    int64 // frame that was asked for last; -1: none
	zero    metasim.Time
	streams uint32
	inputs  [][]byte
	charges []charge // of nodes, since the last Tick
	size    uint64   // of the data that was released last
	stage   stage
	since   metasim.Time // the stage has lasted
	reason  string       // why it ended early
	wrong   error        // why it could not begin
	out     [][]byte
	wholes  [][]byte

	// Totals is what has happened so far.
	Totals Totals
}

// A member is a node as the director knows it.
type member struct {
	name  string
	said  hello
	role  Role // as it is now: an understudy becomes the controller
	order int64
	gone  bool // it has failed, or has said bye
	owes  int  // frames that it has not sent back

	charges int // that it has brought
}

// A flight is a frame on its way.
type flight struct {
	*request
	asked    metasim.Time
	sent     *sent
	released bool
	since    metasim.Time // of the release
	back     []Frame      // by member
	owing    []bool
	owed     int
	excused  bool   // a node has failed meanwhile
	seen     bool   // a node has sent it back that is not the controller
	called   bool   // the nodes were asked whether its data has come
	lacks    []bool // by member: it has not
}

// A stage is how far a director is.
type stage uint8

const (
	gathering stage = iota
	running
	ending  // the followers have to say bye
	closing // and then the controller
	over
)

// A kind begins every message.
type kind uint8

// The messages: those of the director first.
const (
	kindRequest kind = iota + 1 // for a frame
	kindRelease                 // of a frame's data
	kindQuit
	kindHello // of a node, at the start
	kindSent  // the notice: all data of a frame is sent, or none will be
	kindBack  // a Frame
	kindInput
	kindBye // it has got kindQuit
	kindData
	kindWhole  // a Whole, for whoever shows frames
	kindCharge // of a node: another client breaks the rules
	kindCall   // of the director: whether the data of a released frame has come
	kindLack   // of a node: it has not
)

// protocolVersion is that of most messages. Requests with streams, and what answers them, have streamsVersion: a node that knows no streams
// refuses them, and all other messages are what they were.
const (
	protocolVersion = 1
	streamsVersion  = 2
	packedVersion   = 3 // of requests for packed data
)

// A request asks all nodes for a frame.
type request struct {
	epoch      uint32
	previous   int64 // the frame that was asked for before, which must be done first; -1: none
	data       FrameData
	sync       bool   // the controller sends, the others receive
	streams    uint32 // grows when the streams have changed
	controller string
	inputs     [][]byte // what came from outside since the last frame, in one order for all
	views      []Stream // of all nodes
	packing    uint8    // of the data; 0: none
}

// A release says which data a frame has.
type release struct {
	frame   uint64
	epoch   uint32
	missing bool // the controller has gone on without sending
}

// A quit ends the part of some nodes.
type quit struct {
	nodes  []string
	reason string // empty: the work is done
	failed bool   // they have failed: the others go on
}

// hello is how a node makes itself known.
type hello struct {
	role  Role
	order int64 // among understudies
}

// sent is a controller's notice.
type sent struct {
	frame   uint64
	epoch   uint32
	missing bool
	size    uint64
}

// A call asks all nodes whether the released data of a frame has come. A node where it has not answers with a lack, and takes data of that epoch no more: so nobody has
// shown the frame, and another controller can be asked for it.
type call struct {
	frame uint64
	epoch uint32
}

type lack call

// charge says which client breaks the rules, and how.
type charge struct{ peer, why string }

// piece is a part of the data of a frame.
type piece struct {
	frame       uint64
	epoch       uint32
	part, parts uint32
	size        uint64 // of all parts together
	bytes       []byte
}
