package server_test

import (
	"fmt"
	"net"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/transport/stream"
)

func speaker(name string) wire.Hello {
	h := hello(name)
	h.Publications = []string{"X"}
	return h
}

func listener(name string) wire.Hello {
	h := hello(name)
	h.Subscriptions = []string{"X"}
	return h
}

// The sender of a message is introduced once on each connection, whichever of its members gets a message first.
func TestIntroducedOnceOnAConnection(t *testing.T) {
	r := serve(t, config("a", "b", "c", "d", "e"))
	speakers := r.join(speaker("a"), speaker("e"))
	packed, single := r.dial(), r.join(listener("d"))[0]
	for i, name := range []string{"b", "c"} {
		packed.member = uint32(i + 1)
		packed.say(listener(name))
		hear[wire.Welcome](packed)
	}
	for _, p := range append(speakers, single) {
		hear[wire.Start](p)
	}
	for packed.member = 1; packed.member <= 2; packed.member++ {
		hear[wire.Start](packed)
		packed.say(idle(0))
	}
	single.say(idle(0))
	for range 2 {
		speakers[0].say(&metasim.Send{Channel: "X"})
	}
	speakers[0].say(&metasim.Leave{})
	require.Empty(t, packed.names)
	speakers[1].say(&metasim.Leave{})
	for p, members := range map[*peer]uint32{packed: 2, single: 1} {
		for left := 3 * members; left > 0; left-- { // two messages and an authorization each; next looks at the names
			_, err := p.next()
			require.NoError(t, err)
		}
		require.Equal(t, map[metasim.ClientID]string{0: "a"}, p.names, "e sent nothing")
	}
}

// A name comes before the first message also where a pass does not fit one frame.
func TestIntroducedBeforeInALongPass(t *testing.T) {
	r := serve(t, config("a", "b", "z"))
	raw, err := net.Dial("unix", r.unix())
	require.NoError(t, err)
	z := &peer{t: t, conn: stream.New(raw, "server")}
	defer func() { require.NoError(t, z.conn.Close()) }()
	z.say(listener("z"))
	hear[wire.Welcome](z)
	speakers := r.start(speaker("a"), speaker("b"))
	hear[wire.Start](z)
	z.say(idle(0))
	many := make([]wire.Body, wire.MaxPackets)
	for i := range many {
		many[i] = &metasim.Send{Channel: "X"}
	}
	speakers[0].say(many...)
	speakers[1].say(many[0])
	for _, p := range speakers {
		p.leave()
	}
	for range len(many) + 1 {
		hear[*metasim.Deliver](z)
	}
	require.Equal(t, map[metasim.ClientID]string{0: "a", 1: "b"}, z.names)
	hear[*metasim.Authorize](z)
	z.leave()
	require.NoError(t, r.end())
}

// What it takes to start a run, in bytes, grows as the number of its clients.
func TestStartIsLinear(t *testing.T) {
	const few, many = 50, 1000
	require.Less(t, bytesToStart(t, many)/many, bytesToStart(t, few)/few+8)
}

// bytesToStart is what a ring of n clients, each on a connection of its own, is told until each has heard its neighbour.
func bytesToStart(t *testing.T, n int) (total int) {
	t.Helper()
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("client-%04d", i))
	}
	r := serve(t, config(names...))
	var peers []*peer
	for i, name := range names {
		h := hello(name)
		h.Publications, h.Subscriptions = []string{name}, []string{names[(i+1)%n]}
		peers = append(peers, r.dial())
		peers[i].say(h)
	}
	for _, p := range peers {
		total += bytesTo[wire.Start](p)
	}
	for i, p := range peers {
		p.say(&metasim.Send{Channel: names[i]}, idle(0))
	}
	for _, p := range peers {
		total += bytesTo[*metasim.Deliver](p)
	}
	return total
}

// bytesTo reads all that comes until a T, and returns what it takes on a stream.
func bytesTo[T wire.Body](p *peer) (total int) {
	p.t.Helper()
	for {
		packets, err := p.conn.Read()
		require.NoError(p.t, err)
		var encoder wire.Encoder
		frames, err := encoder.Frames(packets)
		require.NoError(p.t, err)
		total += len(frames)
		if slices.ContainsFunc(packets, func(p wire.Packet) bool { _, is := p.Body.(T); return is }) {
			return total
		}
	}
}

// Names that could not all be told are refused before anybody joins.
func TestTooManyNames(t *testing.T) {
	var names []string
	for i := range wire.MaxNames/(wire.MaxName+wire.NameCost) + 1 {
		names = append(names, fmt.Sprintf("%0*d", wire.MaxName, i))
	}
	_, err := server.New(config(names...))
	require.ErrorContains(t, err, "use fewer clients or shorter names")
	_, err = server.New(config(names[1:]...))
	require.NoError(t, err)
}
