package all_test

import (
	"context"
	"testing"

	"metasim/internal/shortdir"
	"metasim/wire"
	"metasim/wire/transport/all"
	"metasim/wire/transport/mem"
)

// tested is a transport as the suite sees it.
type tested struct {
	name string
	// listen starts a listener that a test may have for itself.
	listen func() (wire.Listener, error)
	// dial connects to it.
	dial func(ctx context.Context, l wire.Listener) (wire.Conn, error)
	// bytes says that bytes travel, so that a peer may send wrong ones, and that another process can be the peer.
	bytes bool
}

// transports are those of the table, and the one inside a process.
func transports() []tested {
	list := []tested{{
		name:   "mem",
		listen: func() (wire.Listener, error) { return mem.NewNet(), nil },
		dial:   func(ctx context.Context, l wire.Listener) (wire.Conn, error) { return l.(*mem.Net).Dial(ctx) },
	}}
	table := all.Table()
	for _, scheme := range table.Schemes() {
		list = append(list, tested{
			name:   scheme,
			listen: func() (wire.Listener, error) { return table.Listen(scheme, "") },
			dial:   func(ctx context.Context, l wire.Listener) (wire.Conn, error) { return table.Dial(ctx, l.URL()) },
			bytes:  true,
		})
	}
	return list
}

// Every transport passes every test of the suite: a line in the table of package all is enough. What a transport has
// beside it is tested in its own folder.
func TestConformance(t *testing.T) {
	t.Setenv("TMPDIR", shortdir.Make(t))
	for _, on := range transports() {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			conform(t, on)
		})
	}
}

func conform(t *testing.T, on tested) {
	for _, c := range []struct {
		name    string
		test    func(*testing.T, tested)
		byBytes bool
	}{
		{name: "EveryBody", test: everyBody},
		{name: "ManyMembersInOneWrite", test: manyMembers},
		{name: "ThousandSmallWrites", test: smallWrites},
		{name: "LargePayloads", test: func(t *testing.T, on tested) { bothWays(t, on, 1, 16<<20) }},
		{name: "BothWaysAtOnce", test: func(t *testing.T, on tested) { bothWays(t, on, 500, 8<<10) }},
		{name: "RefusesWhatCannotTravel", test: refusesBadPackets},
		{name: "ManyConnections", test: manyConnections},
		{name: "Traffic", test: traffic},
		{name: "CleanClose", test: cleanClose},
		{name: "WrittenBeforeClose", test: writtenBeforeClose},
		{name: "WrittenBeforeCloseWhilePeerSends", test: writtenWhilePeerSends},
		{name: "CloseWakesRead", test: closeWakesRead},
		{name: "CloseWakesWrite", test: closeWakesWrite},
		{name: "PeersCloseEndsWrite", test: peersCloseEndsWrite},
		{name: "AcceptAfterClose", test: acceptAfterClose},
		{name: "ConnectionsOutliveListener", test: connectionsOutliveListener},
		{name: "Garbage", test: garbage, byBytes: true},
		{name: "OversizedLength", test: oversizedLength, byBytes: true},
		{name: "HalfFrame", test: halfFrame, byBytes: true},
		{name: "Killed", test: killed, byBytes: true},
	} {
		if c.byBytes && !on.bytes {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, on)
		})
	}
}
