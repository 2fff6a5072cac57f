// Package clienttest runs simulators together in the process of a test: with a real server, without sockets, processes or a scenario
// file. A test of one simulator gives it another one that plays its world, and looks at what they were given:
//
//	seen := clienttest.Run(t, clienttest.World{Until: metasim.Second, Links: []delay.Rule{{Spec: delay.Spec{Delay: delay.Constant(5 * metasim.Millisecond)}}}},
//		clienttest.Simulator{Name: "plant", Run: plant},
//		clienttest.Simulator{Name: "controller", Run: controller})
//	require.Equal(t, "5ms plant -> controller ANGLE \"0.1\"", seen.Deliveries[0].String())
//
// The server checks what it checks in every run: the promises of all clients, and that no time goes back. What breaks a rule fails
// the test.
package clienttest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"metasim/client"
	"metasim/delay"
	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/transport/mem"
)

// A World is what a scenario says of a run.
type World struct {
	Until metasim.Time // the end of the run; zero: none, so each simulator has to leave by itself
	Seed  uint64       // of delays, and of Client.Rand
	Links []delay.Rule // how long messages travel: the last rule that matches decides; without any it is one step
}

// A Simulator is a client of the run.
type Simulator struct {
	Name string
	// Run is the simulator: from NewBuilder to Leave. It gives the options to Complete.
	Run func(ctx context.Context, options ...client.Option) error
	// With is what the client is told as its parameters, as JSON: see client.About.
	With any
}

// A Transcript is what happened in a run. It is the same each time, however fast the simulators compute.
type Transcript struct {
	// Deliveries are the messages that the simulators were given, by the instant at which they arrived, then the name of the recipient.
	Deliveries []Delivery
	// Results are what the simulators left with, by name.
	Results map[string]json.RawMessage
	Digest  metasim.Digest // as that of a run
}

// A Delivery is a message that a simulator was given.
type Delivery struct {
	From, To, Channel string
	Sent, Due         metasim.Instant
	Payload           []byte
}

// String is a delivery on a line: "5ms plant -> controller ANGLE \"0.1\"".
func (d Delivery) String() string {
	return fmt.Sprintf("%v %s -> %s %s %q", d.Due, d.From, d.To, d.Channel, d.Payload)
}

// String is a line for each delivery, and then one for each result.
func (t Transcript) String() string {
	var lines strings.Builder
	for _, d := range t.Deliveries {
		fmt.Fprintln(&lines, d)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Results)) {
		fmt.Fprintf(&lines, "%s left with %s\n", name, t.Results[name])
	}
	return lines.String()
}

// Run runs simulators together until all have left, and returns what happened. If the run or a simulator fails, so does the test.
func Run(t testing.TB, w World, simulators ...Simulator) Transcript {
	t.Helper()
	seen, err := run(t.Context(), t.TempDir(), w, simulators)
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func run(ctx context.Context, dir string, w World, simulators []Simulator) (Transcript, error) {
	var o observer
	srv, err := serverOf(dir, w, simulators, &o)
	if err != nil {
		return Transcript{}, err
	}
	net := mem.NewNet()
	var all sync.WaitGroup
	all.Go(func() {
		if err := srv.Accept(net); err != nil {
			srv.Fail(err)
		}
	})
	for i := range simulators {
		all.Go(func() {
			takePart(ctx, srv, net, &simulators[i])
		})
	}
	err = srv.Serve(ctx)
	all.Wait()
	if err != nil {
		return Transcript{}, err
	}
	return o.transcript(srv.Result()), nil
}

func serverOf(dir string, w World, simulators []Simulator, o *observer) (*server.Server, error) {
	table, err := delay.NewTable(w.Seed, w.Links)
	if err != nil {
		return nil, err
	}
	config := server.Config{
		Core: metasim.Config{Delays: table, Until: w.Until}, Scenario: "test", Seed: w.Seed, About: map[string]wire.About{},
		Observers: []server.Observer{o},
	}
	for _, s := range simulators {
		about := wire.About{Entry: s.Name, Count: 1, Directory: dir}
		if s.With != nil {
			with, err := json.Marshal(s.With)
			if err != nil {
				return nil, fmt.Errorf("the parameters of %q: %w", s.Name, err)
			}
			about.With = string(with)
		}
		config.About[s.Name] = about
		config.Core.Clients = append(config.Core.Clients, s.Name)
	}
	return server.New(config)
}

// takePart is the life of a simulator. Its connection ends with it, so that nobody waits for one that has not left.
func takePart(ctx context.Context, srv *server.Server, net *mem.Net, s *Simulator) {
	conn, err := net.Dial(ctx)
	if err == nil {
		err = s.Run(ctx, client.WithConn(conn), client.WithName(s.Name))
	}
	if err != nil {
		srv.Fail(fmt.Errorf("simulator %q: %w", s.Name, err)) // before its connection ends, as that does not say why
	}
	if conn != nil {
		_ = conn.Close() // inside a process it does not fail
	}
	srv.Exited(s.Name, 0, "its Run returned")
}
