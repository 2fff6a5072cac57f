package frames

import (
	"errors"
	"fmt"
)

// A Code is a result of RenderStream's functions, with its number.
type Code uint32

// The codes that followers meet. The numbers are those of RenderStream's header with engine synchronisation.
const (
	NotInitialised    Code = 1
	Initialised       Code = 2
	InvalidParameters Code = 8
	BufferOverflow    Code = 9
	Timeout           Code = 10
	StreamsChanged    Code = 11
	Incompatible      Code = 12
	Quit              Code = 15
	Unspecified       Code = 17
)

func (c Code) String() string {
	switch c {
	case NotInitialised:
		return "RS_ERROR_NOT_INITIALISED"
	case Initialised:
		return "RS_ERROR_ALREADYINITIALISED"
	case InvalidParameters:
		return "RS_ERROR_INVALID_PARAMETERS"
	case BufferOverflow:
		return "RS_ERROR_BUFFER_OVERFLOW"
	case Timeout:
		return "RS_ERROR_TIMEOUT"
	case StreamsChanged:
		return "RS_ERROR_STREAMS_CHANGED"
	case Incompatible:
		return "RS_ERROR_INCOMPATIBLE_VERSION"
	case Quit:
		return "RS_ERROR_QUIT"
	}
	return "RS_ERROR_UNSPECIFIED"
}

// What Await returns in the place of a frame.
var (
	// ErrTimeout: no frame came for so long. Await again: nothing is lost.
	ErrTimeout = errors.New("no frame was asked for within the timeout; await again")
	// ErrStreamsChanged: fetch the streams, and await again.
	ErrStreamsChanged = errors.New("the streams have changed; fetch them, and await again")
	// ErrQuit: leave the run.
	ErrQuit = errors.New("the director has ended the cluster; leave")
)

// Calls that a node may not make return one of these errors. Such a call changes nothing, and the frame goes on.
var (
	ErrNotJoined     = errors.New("the node has not joined; call Join first, right after the client has joined")
	ErrJoinedTwice   = errors.New("the node has joined; call Join once")
	ErrNoFrame       = errors.New("no frame has begun; await one first")
	ErrSyncOff       = errors.New("engine synchronisation is off: no data is sent or received; ask SyncEnabled in each frame")
	ErrNotController = errors.New("only the controller sends; ask IsController in each frame")
	ErrNotFollower   = errors.New("the controller does not receive, it sends; ask IsController in each frame")
	ErrSentTwice     = errors.New("the data of this frame is sent; send once in a frame")
	ErrReceivedTwice = errors.New("the data of this frame is received; receive once in a frame")
	ErrBackTwice     = errors.New("the frame was sent back; send it once")
	ErrPictures      = errors.New("a frame goes back with a picture for each stream of the node, in their order, or with none")
	ErrTooLarge      = errors.New("the data is larger than the bound")
	ErrSetFollower   = errors.New("the node was set to be a follower; begin its frames with BeginFollowerFrame, or call SetFollower(false)")
	ErrNotSet        = errors.New("the node was not set to be a follower; call SetFollower(true) first, or await its frames")
	ErrOtherFrame    = errors.New("the next frame has another tTracked; begin each frame, in order, with the tTracked that its controller had")
	ErrLeads         = errors.New("the node is the controller of this frame; call SetFollower(false), and await it")
	ErrTwoGoroutines = errors.New("another goroutine awaits the frames of this node; use a node on one goroutine")
	// ErrNotSent: the controller awaited the next frame without sending. The frame is lost for all nodes.
	ErrNotSent = errors.New("the controller has sent nothing in this frame; send once in each frame while synchronisation is on")
)

// A NodeError says what went wrong at a node: errors.Is finds which of the errors above it is.
type NodeError struct {
	Node  string
	Frame uint64 // that was current
	Err   error
}

func (e *NodeError) Error() string {
	return fmt.Sprintf("node %s, frame %d: %v", e.Node, e.Frame, e.Err)
}
func (e *NodeError) Unwrap() error { return e.Err }

// A QuitError says why a node is to leave, where its work is not simply done. It is an ErrQuit.
type QuitError struct {
	Reason string
	Failed bool // this node has failed, as far as the director knows, and the others go on without it
}

func (e *QuitError) Error() string        { return e.Reason }
func (e *QuitError) Is(target error) bool { return target == ErrQuit }

// A MissingError says at every node that a frame has no data. The frame is over, and what was to happen in it is told here: an engine
// begins its scene again if Reset is set, and takes the inputs, as the controller has done in this frame.
type MissingError struct {
	Controller string
	FrameData
	Inputs [][]byte // do not change them
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("controller %s did not send for tTracked %v (frame %d)", e.Controller, e.Tracked, e.Frame)
}

// A PeerError says that another client of the cluster breaks the rules.
type PeerError struct {
	Peer string
	Code Code
	Why  string
}

func (e *PeerError) Error() string { return fmt.Sprintf("client %q %s", e.Peer, e.Why) }

// notController is the error of a node that sends in a frame for which another one was asked.
func notController(peer string, frame uint64, controller string) *PeerError {
	return &PeerError{Peer: peer, Code: InvalidParameters, Why: fmt.Sprintf("sent the data of frame %d, of which %s is the controller; send only where IsController says so", frame, controller)}
}

// CodeOf returns what RenderStream would have returned; ok is false for an error that is none of this room.
func CodeOf(err error) (code Code, ok bool) {
	if peer := new(PeerError); errors.As(err, &peer) {
		return peer.Code, true
	}
	if errors.As(err, new(*MissingError)) {
		return Unspecified, true
	}
	for _, known := range []struct {
		err  error
		code Code
	}{
		{ErrTimeout, Timeout}, {ErrStreamsChanged, StreamsChanged}, {ErrQuit, Quit}, {ErrTooLarge, BufferOverflow},
		{ErrNotJoined, NotInitialised}, {ErrJoinedTwice, Initialised}, {ErrNoFrame, InvalidParameters}, {ErrSyncOff, InvalidParameters}, {ErrNotController, InvalidParameters},
		{ErrNotFollower, InvalidParameters}, {ErrSentTwice, InvalidParameters}, {ErrReceivedTwice, InvalidParameters},
		{ErrTwoGoroutines, InvalidParameters}, {ErrNotSent, InvalidParameters}, {ErrBackTwice, InvalidParameters}, {ErrPictures, InvalidParameters},
		{ErrSetFollower, InvalidParameters}, {ErrNotSet, InvalidParameters}, {ErrOtherFrame, InvalidParameters}, {ErrLeads, InvalidParameters},
	} {
		if errors.Is(err, known.err) {
			return known.code, true
		}
	}
	return 0, false
}
