package compare_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/delay"
	"metasim/metasim"
	"metasim/record/journal"
)

// A world is a small simulation that a real dispatcher carries out and a journal records, without any process. Its clients pass messages
// on, each to the client that the message names. order decides which client acts first in real time, and so the order of the journal,
// and nothing else.
type world struct {
	clients int
	sends   int // in all, about
	order   uint64
	seed    uint64 // of the delays
	size    int    // of a payload, at least 8
	fault
}

// A fault is what a client does wrong.
type fault struct {
	client string
	after  uint64 // the number of its send that is wrong
	kind   string // payload, channel, extra, unheard, missing, leave; empty for none
}

// An actor is a client in a world.
type actor struct {
	id      metasim.ClientID
	name    string
	given   []metasim.Message
	granted metasim.Instant
	acked   uint64
	sends   uint64
	now     metasim.Instant
	waiting bool
	left    bool
}

type simulation struct {
	world
	t      testing.TB
	d      *metasim.Dispatcher
	w      *journal.Writer
	ledger *metasim.Ledger
	random *rand.Rand
	wall   int64
	actors []*actor
	done   bool            // the fault has occurred
	end    metasim.Instant // when it did
}

func (w world) names() []string {
	var names []string
	for i := range w.clients {
		names = append(names, fmt.Sprintf("c%03d", i))
	}
	return names
}

// record carries out a world and returns the directory of the run, and when the fault occurred.
func (w world) record(t testing.TB) (dir string, done bool, at metasim.Instant) {
	t.Helper()
	s := &simulation{world: w, t: t, random: rand.New(rand.NewPCG(w.order, 1))}
	table, err := delay.NewTable(w.seed, []delay.Rule{{Spec: delay.Spec{Delay: delay.Uniform{Min: 1_000_000, Max: 3_000_000}}}})
	require.NoError(t, err)
	s.d, err = metasim.New(metasim.Config{Clients: w.names(), Delays: table})
	require.NoError(t, err)
	s.ledger = metasim.NewLedger(s.d.Names())
	dir = filepath.Join(t.TempDir(), "run")
	d, err := journal.Create(dir)
	require.NoError(t, err)
	s.w, err = d.NewJournal(s.d.Names())
	require.NoError(t, err)
	s.play()
	require.NoError(t, s.w.Close())
	require.NoError(t, d.WriteManifest(&journal.Manifest{
		Scenario: "world", Resolved: fmt.Appendf(nil, `{"seed":%d}`, w.seed), Clients: s.d.Names(), Deterministic: true, OK: true,
		Digests: journal.Digests{Digest: s.ledger.Digest().String(), SendsDigest: s.ledger.SendsDigest().String()},
	}))
	return dir, s.done, s.end
}

// play goes on until all have left: a client that has sent its share leaves.
func (s *simulation) play() {
	for i, name := range s.d.Names() {
		s.actors = append(s.actors, &actor{id: metasim.ClientID(i), name: name})
		s.step(&metasim.Join{Client: metasim.ClientID(i), Publications: append(s.d.Names(), "other"), Subscriptions: []string{name}})
	}
	s.step(&metasim.Begin{})
	for _, p := range s.actors {
		s.send(p, s.d.Names()[(int(p.id)+1)%s.clients], binary.LittleEndian.AppendUint64(make([]byte, 0, s.size), uint64(p.id))[:s.size])
		s.poll(p)
	}
	s.settle()
	for left := 0; left < len(s.actors); s.settle() {
		for _, i := range s.random.Perm(len(s.actors)) {
			p := s.actors[i]
			if p.left || p.waiting || s.random.IntN(3) == 0 {
				continue
			}
			s.act(p)
			if p.left {
				left++
			}
		}
	}
}

// act handles all messages that an actor has received, and waits or leaves.
func (s *simulation) act(p *actor) {
	given := p.given
	p.given = nil
	for _, m := range given {
		p.now = m.Due
		p.acked++
		if p.name == s.client && s.kind == "leave" && p.sends == s.after {
			s.done, s.end = true, p.now
			s.leave(p)
			return
		}
		if p.sends < uint64(s.sends/s.clients) {
			next := binary.LittleEndian.Uint64(m.Payload)*6364136223846793005 + 1442695040888963407
			payload := binary.LittleEndian.AppendUint64(make([]byte, 0, s.size), next)[:s.size]
			s.send(p, s.d.Names()[m.Payload[0]%uint8(s.clients)], payload)
		}
	}
	if p.granted == metasim.Infinity {
		s.leave(p)
		return
	}
	s.poll(p)
}

func (s *simulation) leave(p *actor) {
	s.step(&metasim.Leave{Client: p.id, Now: p.now, Acked: p.acked, Result: fmt.Appendf(nil, `{"sends":%d}`, p.sends)})
	p.left = true
}

func (s *simulation) send(p *actor, channel string, payload []byte) {
	if p.name == s.client && p.sends == s.after && s.kind != "" && !s.done {
		s.done, s.end = true, p.now
		switch s.kind {
		case "payload":
			payload = append([]byte{payload[0] + 1}, payload[1:]...)
		case "channel":
			channel = s.d.Names()[(slices.Index(s.d.Names(), channel)+1)%s.clients]
		case "unheard":
			channel = "other"
		case "missing":
			return
		case "extra":
			s.step(&metasim.Send{Client: p.id, Channel: channel, Sent: p.now, Payload: []byte("this is one too many")})
		}
	}
	p.sends++
	s.step(&metasim.Send{Client: p.id, Channel: channel, Sent: p.now, Payload: payload})
}

func (s *simulation) poll(p *actor) {
	p.waiting = true
	s.step(&metasim.PollWait{Client: p.id, Want: metasim.Infinity, Messages: true,
		Report: metasim.Report{Now: p.now, NoSendBefore: p.now, NextEvent: metasim.Infinity, Acked: p.acked}})
}

func (s *simulation) step(ev metasim.Event) { s.take(ev, s.d.Step(ev)) }
func (s *simulation) settle()               { s.take(nil, s.d.Settle()) }

func (s *simulation) take(ev metasim.Event, effects []metasim.Effect) {
	s.wall += s.random.Int64N(1000)
	s.ledger.Observe(ev, effects)
	require.NoError(s.t, s.w.Observe(s.wall, ev, effects))
	for _, e := range effects {
		switch e := e.(type) {
		case *metasim.Deliver:
			s.actors[e.To].given = append(s.actors[e.To].given, e.Message)
		case *metasim.Authorize:
			p := s.actors[e.To]
			p.granted, p.waiting = e.Until, false
		case *metasim.Evict:
			require.NoError(s.t, e.Err)
		}
	}
}
