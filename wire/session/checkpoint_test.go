package session_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// A saver is a simulator with timers: two periodic ones that meet, one that fires once, and one that is stopped. What it publishes follows
// from all that has happened.
type saver struct {
	*session.Client
	out    session.Outbound
	state  uint64
	timers []*session.Timer
	late   bool // each message sets a timer
	said   []string
	saved  []wire.Checkpoint
	before []int // of said, at each of them
}

func (s *saver) do(what uint64) error {
	s.state = s.state*31 + what + s.Rand("noise").Uint64N(100) + s.Rand("init").Uint64N(100)
	return s.Publish("OUT", binary.LittleEndian.AppendUint64(nil, s.state))
}

func newSaver(t *testing.T, begin wire.Checkpoint) *saver {
	t.Helper()
	s := &saver{}
	var d session.Declaration
	require.NoError(t, errors.Join(d.Publish("OUT"), d.Subscribe("IN"), d.Save()))
	c, err := d.Join("s", "", &s.out)
	require.NoError(t, err)
	s.Client = c
	hello, is := s.out.Packets()[0].Body.(wire.Hello)
	require.True(t, is && hello.Saves)
	s.out.Written()
	begin.Every = 10
	s.receive(t, wire.Welcome{}, begin, wire.Start{Until: metasim.At(1000)})
	if state, begins := s.Begin(); begins {
		s.state = binary.LittleEndian.Uint64(state)
	}
	s.Rand("init").Uint64() // as always before Run
	s.timers = []*session.Timer{
		s.Every(3, func() error { return s.do(3) }),
		s.At(25, func() error { s.timers[2].Stop(); return s.do(25) }),
		s.Every(4, func() error { return s.do(4) }),
		s.Every(6, func() error { return s.do(6) }),
	}
	return s
}

func (s *saver) receive(t *testing.T, bodies ...wire.Body) {
	t.Helper()
	var in session.Inbound
	var packets []wire.Packet
	for _, b := range bodies {
		packets = append(packets, wire.Packet{Body: b})
	}
	require.NoError(t, in.Add(packets, &session.Names{}))
	require.NoError(t, s.Receive(&in))
}

// run runs as far as the client may, and notes what it publishes and its checkpoints.
func (s *saver) run() {
	for s.Running() && s.BeginInstant() {
		for m, ok := s.NextMessage(); ok; m, ok = s.NextMessage() {
			s.Handled(s.do(uint64(m.Payload[0])))
			if s.late {
				s.After(7, func() error { return s.do(7) })
			}
		}
		for call, ok := s.NextTimer(); ok; call, ok = s.NextTimer() {
			s.Handled(call())
		}
		if s.SaveDue() {
			if err := s.Save(binary.LittleEndian.AppendUint64(nil, s.state)); err != nil {
				s.NotSaved(err)
			}
		}
		s.EndInstant()
		if s.Authorized() {
			s.GoOn(session.Work{})
		}
	}
	for _, p := range s.out.Packets() {
		switch b := p.Body.(type) {
		case *metasim.Send:
			s.said = append(s.said, fmt.Sprintf("%v %x", b.Sent, b.Payload))
		case wire.Checkpoint:
			s.saved, s.before = append(s.saved, b), append(s.before, len(s.said))
		}
	}
	s.out.Written()
}

// given are messages due at each fifth nanosecond after a number of them.
func given(acked uint64) []wire.Body {
	bodies := []wire.Body{wire.Introduce{Client: 1, Name: "b"}}
	for n := acked + 1; n <= 18; n++ {
		bodies = append(bodies, &metasim.Deliver{Number: n, Message: metasim.Message{From: 1, Channel: "IN", Due: metasim.At(metasim.Time(5 * n)), Payload: []byte{byte(n)}}})
	}
	return append(bodies, &metasim.Authorize{Until: metasim.At(90)})
}

// TestACheckpointIsWhereTheClientWas: from each of its checkpoints a client says what it had said after it.
func TestACheckpointIsWhereTheClientWas(t *testing.T) {
	s := newSaver(t, wire.Checkpoint{})
	require.NoError(t, s.SetResult("kept"))
	s.BeginRun()
	s.receive(t, given(0)...)
	s.run()
	require.Greater(t, len(s.said), 50)
	require.Len(t, s.saved, 8, "one at the first instant of each 10 ns")
	for i, at := range s.saved {
		again := newSaver(t, at)
		require.Equal(t, at.Now, again.Now())
		again.BeginRun()
		require.True(t, again.Running())
		again.receive(t, given(at.Acked)...)
		again.run()
		require.Equal(t, s.said[s.before[i]:], again.said, "from %v", at.Now)
		require.NoError(t, again.Leave())
		leave, is := again.out.Packets()[0].Body.(*metasim.Leave)
		require.True(t, is)
		require.Equal(t, `"kept"`, string(leave.Result), "the result was set before the checkpoint")
	}
}

// TestNoCheckpointWhileATimerIsLate: a timer that was set in Run is not in a checkpoint, so there is none while one is set.
func TestNoCheckpointWhileATimerIsLate(t *testing.T) {
	s := newSaver(t, wire.Checkpoint{})
	s.late = true
	s.BeginRun()
	s.receive(t, given(0)...)
	s.run()
	require.Empty(t, s.saved, "each message sets one for longer than to the next message")
	require.False(t, s.SaveDue())
}

// TestACheckpointThatDoesNotFit: a state of something else, other timers, a server that was not told.
func TestACheckpointThatDoesNotFit(t *testing.T) {
	s := newSaver(t, wire.Checkpoint{})
	s.BeginRun()
	s.receive(t, given(0)...)
	s.run()
	at := s.saved[2]

	again := newSaver(t, at)
	again.Every(5, func() error { return nil })
	again.BeginRun()
	require.False(t, again.Running())
	require.EqualError(t, again.EndRun(), "5 timers were set before Run, but 4 when the checkpoint at 30ns was made; set the same ones, in the same order")

	for _, state := range [][]byte{nil, {1}, {2, 0}, {1, 0}, {1, 0, 1, 1}, {1, 0, 1, 1, 'a', 3, 1, 2, 3}, {1, 0, 1, 200, 1}, {1, 2}, {1, 1}, {1, 1, 4, 5}, {1, 1, 4, 1, 4, 0, 0}, {1, 1, 0xff, 0xff, 0xff, 0xff, 0xff}, {1, 1, 4, 1, 0, 9}} {
		var out session.Outbound
		var d session.Declaration
		require.NoError(t, d.Save())
		c, err := d.Join("s", "", &out)
		require.NoError(t, err)
		var in session.Inbound
		at.State, at.Every = state, 10
		require.NoError(t, in.Add([]wire.Packet{{Body: wire.Welcome{}}, {Body: at}}, &session.Names{}))
		require.ErrorContains(t, c.Receive(&in), "the checkpoint at 30ns cannot be read: its state is not one of this library", "%v", state)
	}

	var out session.Outbound
	c, err := new(session.Declaration).Join("s", "", &out)
	require.NoError(t, err)
	var in session.Inbound
	require.NoError(t, in.Add([]wire.Packet{{Body: wire.Checkpoint{Every: 1}}}, &session.Names{}))
	require.ErrorAs(t, c.Receive(&in), new(*wire.ProtocolError))
}

// TestATooLargeState: the client goes on without the checkpoint, and says why.
func TestATooLargeState(t *testing.T) {
	s := newSaver(t, wire.Checkpoint{})
	require.Error(t, s.Save(make([]byte, wire.MaxPayload)))
	require.Empty(t, s.out.Packets())
	s.NotSaved(errors.New("it is too large"))
	require.Equal(t, wire.Checkpoint{Failed: "it is too large"}, s.out.Packets()[0].Body)
}

// packetsOf takes the packets for a peer.
type packetsOf struct{ packets []wire.Packet }

func (s *packetsOf) Put(p wire.Packet) { s.packets = append(s.packets, p) }

// TestWhoIsAskedForCheckpoints: a client that can make them, where the run wants them. From another one a checkpoint is no message.
func TestWhoIsAskedForCheckpoints(t *testing.T) {
	for _, c := range []struct{ saves, wanted bool }{{true, true}, {true, false}, {false, true}, {false, false}} {
		config := session.ServerConfig{Names: []string{"a", "b"}, Until: metasim.At(100)}
		if c.wanted {
			config.Checkpoints = map[string]metasim.Time{"a": 10}
		}
		s, err := session.NewServer(config)
		require.NoError(t, err)
		var out packetsOf
		conn := s.Connect(&out)
		join, refusal := s.Receive(conn, wire.Packet{Body: wire.Hello{Version: wire.Version, Name: "a", Saves: c.saves}})
		require.Nil(t, refusal)
		require.Nil(t, s.Answer(join))
		asked := c.saves && c.wanted
		require.Equal(t, asked, len(out.packets) == 2 && out.packets[1].Body.(wire.Checkpoint).Every == 10)
		_, refusal = s.Receive(conn, wire.Packet{Body: wire.Checkpoint{Now: metasim.At(10), Acked: 3}})
		require.Equal(t, !asked, refusal != nil)
		if !asked {
			require.Equal(t, wire.BadMessage, refusal.Reason)
		}
		_, saved := s.Saved()
		require.Equal(t, asked, saved != nil && saved.Acked == 3)
	}
}

// TestACheckpointHasThePromises: what was promised before it binds after it.
func TestACheckpointHasThePromises(t *testing.T) {
	s := newSaver(t, wire.Checkpoint{})
	require.NoError(t, s.Promise(700))
	require.NoError(t, s.Save(make([]byte, 8)))
	at := s.out.Packets()[1].Body.(wire.Checkpoint)
	at.Now = metasim.At(30)
	again := newSaver(t, at)
	require.ErrorAs(t, again.Publish("OUT", nil), new(*metasim.Violation))
	require.ErrorAs(t, again.Promise(699), new(*metasim.Violation))
	require.NoError(t, again.Promise(700))
}
