package server_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
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

// An observe is an observer that is a function.
type observe func(metasim.Event) error

func (o observe) Observe(_ int64, ev metasim.Event, _ []metasim.Effect) error { return o(ev) }

// polls reports whether an event is the poll of a client for an instant.
func polls(ev metasim.Event, id metasim.ClientID, want metasim.Instant) bool {
	poll, ok := ev.(*metasim.PollWait)
	return ok && poll.Client == id && poll.Want == want
}

// elsewhere starts clients of other processes.
func (r *running) elsewhere(hellos ...wire.Hello) (peers []*peer) {
	path := r.unix()
	for _, h := range hellos {
		p := r.socket(path)
		p.say(h)
		hear[wire.Welcome](p)
		peers = append(peers, p)
	}
	for _, p := range peers {
		hear[wire.Start](p)
	}
	return peers
}

var errObserver = errors.New("it cannot take this")

// A run ends with the error of an observer also if it is a snapshot that shows it what waits, and nobody says anything after that.
func TestAnObserverFailsInASnapshot(t *testing.T) {
	c := config("a")
	var r *running
	var look atomic.Bool
	c.Gateway = observe(func(ev metasim.Event) error {
		look.CompareAndSwap(false, polls(ev, 0, at(1)))
		return nil
	})
	c.Observers = []server.Observer{observe(func(ev metasim.Event) error {
		if polls(ev, 0, at(1)) {
			return errObserver
		}
		return nil
	})}
	c.After = func(bool) {
		if look.CompareAndSwap(true, false) {
			r.Snapshot()
		}
	}
	r = serve(t, c)
	a := r.elsewhere(hello("a"))[0]
	a.say(until(at(0), at(1)))
	require.ErrorIs(t, r.end(), errObserver)
}

// held is an observer that does not return from a poll of the first client before a function does.
func held(until metasim.Instant, wait func()) server.Observer {
	return observe(func(ev metasim.Event) error {
		if polls(ev, 0, until) {
			wait()
		}
		return nil
	})
}

// What came while the observers were shown what waited is taken, and then the clients of this process go on: After is called.
func TestAfterWhatCameWhileObserved(t *testing.T) {
	c := config("a", "b", "c")
	shows, goOn := make(chan struct{}), make(chan struct{})
	c.Observers = []server.Observer{held(at(1), func() { close(shows); <-goOn })}
	var settled, after atomic.Int64
	calls := make(chan struct{}, 1000)
	c.Settled = func(*metasim.Dispatcher) { settled.Add(1) }
	c.After = func(bool) {
		for now := settled.Load(); ; { // of two goroutines the one that has seen less may come last
			if seen := after.Load(); now <= seen || after.CompareAndSwap(seen, now) {
				break
			}
		}
		calls <- struct{}{}
	}
	r := serve(t, c)
	peers := r.elsewhere(hello("a"), hello("b"), hello("c"))
	peers[0].say(until(at(0), at(1)))
	<-shows
	for len(calls) > 0 {
		<-calls
	}
	before := settled.Load()
	for _, p := range peers[1:] {
		p.say(until(at(0), at(1)))
	}
	<-calls // one is in the mailbox; whoever reads the other may be the one that shows the observers what waits
	require.Equal(t, before, settled.Load())
	close(goOn)
	for _, p := range peers[1:] {
		hear[*metasim.Authorize](p)
	}
	require.Eventually(t, func() bool { return after.Load() == settled.Load() }, 10*time.Second, time.Millisecond)
	require.Greater(t, settled.Load(), before)
}

// A full is an observer that is full when it has so many bytes, and never has room again.
type full struct {
	server.Observer
	bytes, most int
	is          atomic.Bool
}

func (f *full) Observe(wall int64, ev metasim.Event, effects []metasim.Effect) error {
	if send, ok := ev.(*metasim.Send); ok {
		f.bytes += len(send.Payload)
		f.is.Store(f.bytes >= f.most)
	}
	return f.Observer.Observe(wall, ev, effects)
}

func (f *full) Full() (bool, error) { return f.is.Load(), nil }
func (f *full) Notify(func())       {}
func (f *full) Flush()              {}

// An observer that is full gets little more, even if payloads are large.
func TestFewBytesBeyondFull(t *testing.T) {
	names := strings.Fields("a b c d e f g h i j")
	c := config(names...)
	shows, goOn := make(chan struct{}), make(chan struct{})
	disk := &full{Observer: held(at(1), func() { close(shows); <-goOn }), most: 1 << 20}
	c.Observers = []server.Observer{disk}
	calls := make(chan struct{}, 1000)
	c.After = func(bool) { calls <- struct{}{} }
	r := serve(t, c)
	var hellos []wire.Hello
	for _, name := range names {
		hellos = append(hellos, sender(name))
	}
	peers := r.elsewhere(hellos...)
	peers[0].say(until(at(0), at(1)))
	<-shows
	for len(calls) > 0 {
		<-calls
	}
	var said sync.WaitGroup
	for _, p := range peers[1:] { // one of them is not read yet, if its reader is who shows the observers what waits
		said.Go(func() {
			_ = p.conn.Write([]wire.Packet{{Member: p.member, Body: &metasim.Send{Channel: "X", Payload: make([]byte, 1<<20)}}}) // an error: the run was over first
		})
	}
	for range peers[2:] {
		<-calls // it is in the mailbox
	}
	close(goOn)
	require.Eventually(t, disk.is.Load, 10*time.Second, time.Millisecond)
	r.cancel(errTestOver)
	require.ErrorIs(t, r.end(), errTestOver)
	said.Wait()
	require.LessOrEqual(t, disk.bytes, 3<<20, "one fills it, and one waits beside it, of 9")
}
