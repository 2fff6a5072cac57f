package server_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/transport/stream"
)

// A seen is an observer that keeps what it is shown, as text. Before it is shown the poll of a client at an instant it waits until that client has
// heard the answer.
type seen struct {
	lines    []string
	last     int64
	awaits   metasim.Instant
	answered chan struct{}
	early    bool // the poll was shown, and no answer came
}

func (o *seen) Observe(wall int64, ev metasim.Event, effects []metasim.Effect) error {
	if wall < o.last {
		return fmt.Errorf("shown what was at %d ns after what was at %d ns", wall, o.last)
	}
	o.last = wall
	if poll, ok := ev.(*metasim.PollWait); ok && o.answered != nil && poll.Want == o.awaits {
		select {
		case <-o.answered:
		case <-time.After(10 * time.Second):
			o.early = true
		}
	}
	line := fmt.Sprintf("%T%+v", ev, ev)
	for _, e := range effects {
		line += fmt.Sprintf(" %T%+v", e, e)
	}
	o.lines = append(o.lines, line)
	return nil
}

// socket connects a peer over a socket.
func (r *running) socket(path string) *peer {
	r.t.Helper()
	raw, err := net.Dial("unix", path)
	require.NoError(r.t, err)
	p := &peer{t: r.t, conn: stream.New(raw, "server")}
	r.t.Cleanup(func() { require.NoError(r.t, p.conn.Close()) })
	return p
}

// alone runs one client that sends to itself, and returns it when it has started.
func alone(t *testing.T, o *seen, outside bool) (*running, *peer) {
	t.Helper()
	c := config("a")
	c.Observers = []server.Observer{o}
	r := serve(t, c)
	var a *peer
	if outside {
		a = r.socket(r.unix())
	} else {
		a = r.dial()
	}
	h := hello("a")
	h.Publications, h.Subscriptions = []string{"X"}, []string{"X"}
	a.say(h)
	hear[wire.Welcome](a)
	hear[wire.Start](a)
	return r, a
}

// A client in another process gets its answer before the observers are shown what led to it.
func TestAnsweredBeforeObserved(t *testing.T) {
	o := &seen{awaits: at(2), answered: make(chan struct{})}
	r, a := alone(t, o, true)
	a.say(&metasim.Send{Channel: "X", Sent: at(0)}, until(at(0), at(2)))
	hear[*metasim.Deliver](a)
	hear[*metasim.Authorize](a)
	close(o.answered)
	a.leave()
	require.NoError(t, r.end())
	require.False(t, o.early, "the poll was shown before its answer was written")
}

// The observers are shown the same, in the same order, whether at once or later: also a burst of which more is waiting than may.
func TestObservedLaterIsTheSame(t *testing.T) {
	shown := map[bool][]string{}
	for _, outside := range []bool{false, true} {
		o := &seen{}
		r, a := alone(t, o, outside)
		for i := range metasim.Time(5) {
			bodies := []wire.Body{&metasim.Promise{NoSendBefore: at(2 * i)}}
			for n := range 100 * i {
				bodies = append(bodies, &metasim.Send{Channel: "X", Sent: at(2 * i), Payload: fmt.Appendf(nil, "%d/%d", i, n)})
			}
			poll := until(at(2*i), at(2*i+2))
			poll.Messages = false
			a.say(append(bodies, poll)...)
			for range 100 * i {
				hear[*metasim.Deliver](a)
			}
			hear[*metasim.Authorize](a)
			snapshot := r.Snapshot()
			require.Equal(t, 50*uint64(i*(i+1)), snapshot.Totals.Sent, "who asks is told what is not observed yet")
		}
		a.say(&metasim.Leave{Now: at(10), Acked: 1000})
		hear[wire.Goodbye](a)
		require.NoError(t, r.end())
		shown[outside] = o.lines
	}
	require.NotEmpty(t, shown[true])
	require.Equal(t, shown[false], shown[true])
}
