// Package follower lets one node of a cluster compute, and all others show exactly that frame: engine synchronisation, as RenderStream
// has it, for any engine.
//
// [Director] and [RenderNode] are built-in models. An engine of your own is a [Node]: the example of [Declare] is one.
//
// # Duties of the caller
//
//  1. One goroutine uses a Node, and its client between Await and the next Await alone.
//  2. Use the times of the frame, and no others; draw random numbers from Client.Rand, or from what was received.
//  3. Ask IsController and SyncEnabled in each frame: both may change between frames, and never within one.
//  4. While synchronisation is on, the controller sends once in each frame.
package follower

import (
	"context"

	"metasim/client"
	"metasim/federates/follower/frames"
)

// FrameData says what a frame is.
type FrameData = frames.FrameData

// The types of what a node is asked to show.
type (
	// Stream is a part of what a camera sees.
	Stream = frames.Stream
	// Camera is from where a picture is made, and through which lens.
	Camera = frames.Camera
)

// A Role is what a node is at the start of a run.
type Role = frames.Role

// The roles.
const (
	Follower   = frames.Follower
	Understudy = frames.Understudy
	Controller = frames.Controller
)

// A Code is a result of RenderStream's functions.
type Code = frames.Code

// The errors of a node: package frames says more of each.
type (
	// NodeError is a call that is refused. It is one of the errors ErrNoFrame to ErrNotSent.
	NodeError = frames.NodeError
	// QuitError says why a node is to leave. It is an ErrQuit.
	QuitError = frames.QuitError
	// MissingError says at every node that the controller has sent nothing in a frame.
	MissingError = frames.MissingError
	// PeerError says that another client breaks the rules.
	PeerError = frames.PeerError
)

// What calls return.
var (
	ErrTimeout        = frames.ErrTimeout
	ErrStreamsChanged = frames.ErrStreamsChanged
	ErrQuit           = frames.ErrQuit
	ErrNotJoined      = frames.ErrNotJoined
	ErrJoinedTwice    = frames.ErrJoinedTwice
	ErrNoFrame        = frames.ErrNoFrame
	ErrSyncOff        = frames.ErrSyncOff
	ErrNotController  = frames.ErrNotController
	ErrNotFollower    = frames.ErrNotFollower
	ErrSentTwice      = frames.ErrSentTwice
	ErrReceivedTwice  = frames.ErrReceivedTwice
	ErrBackTwice      = frames.ErrBackTwice
	ErrPictures       = frames.ErrPictures
	ErrTooLarge       = frames.ErrTooLarge
	ErrSetFollower    = frames.ErrSetFollower
	ErrNotSet         = frames.ErrNotSet
	ErrOtherFrame     = frames.ErrOtherFrame
	ErrLeads          = frames.ErrLeads
	ErrTwoGoroutines  = frames.ErrTwoGoroutines
	ErrNotSent        = frames.ErrNotSent
)

// CodeOf returns the code that RenderStream has for an error of this room.
func CodeOf(err error) (code Code, ok bool) { return frames.CodeOf(err) }

// Options say what a node is.
type Options struct {
	Director string // the client that is the clock of the cluster. Empty: director
	Role     Role
	Order    int64 // among understudies
	MaxBytes int   // of the data of a frame; 0: 256 MiB
	// Other takes the messages of channels to which the engine has subscribed itself, on the goroutine of Await and Compute, which wait for
	// it. It calls no method of the node: it keeps what it wants to send. An error ends that call. Nil: such a message is an error.
	Other func(client.Message) error
}

// A Node is a member of a cluster.
type Node struct {
	core          *frames.Node
	client        *client.Client
	options       Options
	orders        string // channel
	states        string // channel, of data
	replies, data *client.Publication
	heard         uint64        // messages that Other has taken
	busy          chan struct{} // holds one: who has it uses the node
	awaits        uint64        // the goroutine that has awaited the current frame; 0: none has, or it is a model, which has one
	model         bool
	waiting       chan arrival // of a wait that goes on after a timeout; nil: there is none
	waits         context.Context
	stop          func() // ends waits; nil: there was none
}

// An arrival is what a wait has brought.
type arrival struct {
	messages []client.Message
	err      error
}
