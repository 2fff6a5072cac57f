package quic

import (
	"os"
	"time"

	quicgo "github.com/quic-go/quic-go"
)

// visitorWindow is how much the server takes before it is read.
const visitorWindow = 32 << 10

const (
	keepAlive = time.Second      // an idle peer sends a packet so often
	silence   = 3 * time.Second  // a peer whose process has probably ended is dead if no packet comes for so long
	never     = 1 << 62          // no silence is too long
	handshake = 10 * time.Second // the longest wait for an answer to the first packet: many clients at once are slow
	linger    = 8 * time.Second  // the longest wait of a Close for the peer to read what was written: see firstBytes
)

// config returns the configuration of a connection. Its windows are small for a visitor, and grow up to messages of megabytes as the peer
// is read. streams is how many streams the peer may open: 1, or -1 for none. A peer from which no packet comes for `patience` counts as
// dead; if the two sides differ, the shorter patience holds for both.
func config(streams int64, patience time.Duration) *quicgo.Config {
	window := uint64(2 << 20)
	if streams > 0 {
		window = visitorWindow
	}
	return &quicgo.Config{
		HandshakeIdleTimeout:           handshake,
		MaxIdleTimeout:                 patience,
		KeepAlivePeriod:                keepAlive,
		InitialStreamReceiveWindow:     window,
		MaxStreamReceiveWindow:         16 << 20,
		InitialConnectionReceiveWindow: window,
		MaxConnectionReceiveWindow:     16 << 20,
		MaxIncomingStreams:             streams,
		MaxIncomingUniStreams:          -1,
		RequireStreamCreditRelease:     true, // no second stream when the first has ended
	}
}

// quiet turns off the warning of quic-go, for which it has no other way.
func quiet() {
	const name = "QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING"
	if _, asked := os.LookupEnv(name); !asked {
		_ = os.Setenv(name, "true") // fails for no name like this
	}
}
