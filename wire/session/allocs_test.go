package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// A sink forgets what is put into it.
type sink struct{ packets int }

func (s *sink) Put(wire.Packet) { s.packets++ }

// What comes for every message and every wait takes no memory at the server's end.
func TestServerAllocatesNothing(t *testing.T) {
	server, err := session.NewServer(session.ServerConfig{Names: []string{"a"}, Until: metasim.Infinity})
	require.NoError(t, err)
	out := &sink{}
	conn := server.Connect(out)
	ev, refusal := server.Receive(conn, wire.Packet{Member: 3, Body: wire.Hello{Version: wire.Version, Name: "a"}})
	for require.Nil(t, refusal); ev != nil; {
		ev = server.Answer(ev)
	}
	said := []wire.Body{&metasim.Send{Channel: "X"}, &metasim.Promise{}, &metasim.Advance{}, &metasim.PollWait{}}
	deliver, authorize := &metasim.Deliver{}, &metasim.Authorize{}
	server.Deliver(deliver) // with it comes the name
	out.packets = 0
	allocs := testing.AllocsPerRun(100, func() {
		for _, body := range said {
			ev, refusal := server.Receive(conn, wire.Packet{Member: 3, Body: body})
			if refusal != nil || server.Answer(ev) != nil {
				t.Error("it is an event, and nothing follows")
			}
		}
		server.Deliver(deliver)
		server.Authorize(authorize)
	})
	require.Zero(t, allocs)
	require.Equal(t, 2*101, out.packets)
}
