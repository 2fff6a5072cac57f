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

// A client that steps takes memory for the messages that it returns, and for nothing else, whether it waits or goes on.
func TestClientAllocatesNothing(t *testing.T) {
	var d session.Declaration
	var out session.Outbound
	var in session.Inbound
	require.NoError(t, d.Subscribe("X"))
	c, err := d.Join("a", "", &out)
	require.NoError(t, err)
	names := session.Names{Peer: "server"}
	receive := func(packets []wire.Packet) {
		in.Clear()
		if err := in.Add(packets, &names); err != nil {
			t.Error(err)
		}
		if err := c.Receive(&in); err != nil {
			t.Error(err)
		}
	}
	receive([]wire.Packet{{Body: wire.Start{Until: metasim.Infinity}}, {Body: wire.Introduce{Client: 1, Name: "b"}}})
	deliver, authorize := &metasim.Deliver{Message: metasim.Message{From: 1, Channel: "X"}}, &metasim.Authorize{}
	answer := []wire.Packet{{Body: deliver}, {Body: authorize}}
	var now metasim.Time
	step := func(ahead metasim.Time) (messages int) {
		now++
		err := c.BeginStep(now)
		if c.Authorized() {
			c.GoOn(0)
		} else {
			c.Wait(0, 0)
			deliver.Message.Due, authorize.Until = metasim.At(now), metasim.At(now+ahead)
			receive(answer)
		}
		out.Written()
		msgs, failed := c.Arrive()
		if err != nil || failed != nil {
			t.Error(err, failed)
		}
		return len(msgs)
	}
	step(1)
	require.EqualValues(t, 1, testing.AllocsPerRun(100, func() {
		if step(1) != 1 {
			t.Error("it waits, and is given a message")
		}
	}))
	step(1000)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if step(0) != 0 {
			t.Error("it goes on")
		}
	}))
}
