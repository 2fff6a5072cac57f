package wire

// A Conn is one ordered, reliable stream of packets in each direction: never more than one, as a promise would
// overtake a send. Read is called by one goroutine and Write by one (they may differ); Close by any, more than once.
type Conn interface {
	// Read waits for packets and returns at least one, all that came in together. The slice and its bodies are valid
	// until the next Read, and the caller's to change meanwhile; payloads are the caller's for good. io.EOF tells that the peer closed between two frames; any other error that the
	// connection broke or that what came is no protocol (a *ProtocolError).
	Read() ([]Packet, error)
	// Write sends packets, in order, in one write. The caller may reuse the slice and its bodies afterwards; payloads must
	// not be changed any more.
	Write([]Packet) error
	// WriteFrames is Write of packets that an Encoder has made frames of, so that who writes later need not keep them.
	WriteFrames(frames []byte) error
	// Close ends both directions. What was written before is still sent. It wakes a Read and a Write that wait.
	Close() error
	// Peer names the other side for people: "unix pid 812", "tcp 127.0.0.1:4000".
	Peer() string
	// Traffic tells what came in and went out so far. It waits for a Read and a Write that wait: it is for when they have
	// ended. Where no bytes travel a frame is what one Write handed over, and its bytes are those of the payloads in it.
	Traffic() Traffic
}

// A Prompt is a Conn that can be used without waiting for it. Who uses it so may do without a goroutine for it.
type Prompt interface {
	Conn
	// TryRead is Read where something has come. Otherwise it returns nothing, and no error.
	TryRead() ([]Packet, error)
	// TryWriteFrames writes what goes out at once, and returns how many bytes that was. The rest is to be written before
	// anything else. It is not called while a Write waits.
	TryWriteFrames(frames []byte) (int, error)
}

// A Listener takes in connections.
type Listener interface {
	// Accept waits for the next connection. It fails with net.ErrClosed after Close.
	Accept() (Conn, error)
	// Close stops listening and removes what it left on disk. Accepted connections live on.
	Close() error
	// URL is what a client is given to connect, in METASIM_SERVER: "unix:///tmp/x/s.sock", "tcp://127.0.0.1:4000",
	// "quic://127.0.0.1:4000?sha256=<64 hex: pins the certificate>".
	URL() string
}
