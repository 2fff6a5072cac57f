// Package transporttest is the suite that every transport passes, run from the tests of each.
//
//	func TestConformance(t *testing.T) {
//		transporttest.Run(t, transporttest.Transport{Listen: ..., Dial: ..., Raw: ...})
//	}
//
// The suite does not find leaked goroutines: give the package a TestMain with goleak for that.
package transporttest

import (
	"context"
	"io"
	"testing"

	"metasim/wire"
)

// A Transport is what is tested.
type Transport struct {
	// Listen starts a listener that a test may have for itself. The suite closes it.
	Listen func(t *testing.T) wire.Listener
	// Dial connects to it.
	Dial func(ctx context.Context, l wire.Listener) (wire.Conn, error)
	// Raw connects to a listener's URL as a peer that sends any bytes. Nil: no bytes travel.
	Raw func(t *testing.T, url string) Raw
}

// A Raw is a peer that breaks the protocol.
type Raw interface {
	io.Writer
	// Close ends the stream in the regular way.
	Close() error
	// Kill ends it as the death of the process or of the network would: nothing more is sent.
	Kill()
}

// Run runs the suite.
func Run(t *testing.T, transport Transport) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Transport)
	}{
		{"EveryBody", everyBody},
		{"ManyMembersInOneWrite", manyMembers},
		{"ThousandSmallWrites", smallWrites},
		{"LargePayloads", func(t *testing.T, tr Transport) { bothWays(t, tr, 1, 16<<20) }},
		{"BothWaysAtOnce", func(t *testing.T, tr Transport) { bothWays(t, tr, 500, 8<<10) }},
		{"RefusesWhatCannotTravel", refusesBadPackets},
		{"ManyConnections", manyConnections},
		{"Traffic", traffic},
		{"CleanClose", cleanClose},
		{"WrittenBeforeClose", writtenBeforeClose},
		{"WrittenBeforeCloseWhilePeerSends", writtenWhilePeerSends},
		{"CloseWakesRead", closeWakesRead},
		{"CloseWakesWrite", closeWakesWrite},
		{"PeersCloseEndsWrite", peersCloseEndsWrite},
		{"AcceptAfterClose", acceptAfterClose},
		{"ConnectionsOutliveListener", connectionsOutliveListener},
		{"Garbage", garbage},
		{"OversizedLength", oversizedLength},
		{"HalfFrame", halfFrame},
		{"Killed", killed},
	} {
		if byBytes[c.name] && transport.Raw == nil {
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.test(t, transport) })
	}
}

// byBytes are the tests that need a Raw.
var byBytes = map[string]bool{"Garbage": true, "OversizedLength": true, "HalfFrame": true, "Killed": true}
