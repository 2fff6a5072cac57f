package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// The server's end of a client that comes back: whom it lets in again, what it says that it has, and what it gives.
func TestComesBack(t *testing.T) {
	begin := &metasim.Begin{}
	said := saidBefore()
	s, out, conn := resumed(t, said...)
	for number := range uint64(3) {
		s.Deliver(&metasim.Deliver{Number: number + 1, Message: metasim.Message{Channel: "Y", Due: metasim.At(metasim.Time(number + 1))}})
	}
	s.Authorize(&metasim.Authorize{Until: metasim.At(6)})
	for _, less := range []wire.Back{{Sent: 0, Handled: 2}, {Sent: 1, Handled: 0}} {
		_, refusal := s.Receive(conn, hello(&less))
		require.Contains(t, refusal.Text, "and the journal has 1 and 1 of it: it had not caught up when its server was lost; start it again")
	}
	ev, refusal := s.Receive(conn, hello(&wire.Back{Sent: 4, Handled: 2}))
	require.Nil(t, refusal)
	out.packets = nil
	require.Nil(t, s.Return(ev.(*metasim.Join)))
	lacks, back := s.Lacks(0)
	require.True(t, back)
	require.EqualValues(t, 3, lacks)
	require.False(t, s.Repeats(0), "it does not begin anew")
	var bodies []wire.Body
	for _, p := range out.packets {
		bodies = append(bodies, p.Body)
	}
	require.Equal(t, []wire.Body{
		wire.Welcome{Patience: 7, Known: &wire.Known{Sent: 1, Delivered: 3, Now: metasim.At(4), NoSendBefore: metasim.At(5)}},
		wire.Start{Until: metasim.At(100)},
		wire.Introduce{Name: "a"},
		&metasim.Deliver{Number: 3, Message: metasim.Message{Channel: "Y", Due: metasim.At(3)}},
		&metasim.Authorize{Until: metasim.At(6)},
	}, bodies, "it has handled the first two")
	_, refusal = s.Receive(s.Connect(out), hello(&wire.Back{Sent: 4, Handled: 2}))
	require.Contains(t, refusal.Text, `client "a" comes back, and this server has not lost it`, "it is there already")

	s, out, conn = resumed(t, append(said, &metasim.Leave{})...)
	ev, refusal = s.Receive(conn, hello(&wire.Back{Sent: 1, Handled: 1}))
	require.Nil(t, ev)
	require.Nil(t, refusal)
	require.Equal(t, []wire.Packet{{Body: wire.Goodbye{}}}, out.packets, "its Leave had arrived")

	s, out, conn = resumed(t) // not even its Join had reached the journal
	ev, refusal = s.Receive(conn, hello(&wire.Back{Sent: 2}))
	require.Nil(t, refusal)
	require.IsType(t, begin, s.Answer(ev))
	require.Equal(t, []wire.Packet{{Body: wire.Welcome{Patience: 7, Known: &wire.Known{}}}}, out.packets)

	s, err := session.NewServer(session.ServerConfig{Names: []string{"a"}, Patience: map[string]int64{"a": 7}})
	require.NoError(t, err)
	_, refusal = s.Receive(s.Connect(out), hello(&wire.Back{}))
	require.Contains(t, refusal.Text, "this server has not lost it", "it was not resumed")
}

// outputs are the packets for a connection.
type outputs struct{ packets []wire.Packet }

func (o *outputs) Put(p wire.Packet) { o.packets = append(o.packets, p) }

// resumed is the server of a run that was cut off, with one client.
func resumed(t *testing.T, journal ...metasim.Event) (*session.Server, *outputs, *session.Conn) {
	t.Helper()
	s, err := session.NewServer(session.ServerConfig{Names: []string{"a"}, Until: metasim.At(100), Patience: map[string]int64{"a": 7}, Tokens: map[string]string{"a": "own"}})
	require.NoError(t, err)
	s.Resumes()
	for _, ev := range journal {
		s.Restore(ev)
	}
	out := &outputs{}
	return s, out, s.Connect(out)
}

func hello(back *wire.Back) wire.Packet {
	return wire.Packet{Body: wire.Hello{Version: wire.Version, Name: "a", Token: "own", Returns: true, Back: back}}
}

// saidBefore is what the journal has of the client.
func saidBefore() []metasim.Event {
	return []metasim.Event{&metasim.Join{}, &metasim.Begin{},
		&metasim.Send{Channel: "X", Sent: metasim.At(3)},
		&metasim.PollWait{Report: metasim.Report{Now: metasim.At(4), NoSendBefore: metasim.At(5), Acked: 1}, Want: metasim.At(9)},
	}
}

// A client that comes back says at once that it has handled all. What it was given for later counts later: if it dies now, its new process will not have
// handled that by then.
func TestAcknowledgesWhatWasDue(t *testing.T) {
	for at, acked := range map[metasim.Time]uint64{4: 3, 5: 4, 9: 5} {
		s, out, conn := resumed(t, saidBefore()...)
		for number := range uint64(3) {
			s.Deliver(&metasim.Deliver{Number: number + 1, Message: metasim.Message{Channel: "Y", Due: metasim.At(metasim.Time(number + 1))}})
		}
		ev, _ := s.Receive(conn, hello(&wire.Back{Sent: 4, Handled: 5}))
		require.Nil(t, s.Return(ev.(*metasim.Join)))
		require.NotEmpty(t, out.packets)
		s.Deliver(&metasim.Deliver{Number: 4, Message: metasim.Message{Due: metasim.At(5)}})
		s.Deliver(&metasim.Deliver{Number: 5, Message: metasim.Message{Due: metasim.At(9)}})
		for _, ev := range []metasim.Event{
			&metasim.PollWait{Report: metasim.Report{Now: metasim.At(at), Acked: 5}}, &metasim.Advance{Report: metasim.Report{Now: metasim.At(at), Acked: 5}},
		} {
			ev, refusal := s.Receive(conn, wire.Packet{Body: ev})
			require.Nil(t, refusal)
			switch ev := ev.(type) {
			case *metasim.PollWait:
				require.Equal(t, acked, ev.Acked)
			case *metasim.Advance:
				require.Equal(t, acked, ev.Acked)
			}
		}
		ev, _ = s.Receive(conn, wire.Packet{Body: &metasim.PollWait{Report: metasim.Report{Now: metasim.At(at), Acked: 6}}})
		require.EqualValues(t, 6, ev.(*metasim.PollWait).Acked, "it was not given so much: the dispatcher says so")
		ev, _ = s.Receive(conn, wire.Packet{Body: &metasim.Leave{Now: metasim.At(at), Acked: 5}})
		require.EqualValues(t, 5, ev.(*metasim.Leave).Acked)
	}
}
