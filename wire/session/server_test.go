package session_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// A sink keeps the last of what is put into it.
type sink struct {
	packets int
	last    wire.Packet
}

func (s *sink) Put(p wire.Packet) { s.packets, s.last = s.packets+1, p }

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

// Each client is told its own part; one that does not know minor version 4 is told nothing that it would refuse.
func TestAbout(t *testing.T) {
	about := map[string]wire.About{"a-0": {Entry: "a", Count: 2}, "a-1": {Entry: "a", Index: 1, Count: 2, With: "{}", Directory: "/d"}}
	server, err := session.NewServer(session.ServerConfig{Names: []string{"a-0", "a-1", "b"}, Until: metasim.Infinity, About: about})
	require.NoError(t, err)
	out := &sink{}
	conn := server.Connect(out)
	for i, c := range []struct {
		name  string
		minor uint32
		want  wire.About
	}{{"a-0", 3, wire.About{}}, {"a-1", 4, about["a-1"]}, {"b", 5, wire.About{}}} {
		ev, refusal := server.Receive(conn, wire.Packet{Member: uint32(i), Body: wire.Hello{Version: wire.Version, Name: c.name, Minor: c.minor}})
		require.Nil(t, refusal)
		server.Answer(ev)
		require.Equal(t, wire.Packet{Member: uint32(i), Body: wire.Welcome{About: c.want}}, out.last)
	}
	about["a-0"] = wire.About{With: strings.Repeat(" ", wire.MaxControl)}
	_, err = session.NewServer(session.ServerConfig{Names: []string{"a-0"}, About: about})
	require.ErrorContains(t, err, "give a large parameter as the name of a file")
}

// A client that steps and publishes takes memory for the messages that it returns, and for nothing else, whether it waits or
// goes on.
func TestClientAllocatesNothing(t *testing.T) {
	var d session.Declaration
	var out session.Outbound
	var in session.Inbound
	require.NoError(t, d.Subscribe("X"))
	require.NoError(t, d.Publish("Y"))
	out.Encoded = true
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
	payload := make([]byte, 100)
	var now metasim.Time
	step := func(ahead metasim.Time) (messages int) {
		now++
		err := c.BeginStep(now)
		if c.Authorized() {
			c.GoOn(session.Work{})
		} else {
			c.Wait(session.Work{})
			deliver.Message.Due, authorize.Until = metasim.At(now), metasim.At(now+ahead)
			receive(answer)
		}
		out.Written()
		msgs, failed := c.Arrive()
		if sent := c.Publish("Y", payload); err != nil || failed != nil || sent != nil {
			t.Error(err, failed, sent)
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

// What could not be told to clients is refused before any of them joins.
func TestServerConfig(t *testing.T) {
	long := strings.Repeat("x", wire.MaxName+1)
	_, err := session.NewServer(session.ServerConfig{Scenario: long})
	require.ErrorAs(t, err, new(*wire.ProtocolError))
	_, err = session.NewServer(session.ServerConfig{Names: []string{"a", long}})
	require.ErrorAs(t, err, new(*wire.ProtocolError))
	_, err = session.NewServer(session.ServerConfig{Names: make([]string, wire.MaxNames/wire.NameCost+1)})
	require.ErrorContains(t, err, "use fewer clients or shorter names")
}

// A client that counts as joined has no connection: nothing is sent to it, and it cannot be refused.
func TestSkipJoin(t *testing.T) {
	server, err := session.NewServer(session.ServerConfig{Names: []string{"a", "b"}, Until: metasim.Infinity})
	require.NoError(t, err)
	server.SkipJoin(1)
	require.Equal(t, 1, server.Awaited())
	require.Equal(t, session.Present, server.Presence(1))
	out := &sink{}
	ev, refusal := server.Receive(server.Connect(out), wire.Packet{Body: wire.Hello{Version: wire.Version, Name: "a"}})
	for require.Nil(t, refusal); ev != nil; {
		ev = server.Answer(ev)
	}
	require.True(t, server.Started())
	server.Deliver(&metasim.Deliver{To: 1})
	server.Authorize(&metasim.Authorize{To: 1})
	require.Nil(t, server.Refuse(1, wire.RuleBroken, "it cannot"))
	require.Equal(t, 2, out.packets, "Welcome and Start")
	server.Farewell(nil)
	require.Equal(t, 3, out.packets)
}

// A Hello that was prepared is answered as one that was not.
func TestPrepare(t *testing.T) {
	allowed, err := session.NewChannels("subscribe", []string{"A.*"})
	require.NoError(t, err)
	answer := func(h wire.Hello, prepare bool) (metasim.Event, wire.Packet) {
		server, err := session.NewServer(session.ServerConfig{
			Names: []string{"a"}, Token: "token", Permissions: map[string]session.Permission{"a": {Subscribe: allowed}},
		})
		require.NoError(t, err)
		packets := []wire.Packet{{Body: h}}
		if prepare {
			server.Prepare(packets)
		}
		said := &sink{}
		ev, _ := server.Receive(server.Connect(said), packets[0])
		if ev != nil {
			server.Answer(ev)
		}
		return ev, said.last
	}
	good := wire.Hello{Version: wire.Version, Name: "a", Token: "token", Publications: []string{"B"}, Subscriptions: []string{"A", "AB.*"}}
	for name, change := range map[string]func(h *wire.Hello){
		"good":        func(*wire.Hello) {},
		"version":     func(h *wire.Hello) { h.Version = 9 },
		"token":       func(h *wire.Hello) { h.Token = "" },
		"name":        func(h *wire.Hello) { h.Name = "b" },
		"empty":       func(h *wire.Hello) { h.Subscriptions[1] = "" },
		"no pattern":  func(h *wire.Hello) { h.Subscriptions[1] = "(" },
		"too costly":  func(h *wire.Hello) { h.Subscriptions = slices.Repeat([]string{"A{1000}"}, 40) },
		"not allowed": func(h *wire.Hello) { h.Subscriptions[1] = "B" },
	} {
		h := good
		h.Subscriptions = slices.Clone(good.Subscriptions)
		change(&h)
		event, packet := answer(h, false)
		again, same := answer(h, true)
		require.Equal(t, packet, same, name)
		require.Equal(t, event, again, name)
		require.Equal(t, name == "good", event != nil, name)
	}
}

// joined returns a server whose only client has joined, its connection and its Hello.
func joined(t *testing.T) (*session.Server, *session.Conn, wire.Packet) {
	t.Helper()
	server, err := session.NewServer(session.ServerConfig{Names: []string{"a"}, Until: metasim.Infinity})
	require.NoError(t, err)
	first := server.Connect(&sink{})
	hello := wire.Packet{Body: wire.Hello{Version: wire.Version, Name: "a"}}
	ev, refusal := server.Receive(first, hello)
	for require.Nil(t, refusal); ev != nil; {
		ev = server.Answer(ev)
	}
	return server, first, hello
}

// What a client had promised before it was started again it still promises, however often its new process reports before it promises that too.
func TestAPromiseOutlivesAProcess(t *testing.T) {
	server, first, hello := joined(t)
	poll := metasim.PollWait{Report: metasim.Report{NoSendBefore: metasim.At(18)}, Want: metasim.At(18)}
	past := &session.Past{Client: 0}
	past.Observe(&poll, nil)
	server.Disconnect(first)
	server.Vacate(0)

	second := server.Connect(&sink{})
	ev, refusal := server.Receive(second, hello)
	require.Nil(t, refusal)
	require.Nil(t, server.Return(ev.(*metasim.Join)))
	server.Remember(0, past, true)
	promises := func(body wire.Body) metasim.Instant {
		ev, refusal := server.Receive(second, wire.Packet{Body: body})
		require.Nil(t, refusal)
		switch ev := ev.(type) {
		case *metasim.Promise:
			return ev.NoSendBefore
		case *metasim.Advance:
			return ev.NoSendBefore
		case *metasim.PollWait:
			return ev.NoSendBefore
		}
		return metasim.Infinity
	}
	at := func(now, promise metasim.Time) metasim.Report {
		return metasim.Report{Now: metasim.At(now), NoSendBefore: metasim.At(promise)}
	}
	require.Equal(t, metasim.At(18), promises(&metasim.PollWait{Report: at(2, 2), Want: metasim.At(5)}))
	require.False(t, server.Repeats(0))
	require.Equal(t, metasim.At(18), promises(&metasim.Advance{Report: at(5, 5)}))
	require.Equal(t, metasim.At(18), promises(&metasim.Promise{NoSendBefore: metasim.At(9)}))
	require.Equal(t, metasim.At(20), promises(&metasim.PollWait{Report: at(9, 20), Want: metasim.At(20)}))
}

// What a connection that was dropped had said before is of no client any more: its place is for another process.
func TestADroppedConnectionSaysNothingMore(t *testing.T) {
	server, first, hello := joined(t)
	server.Vacate(0)
	for _, body := range []wire.Body{hello.Body, &metasim.Leave{Result: []byte("{")}, wire.Checkpoint{}, &metasim.Send{}} {
		ev, refusal := server.Receive(first, wire.Packet{Body: body})
		require.Nil(t, refusal)
		require.Nil(t, ev)
	}
}
