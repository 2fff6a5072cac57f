package federates

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/delay"
	"metasim/federates/catalog"
	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/transport/mem"
)

// A part is one client of a run in a test.
type part struct {
	name, model string
	with        map[string]any
	env         catalog.Env
}

// A testRun is a run in a test.
type testRun struct {
	until metasim.Time
	seed  uint64
	rules []delay.Rule
	parts []part
	wrap  func(wire.Conn) wire.Conn // of each client; nil: the connection stays as it is
}

// A delivery is a message as its recipient got it.
type delivery struct {
	to string
	client.Message
}

// recorder is an observer that keeps what is delivered.
type recorder struct {
	names []string
	seen  []delivery
}

func (r *recorder) Observe(_ int64, _ metasim.Event, effects []metasim.Effect) error {
	for _, e := range effects {
		if d, ok := e.(*metasim.Deliver); ok {
			m := d.Message
			r.seen = append(r.seen, delivery{r.names[d.To], client.Message{From: r.names[m.From], Channel: m.Channel,
				Seq: m.Seq, Sent: m.Sent, Due: m.Due, Payload: m.Payload}})
		}
	}
	return nil
}

// run runs a testRun over the real server and client library, all in this process. It returns what went wrong with the
// clients, too.
func (s testRun) run(t *testing.T) (server.Result, []delivery, error) {
	table, err := delay.NewTable(s.seed, s.rules)
	require.NoError(t, err)
	core := metasim.Config{Delays: table, Until: s.until}
	for _, p := range s.parts {
		core.Clients = append(core.Clients, p.name)
	}
	machine, err := metasim.New(core)
	require.NoError(t, err)
	seen := &recorder{names: machine.Names()}
	srv, err := server.New(server.Config{
		Core: core, Scenario: "test", Seed: s.seed, Observers: []server.Observer{seen},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	errs := make([]error, len(s.parts), len(s.parts)+2)
	var all sync.WaitGroup
	network := mem.NewNet()
	accepted := make(chan error, 1)
	go func() { accepted <- srv.Accept(network) }()
	for i, p := range s.parts {
		conn, err := network.Dial(ctx)
		require.NoError(t, err)
		if s.wrap != nil {
			conn = s.wrap(conn)
		}
		all.Go(func() { errs[i] = p.run(ctx, s.seed, conn) })
	}
	served := srv.Serve(ctx)
	all.Wait()
	return srv.Result(), seen.seen, errors.Join(append(errs, served, <-accepted)...)
}

// run makes a model and lets it take part in the run.
func (p part) run(ctx context.Context, seed uint64, conn wire.Conn) error {
	env := p.env
	env.Name, env.Seed = p.name, seed
	m, err := New(p.model, p.with, env)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	if err := TakePart(ctx, m, p.name, client.WithConn(conn)); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// mustRun runs a testRun that goes well, and returns the results by name.
func (s testRun) mustRun(t *testing.T) (map[string]server.ClientResult, []delivery) {
	result, seen, err := s.run(t)
	require.NoError(t, err)
	byName := map[string]server.ClientResult{}
	for _, c := range result.Clients {
		byName[c.Name] = c
	}
	return byName, seen
}

// openBelow opens files below a directory.
func openBelow(dir string) func(string) (io.ReadCloser, error) {
	return func(path string) (io.ReadCloser, error) { return os.Open(filepath.Join(dir, path)) }
}
