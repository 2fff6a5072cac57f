package run

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"metasim/metasim"
	"metasim/record"
	"metasim/scenarios"
	"metasim/server"
	"metasim/wire"
)

// A nested run may have a process of its own, on another host perhaps: `metasim cell`. It is started as the process of a client is, and is
// connected with the outer run by what its clients would say there as one process: Hello, SendMessage, PollWait, NotifyAdvance and Leave of the members
// of its gateway; DeliveredMessage, AuthorizeAdvance, Start, Goodbye and Refuse to them. What concerns a run as a whole is of member wholeRun:
//
//	nested run                               outer run
//	Hello with its name and the token
//	                                         SendMessage with its setup
//	Hello of each client inside              Hello of each other client: what they declare
//	Hello of the members, and all they say   what is for the members
//	                                         AuthorizeAdvance: a Permit, how far the run may go
//	SendMessage with its result
//
// The gateway is in the process of the nested run, whose dispatcher it asks at each turn.

// wholeRun is the member of what concerns a run as a whole.
const wholeRun = math.MaxUint32

// A farCell is the outer run's end of a nested run in a process of its own.
type farCell struct {
	*nest
	hostedCell
	post   *courier
	gate   *server.Gate
	came   atomic.Bool // its process has come
	result *cellResult // what it has said in the end; nil: nothing
}

// farCells are those of a run, and where their processes join.
type farCells struct {
	cells  []*farCell
	listen *listeners
	cancel context.CancelCauseFunc
	over   chan struct{} // closed when the outer run is over
	log    *slog.Logger
	work   sync.WaitGroup
}

// A cellSetup is what the process of a nested run is told of it.
type cellSetup struct {
	Resolved        json.RawMessage // the whole scenario
	Dir             string
	Memory, Cascade int
	AheadOf         map[string]int
	PeerTimeout     time.Duration
	Around          []string // the names of all clients of the outer run, in order
	Out             string
	Transport       string
	Inside          []string
	Pack            int
	Patience        time.Duration
	Env, Command    []string

	AllowOutside, NoTrace, NoJournal, Durable, KeepEnv bool
}

func newFarCell(n *nest, sc *scenarios.Scenario, name string) *farCell {
	f := &farCell{nest: n, hostedCell: hostedCell{name: name, met: make(chan struct{}), heard: make(chan struct{})}, post: newCourier()}
	for _, client := range sortedNames(sc) {
		if strings.HasPrefix(client, name+"/") {
			f.own = append(f.own, client)
		}
	}
	return f
}

// listenFar opens what the processes of nested runs join through, and says where that is.
func listenFar(outer *runner, sc *scenarios.Scenario, cells []*farCell, cancel context.CancelCauseFunc) (*farCells, error) {
	o := *outer.options
	o.Listen, o.Token, o.Tokens, o.Serve = "", "", "", false
	if !o.far() {
		o.Transport = "unix"
	} else if host, _, err := net.SplitHostPort(outer.options.Listen); err == nil {
		o.Listen = net.JoinHostPort(host, "0")
	}
	l, err := listen(&o, false, true, sc.PeerTimeout, boundTokens{}, nil)
	if err != nil {
		return nil, fmt.Errorf("the processes of nested runs cannot join: %w", err)
	}
	all := &farCells{cells: cells, listen: l, cancel: cancel, over: make(chan struct{}), log: o.Log}
	for _, f := range cells {
		setup, err := f.setup(sc, outer.options)
		if err != nil {
			return nil, errors.Join(err, l.close())
		}
		f.gate = outer.server.Gate("the nested run "+f.name, f.told)
		f.post.put(wire.Packet{Member: wholeRun, Body: &metasim.Send{Channel: "setup", Payload: setup}})
		all.work.Go(func() { f.around(all.over) })
	}
	outer.part.cells.server, outer.part.cells.token = l.outside.URL(), l.forStarted()
	all.work.Go(all.accept)
	return all, nil
}

// setup is what the process is told.
func (f *farCell) setup(sc *scenarios.Scenario, o *Options) ([]byte, error) {
	resolved, err := sc.Resolved(true)
	if err != nil {
		return nil, err
	}
	out, err := filepath.Abs(f.outer.dir.File(record.NestedDir + f.name))
	if err != nil {
		return nil, err
	}
	s := cellSetup{
		Resolved: resolved, Dir: sc.Dir, Memory: sc.Memory, Cascade: sc.Cascade, AheadOf: sc.AheadOf(), PeerTimeout: sc.PeerTimeout, Around: f.outer.names(), Out: out,
		Transport: o.Transport, Pack: o.Pack, Patience: o.Patience, Env: o.Env, Command: o.Command,
		AllowOutside: o.AllowOutside, NoTrace: o.NoTrace, NoJournal: o.NoJournal, Durable: o.Durable, KeepEnv: o.KeepEnv,
	}
	if o.far() {
		s.Transport = Transports[0] // its clients are on its host
	}
	for _, name := range o.Inside {
		if slices.Contains(f.own, name) {
			s.Inside = append(s.Inside, name)
		}
	}
	return json.Marshal(s)
}

// acceptPause is how long accept waits when it cannot take in a process.
const acceptPause = 100 * time.Millisecond

// accept takes in the processes, each in a goroutine of its own.
func (all *farCells) accept() {
	for {
		conn, err := all.listen.outside.Accept()
		if errors.Is(err, net.ErrClosed) {
			return // the run is over
		}
		if err != nil { // the system is short of something
			all.log.Warn("the process of a nested run cannot be taken in; it is tried again", "cause", err)
			select {
			case <-all.over:
			case <-time.After(acceptPause):
			}
			continue
		}
		all.work.Go(func() {
			if f := all.meet(conn); f != nil {
				close(f.met)
				go f.post.deliver(conn)
				f.serve(conn, all.cancel)
				close(f.heard)
			} else {
				_ = conn.Close() // who has not shown the token is told nothing
			}
		})
	}
}

// meet returns the nested run that a peer says to be, with the token.
func (all *farCells) meet(conn wire.Conn) *farCell {
	knows := func(token string) bool {
		return subtle.ConstantTimeCompare([]byte(token), []byte(all.listen.forStarted())) == 1
	}
	guarded, isGuarded := conn.(wire.Guarded)
	if isGuarded {
		guarded.Guard(knows)
	}
	strange := time.AfterFunc(hostPatience, func() { _ = conn.Close() }) // it says nothing
	defer strange.Stop()
	packets, err := conn.Read()
	if err != nil || len(packets) != 1 {
		return nil
	}
	hello, is := packets[0].Body.(wire.Hello)
	i := slices.IndexFunc(all.cells, func(f *farCell) bool { return f.name == hello.Name })
	if !is || !knows(hello.Token) || i < 0 || all.cells[i].came.Swap(true) {
		return nil
	}
	if isGuarded {
		guarded.Trust()
	}
	return all.cells[i]
}

// end waits until nothing comes from the processes any more: the outer run is over. It returns what came of them.
func (all *farCells) end() (results []*cellResult) {
	_ = all.listen.close() // accepted connections stay open, until their peers close them: the processes have ended
	close(all.over)
	defer time.AfterFunc(lastWords, func() {
		for _, f := range all.cells {
			f.post.close()
		}
	}).Stop()
	all.work.Wait()
	for _, f := range all.cells {
		if f.result == nil {
			f.result = noResult(f.own, errors.New("its process has ended without a word"))
		}
		results = append(results, f.result)
	}
	return results
}

// around says what all other clients declare, once all are known.
func (f *farCell) around(over <-chan struct{}) {
	select {
	case <-f.complete:
	case <-over:
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(f.declared)) {
		if !strings.HasPrefix(name, f.name+"/") {
			f.post.put(declaration(name, f.declared[name]))
		}
	}
}

// declaration says what a client declares.
func declaration(name string, d *metasim.Join) wire.Packet {
	return wire.Packet{Member: wholeRun, Body: wire.Hello{Version: wire.Version, Name: name, Publications: d.Publications, Subscriptions: d.Subscriptions}}
}

// serve takes what the process says, until its connection ends.
func (f *farCell) serve(conn wire.Conn, cancel context.CancelCauseFunc) {
	for {
		packets, err := conn.Read()
		if err != nil {
			if f.result == nil {
				f.gate.Lost("its connection ended: " + err.Error())
			}
			return
		}
		said := packets[:0]
		for _, p := range packets {
			if p.Member == wholeRun {
				f.whole(p.Body, cancel)
				continue
			}
			if hello, is := p.Body.(wire.Hello); is {
				hello.Token = f.outer.listeners.proxies
				p.Body = hello
			}
			said = append(said, p)
		}
		if len(said) > 0 {
			f.gate.Round(func(say func(wire.Packet)) {
				for _, p := range said {
					say(p)
				}
			})
		}
	}
}

// whole takes what concerns the nested run as a whole.
func (f *farCell) whole(body wire.Body, cancel context.CancelCauseFunc) {
	switch body := body.(type) {
	case wire.Hello:
		f.joined(body.Name, &metasim.Join{Publications: body.Publications, Subscriptions: body.Subscriptions})
	case *metasim.Send:
		r := new(cellResult)
		if err := json.Unmarshal(body.Payload, r); err != nil {
			r = noResult(f.own, fmt.Errorf("its result cannot be read: %w", err))
		}
		if f.result = r; r.Error != "" {
			err := failedInside(f.name, r.Error)
			f.outer.server.Fail(err) // at once: soon it is told that the process has ended, and cancel is heard on a goroutine of its own
			cancel(err)
		}
	}
}

// hear passes on what the outer run has for the gateway. The outer run has its turn.
func (f *farCell) hear(all ...any) {
	for _, e := range all {
		switch e := e.(type) {
		case *metasim.Permit:
			f.post.put(wire.Packet{Member: wholeRun, Body: &metasim.Authorize{Until: e.Until}})
		case *metasim.Deliver:
			f.post.put(wire.Packet{Member: uint32(e.To), Body: e})
		case *metasim.Authorize:
			f.post.put(wire.Packet{Member: uint32(e.To), Body: e})
		}
	}
}

// told passes on that the outer run begins, and how it ends for the members.
func (f *farCell) told(packets []wire.Packet) {
	for _, p := range packets {
		switch p.Body.(type) {
		case wire.Start, wire.Goodbye, wire.Refuse:
			f.post.put(p)
		}
	}
}
