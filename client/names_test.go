package client_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport/mem"
)

// A server that does not say who is who is no server: the client ends, and says what was wrong.
func TestIntroductions(t *testing.T) {
	var crowd []wire.Body
	for i := range wire.MaxNames/(wire.MaxName+wire.NameCost) + 1 {
		crowd = append(crowd, wire.Introduce{Client: metasim.ClientID(2 + i), Name: strings.Repeat("x", wire.MaxName)})
	}
	from := func(id metasim.ClientID) wire.Body {
		return &metasim.Deliver{Number: 1, Message: metasim.Message{From: id, Channel: "X"}}
	}
	for _, c := range []struct {
		name string
		say  []wire.Body
		want string
	}{
		{"nobody", []wire.Body{from(1<<32 - 1)}, `a message from client 4294967295 on "X": it has not said who that is`},
		{"too late", []wire.Body{from(3), wire.Introduce{Client: 3, Name: "c"}}, "introduce a client before its first message"},
		{"twice", []wire.Body{wire.Introduce{Client: 1, Name: "c"}}, `that client 1 is "c": it has said that this is "b"`},
		{"too many", crowd, "use fewer clients or shorter names"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl, h := join(t, client.NewBuilder("a"))
			h.say(c.say...)
			_, err := cl.Step(t.Context(), 0)
			require.ErrorAs(t, err, new(*wire.ProtocolError))
			require.ErrorContains(t, err, "client \"a\": lost the server at 0s: server sent ")
			require.ErrorContains(t, err, c.want)
		})
	}
}

// Who was introduced is known to all clients of a host, whatever member the introduction names, and however large the
// number of the client is.
func TestIntroducedToAllOfAHost(t *testing.T) {
	mine, theirs := mem.Pipe("client", "server")
	server := plainConn{theirs}
	h, err := client.Connect(t.Context(), client.WithConn(mine))
	require.NoError(t, err)
	const far = 1<<32 - 1
	message := func(from metasim.ClientID) wire.Body {
		return &metasim.Deliver{Message: metasim.Message{From: from, Channel: "X"}}
	}
	begin, end := wire.Start{Until: metasim.Infinity}, &metasim.Authorize{Until: metasim.At(1)}
	for i, answer := range [][]wire.Packet{
		{
			{Body: begin}, {Body: wire.Introduce{Client: 1, Name: "b"}}, {Body: message(1)},
			{Member: 7, Body: wire.Introduce{Client: far, Name: "z"}}, {Body: end},
		},
		{{Member: 1, Body: begin}, {Member: 1, Body: message(far)}, {Member: 1, Body: message(1)}, {Member: 1, Body: end}},
	} {
		answered := make(chan error, 1)
		go func() {
			said, err := server.Read()
			for err == nil && !slices.ContainsFunc(said, isHello) { // the client before it may have asked for something
				said, err = server.Read()
			}
			answered <- errors.Join(err, server.Write(answer))
		}()
		c, err := client.NewBuilder("a").Complete(t.Context(), client.WithHost(h))
		require.NoError(t, errors.Join(err, <-answered))
		msgs, err := c.Step(t.Context(), 0)
		require.NoError(t, err)
		var from []string
		for _, m := range msgs {
			from = append(from, m.From)
		}
		require.Equal(t, [][]string{{"b"}, {"z", "b"}}[i], from)
	}
	require.NoError(t, errors.Join(h.Close(), server.Close()))
}

func isHello(p wire.Packet) bool {
	_, is := p.Body.(wire.Hello)
	return is
}
