package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/internal/scope"
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// toldNames are what a connection was told of names: who is introduced, and from whom and on what deliveries are.
type toldNames struct {
	names map[metasim.ClientID]string
	told  []string
}

func (n *toldNames) Put(p wire.Packet) {
	switch b := p.Body.(type) {
	case wire.Introduce:
		n.names[b.Client] = b.Name
	case *metasim.Deliver:
		n.told = append(n.told, n.names[b.Message.From]+" "+b.Message.Channel)
	case wire.Refuse:
		n.told = append(n.told, b.Text)
	}
}

// Members of several scenarios share a connection, as those of a relay do: each knows channels and senders by the names of its own scenario.
func TestNamesAtTheDoor(t *testing.T) {
	scopes := scope.Set{}
	require.NoError(t, scopes.Add(&scope.Nested{Name: "hall", Expose: map[string]string{"out": "SHIPPED"}}))
	require.NoError(t, scopes.Add(&scope.Nested{Name: "hall/cell", Expose: map[string]string{"done": "out"}}))
	names := []string{"gate", "hall/cell/arm", "hall/clerk"}
	s, err := session.NewServer(session.ServerConfig{Names: names, Until: metasim.Infinity, Scopes: scopes})
	require.NoError(t, err)
	out := &toldNames{names: map[metasim.ClientID]string{}}
	conn := s.Connect(out)
	joins := make([]*metasim.Join, len(names))
	for i, h := range []wire.Hello{
		{Name: names[0], Publications: []string{"SHIPPED"}, Subscriptions: []string{"SHIPPED"}},
		{Name: names[1], Publications: []string{"done", "note"}, Subscriptions: []string{"d.*", "note"}},
		{Name: names[2], Publications: []string{"out"}, Subscriptions: []string{"out", "cell/.*"}},
	} {
		h.Version = wire.Version
		ev, refusal := s.Receive(conn, wire.Packet{Member: uint32(i), Body: h})
		require.Nil(t, refusal)
		joins[i] = ev.(*metasim.Join)
		s.Answer(ev)
	}
	assert.Equal(t, []string{"SHIPPED", "hall/cell/note"}, joins[1].Publications)
	assert.Equal(t, []string{"hall/cell/(?:d.*)", "SHIPPED", "hall/cell/note"}, joins[1].Subscriptions)
	assert.Equal(t, []string{"SHIPPED", "hall/(?:cell/.*)"}, joins[2].Subscriptions)

	ev, refusal := s.Receive(conn, wire.Packet{Member: 1, Body: &metasim.Send{Channel: "done"}})
	require.Nil(t, refusal)
	assert.Equal(t, "SHIPPED", ev.(*metasim.Send).Channel)
	for to := range names {
		for _, from := range []metasim.ClientID{1, 2, 0, 1} {
			s.Deliver(&metasim.Deliver{To: metasim.ClientID(to), Message: metasim.Message{From: from, Channel: "SHIPPED"}})
		}
	}
	assert.Equal(t, []string{
		"hall/cell/arm SHIPPED", "hall/clerk SHIPPED", "gate SHIPPED", "hall/cell/arm SHIPPED",
		"arm done", "clerk done", "gate done", "arm done",
		"cell/arm out", "clerk out", "gate out", "cell/arm out",
	}, out.told)
}

func TestAHiddenNameIsRefused(t *testing.T) {
	scopes := scope.Set{}
	require.NoError(t, scopes.Add(&scope.Nested{Name: "cell", Expose: map[string]string{"done": "DONE"}}))
	s, err := session.NewServer(session.ServerConfig{Names: []string{"a", "cell/b"}, Until: metasim.Infinity, Scopes: scopes})
	require.NoError(t, err)
	out := &toldNames{}
	for _, h := range []wire.Hello{
		{Name: "a", Publications: []string{"cell/done"}}, {Name: "cell/b", Subscriptions: []string{"x?^y"}},
	} {
		h.Version = wire.Version
		ev, refusal := s.Receive(s.Connect(out), wire.Packet{Body: h})
		require.Nil(t, ev)
		require.NotNil(t, refusal)
	}
	assert.Contains(t, out.told[0], `client "a" publishes "cell/done", a name inside of a scenario that exposes this channel as "DONE"; publish on that`)
	assert.Contains(t, out.told[1], "write the ^ first")
}
