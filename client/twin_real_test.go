package client_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"metasim/client"
	"metasim/internal/shortdir"
	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/transport/mem"
	"metasim/wire/transport/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var systems = flag.Uint64("systems", 80, "how many random systems TestTwin compares")

// Real clients of a real server, in goroutines that run as they like, do what a sequential simulation of the same
// models says: on any number of processors, whether the run is driven or runs by itself, whatever the connections.
func TestTwin(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	delivered := uint64(0)
	for seed := range *systems {
		s := randomSystem(seed)
		want := twinOutcome(s)
		for _, procs := range []int{1, 2, 8} {
			runtime.GOMAXPROCS(procs)
			m := setup{
				driven: (seed+uint64(procs))%3 == 0, shared: seed%4 == 1, plain: seed%2 == 0,
				scheduled: (seed+uint64(procs))%5 < 3, socket: seed%8 == 3,
			}
			require.Equal(t, want, realOutcome(t, s, m), "seed %d, GOMAXPROCS %d, %+v: %+v", seed, procs, m, s)
		}
		for _, c := range want.clients {
			delivered += c.delivered
		}
	}
	require.Greater(t, delivered, *systems*10, "the systems are too quiet to show anything")
}

// A setup is how a system is run. Nothing of it may show.
type setup struct {
	driven    bool // in leaps of random length
	shared    bool // all clients over one connection
	plain     bool // over connections that are read and written, as a socket is
	socket    bool // over unix sockets
	scheduled bool // as coroutines
}

// A plainNet hides that the connections of a Net are direct.
type plainNet struct{ *mem.Net }

type plainConn struct{ wire.Conn }

func (n plainNet) Accept() (wire.Conn, error) {
	conn, err := n.Net.Accept()
	return plainConn{conn}, err
}

func (n plainNet) Dial(ctx context.Context) (wire.Conn, error) {
	conn, err := n.Net.Dial(ctx)
	return plainConn{conn}, err
}

// A unixNet is a unix socket: its listener, and Dial.
type unixNet struct{ wire.Listener }

func (n unixNet) Dial(ctx context.Context) (wire.Conn, error) {
	return stream.Unix().Dial(ctx, n.URL())
}

func listenUnix(t *testing.T) unixNet {
	l, err := stream.Unix().Listen("unix://" + filepath.Join(shortdir.Make(t), "s"))
	require.NoError(t, err)
	return unixNet{Listener: l}
}

// A meeting is where clients and their server meet.
type meeting interface {
	wire.Listener
	Dial(ctx context.Context) (wire.Conn, error)
}

// hashLinks are the links of a system, for the dispatcher.
type hashLinks struct{ seed uint64 }

type hashLink struct {
	seed              uint64
	from, to, channel string
}

func (d hashLinks) Link(from, to, channel string) metasim.Link {
	return hashLink{d.seed, from, to, channel}
}
func (l hashLink) Min() metasim.Time { return leastHop(l.seed, l.from, l.to, l.channel) }
func (l hashLink) Earliest(x metasim.Instant) metasim.Instant {
	return x.Add(l.Min())
}
func (l hashLink) Transit(dues []metasim.Instant, n uint64, sent metasim.Instant, _ int) []metasim.Instant {
	for _, d := range hops(l.seed, l.from, l.to, l.channel, n) {
		dues = append(dues, sent.Add(d))
	}
	return dues
}

func realOutcome(t *testing.T, s system, m setup) outcome {
	config := server.Config{
		Core:     metasim.Config{Delays: hashLinks{s.seed}, Until: s.until, Ahead: s.ahead},
		Scenario: "twin", Driven: m.driven, StartTimeout: time.Minute,
	}
	for _, sc := range s.scripts {
		config.Core.Clients = append(config.Core.Clients, sc.name)
	}
	scheduler := client.NewScheduler()
	if m.scheduled {
		config.After = scheduler.Served()
	}
	srv, err := server.New(config)
	require.NoError(t, err)
	var net meeting = mem.NewNet()
	switch {
	case m.socket:
		net = listenUnix(t)
	case m.plain:
		net = plainNet{mem.NewNet()}
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("it hangs"))
	defer cancel()
	errs := make([]error, len(s.scripts)+2)
	var all sync.WaitGroup
	all.Go(func() { errs[len(errs)-1] = srv.Accept(net) })
	connect := func() wire.Conn {
		conn, err := net.Dial(ctx)
		require.NoError(t, err)
		return conn
	}
	var host *client.Host
	if m.shared {
		host, err = client.Connect(ctx, client.WithConn(connect()))
		require.NoError(t, err)
		defer func() { require.NoError(t, host.Close()) }()
	}
	for i, sc := range s.scripts {
		option := client.WithHost(host)
		if !m.shared {
			option = client.WithConn(connect())
		}
		if m.scheduled {
			scheduler.Go(func(scheduled client.Option) { errs[i] = sc.live(ctx, s.seed, option, scheduled) })
			continue
		}
		all.Go(func() { errs[i] = sc.live(ctx, s.seed, option) })
	}
	all.Go(scheduler.Wait)
	if m.driven {
		all.Go(func() { errs[len(errs)-2] = drive(ctx, srv, s.seed) })
	}
	require.NoError(t, srv.Serve(ctx), "%+v", s)
	all.Wait()
	require.NoError(t, errors.Join(errs...), "%+v", s)
	r := srv.Result()
	o := outcome{digest: r.Digest.String()}
	for _, c := range r.Clients {
		o.clients = append(o.clients, outcomeOf{c.Name, c.Digest.String(), c.Sent, c.Delivered, c.End})
	}
	return o
}

// drive advances a run by leaps of random length, none of which may show.
func drive(ctx context.Context, srv *server.Server, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 2))
	if err := srv.Initialize(ctx); err != nil {
		return err
	}
	for at := metasim.Time(0); ; at += metasim.Time(r.IntN(2000)) {
		next, err := srv.AdvanceTo(ctx, at)
		if err != nil {
			return err
		}
		if next.Before(metasim.At(at)) {
			return fmt.Errorf("at %v there is still something to happen at %v", at, next)
		}
		if next == metasim.Infinity {
			_, err := srv.AdvanceTo(ctx, metasim.Forever)
			return err
		}
	}
}

// A real is the actor of a behavior in a client.
type real struct {
	client   *client.Client
	behavior *behavior
	out      map[string]*client.Publication
	every    *client.Timer
	err      error // the first thing that failed and should not
	ctx      context.Context
}

func (a *real) now() metasim.Instant { return a.client.Now() }
func (a *real) stop()                { a.every.Stop() }
func (a *real) leave()               { a.check(a.client.Leave(a.ctx)) }
func (a *real) promise(t metasim.Time) {
	a.check(a.client.Promise(t))
}
func (a *real) publish(channel string, payload []byte) {
	for range rand.IntN(3) {
		runtime.Gosched() // so that no two runs go alike
	}
	a.check(a.out[channel].Publish(payload))
}
func (a *real) after(d metasim.Time, what int) {
	a.client.After(time.Duration(d), func() error { a.behavior.fire(what); return a.err })
}
func (a *real) check(err error) {
	if a.err == nil {
		a.err = err
	}
}

func (s script) live(ctx context.Context, seed uint64, options ...client.Option) error {
	a := &real{ctx: ctx, out: map[string]*client.Publication{}}
	a.behavior = newBehavior(seed, s, a)
	b := client.NewBuilder(s.name)
	for _, channel := range s.pubs {
		a.out[channel] = b.Publication(channel)
	}
	for _, sub := range s.subs {
		handler := func(m client.Message) error { a.behavior.handle(toSeen(m)); return a.err }
		if s.deaf {
			handler = nil
		}
		a.check(b.Subscribe(sub, handler))
	}
	a.check(b.Reaction(time.Duration(s.reaction)))
	var err error
	if a.client, err = b.Complete(ctx, options...); err != nil {
		return err
	}
	a.behavior.start()
	for i := range s.steps + s.nexts {
		move := a.client.Step
		if i >= s.steps {
			move = a.client.Next
		}
		msgs, err := move(ctx, a.now().Time+s.stride)
		if errors.Is(err, client.ErrEnd) {
			return errors.Join(a.err, a.client.Leave(ctx))
		}
		if err != nil {
			return err
		}
		var seen []seenMessage
		for _, m := range msgs {
			seen = append(seen, toSeen(m))
		}
		a.behavior.wake(seen)
	}
	if !s.run {
		return errors.Join(a.err, a.client.Leave(ctx))
	}
	a.every = a.client.Every(time.Duration(s.period), func() error { a.behavior.fire(0); return a.err })
	a.after(0, 1)
	return errors.Join(a.client.Run(ctx), a.err)
}

func toSeen(m client.Message) seenMessage {
	return seenMessage{m.From, m.Channel, m.Seq, m.Sent, m.Due, m.Payload}
}
