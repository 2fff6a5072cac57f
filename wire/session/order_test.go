package session_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// Both ends with a dispatcher between them, and every packet on its way for as long as chance has it: whatever the order in
// which packets of different connections arrive, each client sees the same, and no rule is broken.
func TestBothEndsInAnyOrder(t *testing.T) {
	want := play(t, 0)
	require.Greater(t, want.totals.Delivered, uint64(200))
	for seed := range uint64(50) {
		require.Equal(t, want, play(t, seed+1), "seed %d", seed+1)
	}
}

// outcome is what must be the same in every order.
type outcome struct {
	digest metasim.Digest
	totals metasim.Totals
}

// A line is a connection with one client, and what is on its way in each direction.
type line struct {
	*session.Client
	world   *world
	conn    *session.Conn
	names   session.Names
	out     session.Outbound
	in      session.Inbound
	up      []wire.Packet // from the client
	down    []wire.Packet // to it
	running bool
	waiting bool
	draw    *rand.Rand
}

type world struct {
	t          *testing.T
	server     *session.Server
	dispatcher *metasim.Dispatcher
	books      *metasim.Ledger
	lines      []*line
	over       bool
}

// play carries out a run. The seed decides in which order packets arrive.
func play(t *testing.T, seed uint64) outcome {
	names := []string{"a", "b", "c", "d"}
	d, err := metasim.New(metasim.Config{Clients: names, Until: 50 * metasim.Millisecond})
	require.NoError(t, err)
	w := &world{t: t, dispatcher: d, books: metasim.NewLedger(names)}
	w.server, err = session.NewServer(session.ServerConfig{Scenario: "order", Names: names, Until: d.End()})
	require.NoError(t, err)
	for i, name := range names {
		l := &line{world: w, draw: rand.New(rand.NewPCG(uint64(i), 1))}
		l.conn = w.server.Connect(l)
		declaration := session.Declaration{}
		require.NoError(t, declaration.Publish("to-"+names[(i+1)%len(names)]))
		require.NoError(t, declaration.Publish("all"))
		require.NoError(t, declaration.Subscribe("to-"+name))
		require.NoError(t, declaration.Subscribe("all"))
		l.Client, err = declaration.Join(name, "", &l.out)
		require.NoError(t, err)
		l.write()
		w.lines = append(w.lines, l)
	}
	order := rand.New(rand.NewPCG(seed, 2))
	for steps := 0; !w.over; steps++ {
		require.Less(t, steps, 1_000_000, "the run does not end")
		l := w.lines[order.IntN(len(w.lines))]
		switch order.IntN(3) {
		case 0:
			l.arriveAtServer()
		case 1:
			l.arriveAtClient()
		default:
			w.carryOut(nil, w.dispatcher.Settle())
		}
	}
	return outcome{w.books.Digest(), w.books.Totals()}
}

// Put sends a packet on its way to the client.
func (l *line) Put(p wire.Packet) { l.down = append(l.down, p.Keep()) }

// write sends on its way what the client has to say.
func (l *line) write() {
	for _, p := range l.out.Packets() {
		l.up = append(l.up, p.Keep())
	}
	l.out.Written()
}

func (l *line) arriveAtServer() {
	if len(l.up) == 0 || l.world.over {
		return
	}
	p := l.up[0]
	l.up = l.up[1:]
	ev, refusal := l.world.server.Receive(l.conn, p)
	require.Nil(l.world.t, refusal)
	for ev != nil {
		l.world.carryOut(ev, l.world.dispatcher.Step(ev))
		ev = l.world.server.Answer(ev)
	}
}

func (w *world) carryOut(ev metasim.Event, effects []metasim.Effect) {
	w.books.Observe(ev, effects)
	for _, e := range effects {
		switch e := e.(type) {
		case *metasim.Deliver:
			w.server.Deliver(e)
		case *metasim.Authorize:
			w.server.Authorize(e)
		case *metasim.Finish:
			require.NoError(w.t, e.Err)
			w.over = true
		}
	}
}

func (l *line) arriveAtClient() {
	if len(l.down) == 0 {
		return
	}
	p := l.down[0]
	l.down = l.down[1:]
	require.NoError(l.world.t, l.in.Add([]wire.Packet{p}, &l.names))
	if err := l.Receive(&l.in); err != nil {
		require.ErrorIs(l.world.t, err, session.ErrLeft)
		return
	}
	l.in.Clear()
	switch {
	case !l.Started():
	case !l.running:
		l.running = true
		l.publish()
		l.Every(metasim.Time(1+l.draw.IntN(5))*metasim.Millisecond, func() error { l.publish(); return nil })
		l.BeginRun()
		l.run()
	case l.waiting && l.Answered():
		l.run()
	}
	l.write()
}

// run acts as far as the client is authorized, then waits or leaves.
func (l *line) run() {
	l.waiting = false
	for l.BeginInstant() {
		for m, ok := l.NextMessage(); ok; m, ok = l.NextMessage() {
			if m.Channel != "all" && l.draw.IntN(3) > 0 {
				l.publish()
			}
		}
		for handler, ok := l.NextTimer(); ok; handler, ok = l.NextTimer() {
			l.Handled(handler())
		}
		require.True(l.world.t, l.Running())
		l.EndInstant()
		if l.Authorized() {
			l.GoOn(session.Work{})
		}
	}
	if l.AtEnd() {
		require.NoError(l.world.t, l.Leave())
		return
	}
	l.Wait(session.Work{})
	l.waiting = true
}

// publish sends to the neighbour or to all.
func (l *line) publish() {
	channel := "all"
	if l.draw.IntN(2) > 0 {
		channel = "to-" + map[string]string{"a": "b", "b": "c", "c": "d", "d": "a"}[l.Name()]
	}
	require.NoError(l.world.t, l.Publish(channel, fmt.Append(nil, l.Now(), l.draw.IntN(100))))
}
