package run_test

import (
	"cmp"
	"context"
	"encoding"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/client/typed"
	"metasim/internal/shortdir"
	"metasim/metasim"
	"metasim/relay"
	"metasim/run"
	"metasim/scenarios"
	"metasim/server"
	"metasim/wire/transport/all"
)

var kills = flag.Int("kills", 20, "how many processes TestKilledClients and TestKilledServer kill")

// worker is deterministic: what it sends follows from what it has received. Its arguments are how it advances (step, next or run), and a
// directory in which each of its processes leaves its number.
func worker(args []string) error {
	ctx := context.Background()
	name := path.Base(os.Getenv("METASIM_CLIENT")) // it may be in a scenario inside
	if err := os.WriteFile(filepath.Join(args[1], name+"~"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(args[1], name+"~"), filepath.Join(args[1], name)); err != nil {
		return err
	}
	w := &laborer{state: fnv.New64a(), next: metasim.Millisecond}
	b := client.NewBuilder("")
	out := b.Publication("OUT_" + name)
	plant, err := typed.NewLatest(b, "OUT_plant", typed.Bytes())
	if err := errors.Join(err, b.Checkpoints(w), b.Subscribe("OUT_.*", w.take)); err != nil {
		return err
	}
	c, err := b.Complete(ctx, client.WithTransports(all.Table()), client.WithServer(cmp.Or(os.Getenv("RELAY"), os.Getenv("METASIM_SERVER"))))
	if err != nil {
		return err
	}
	publish := func() error {
		sum := w.state.Sum64()
		last, _ := plant.Get()
		return out.Publish(binary.LittleEndian.AppendUint64(make([]byte, sum%500), sum+last.Seq))
	}
	switch args[0] {
	case "run":
		c.Every(time.Millisecond, publish)
		err = c.Run(ctx)
	case "step":
		for _, messages := range c.Steps(ctx, time.Millisecond) {
			for _, m := range messages {
				err = errors.Join(err, w.take(m))
			}
			err = errors.Join(err, publish())
		}
	default:
		err = w.advance(ctx, c, publish)
	}
	return errors.Join(err, c.SetResult(map[string]uint64{"state": w.state.Sum64()}), c.Leave(ctx))
}

// laborer is the state of a worker.
type laborer struct {
	state hash.Hash64
	next  metasim.Time // when it publishes next
}

func (w *laborer) take(m client.Message) error {
	_, err := fmt.Fprintf(w.state, "%s %v %x", m.From, m.Due, m.Payload)
	return err
}

// Save implements client.Saver.
func (w *laborer) Save() ([]byte, error) {
	state, err := w.state.(encoding.BinaryMarshaler).MarshalBinary()
	return append(binary.LittleEndian.AppendUint64(nil, uint64(w.next)), state...), err
}

// Restore implements client.Saver.
func (w *laborer) Restore(b []byte) error {
	if len(b) < 8 {
		return errors.New("no state of a worker")
	}
	w.next = metasim.Time(binary.LittleEndian.Uint64(b))
	return w.state.(encoding.BinaryUnmarshaler).UnmarshalBinary(b[8:])
}

// advance publishes each millisecond.
func (w *laborer) advance(ctx context.Context, c *client.Client, publish func() error) error {
	for {
		messages, err := c.Next(ctx, w.next)
		for _, m := range messages {
			err = errors.Join(err, w.take(m))
		}
		switch {
		case errors.Is(err, client.ErrEnd):
			return nil
		case err != nil:
			return err
		case c.Now().Time < w.next:
			continue
		}
		if err := publish(); err != nil {
			return err
		}
		w.next += metasim.Millisecond
	}
}

// workers is a scenario of workers that all hear one another. ARGS stands for what is added to each.
const workers = `name: workers
until: UNTIL
clients:
  - {name: runs, run: [BIN, run, DIR], env: [TEST_PROGRAM=worker] MORE}
  - {name: steps, run: [BIN, step, DIR], env: [TEST_PROGRAM=worker] MORE}
  - {name: takes, run: [BIN, next, DIR], env: [TEST_PROGRAM=worker] MORE}
  - {name: plant, model: source, with: {channel: OUT_plant, period: 3ms} MORE}
links:
  - {delay: 700us}
  - {from: runs, delay: {normal: {mean: 20ms, stddev: 4ms, min: 2ms}}, loss: 0.01}
`

func workersOf(until, dir, more string) string {
	return strings.NewReplacer("UNTIL", until, "DIR", dir, "MORE", more).Replace(workers)
}

// TestKilledClients kills processes of clients at random moments. Each is started again and takes part from where it was: the run is the
// same as one in which nobody died.
func TestKilledClients(t *testing.T) {
	t.Parallel()
	const until = "1s"
	quiet := carryOut(t, parse(t, workersOf(until, t.TempDir(), "")), options(t, "unix"))
	for transport, each := range map[string]int{
		"unix": *kills * 7 / 20, "tcp": *kills / 4, "shm": *kills * 7 / 20, "quic": *kills / 20, // where a death is known after three seconds
		"relay": *kills / 4,
	} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			text := workersOf(until, dir, fmt.Sprintf(", on_exit: restart, restarts: %d", each))
			o := options(t, transport)
			if transport == "relay" {
				o, text = relayed(t, text)
			}
			out, said := withKills(t, parse(t, text), o, dir, each, quiet)
			for _, c := range out.Clients {
				require.Equal(t, "left", c.Exit)
			}
			require.Equal(t, each, strings.Count(said, `msg="started again"`), said)
			require.True(t, out.Deterministic)
		})
	}
}

// withKills carries out a run while processes of its workers are killed at random, so many in all. It is the run of quiet, in which nobody died. What
// was logged is returned too.
func withKills(t *testing.T, sc *scenarios.Scenario, o run.Options, dir string, n int, quiet *run.Outcome) (out *run.Outcome, said string) {
	log, text := logger()
	o.Log = log
	var killing sync.WaitGroup
	o.Watch = func(srv *server.Server) {
		killing.Go(func() { killAtRandom(t, srv, dir, n, quiet.Messages.Sent) })
	}
	out = carryOut(t, sc, o)
	killing.Wait()
	restarts := 0
	for _, c := range out.Clients {
		restarts += c.Restarts
	}
	require.Equal(t, n, restarts, text.String())
	require.Equal(t, quiet.Digests, out.Digests)
	return out, text.String()
}

// relayed has the workers of a scenario reach a QUIC server through a relay.
func relayed(t *testing.T, text string) (run.Options, string) {
	l, err := all.Table().Listen("unix", filepath.Join(shortdir.Make(t), "s"))
	require.NoError(t, err)
	o := options(t, "quic")
	ended := make(chan error, 1)
	o.Ready = func(url, _, _ string) error {
		r := relay.New(relay.Config{Name: "host-1", Server: url, Dial: all.Table().DialAs})
		go func() { _ = r.Accept(l) }()
		go func() { ended <- r.Serve(context.WithoutCancel(t.Context())) }()
		return nil
	}
	t.Cleanup(func() { require.NoError(t, <-ended) })
	return o, strings.ReplaceAll(text, "[TEST_PROGRAM=worker]", "[TEST_PROGRAM=worker, 'RELAY="+l.URL()+"']")
}

// killAtRandom kills the processes of workers: each when so many messages were sent in all.
func killAtRandom(t *testing.T, srv *server.Server, dir string, n int, all uint64) {
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	names := []string{"runs", "steps", "takes"}
	killed := map[string]int{}
	for i := range n {
		at := (uint64(i)*9 + random.Uint64N(9)) * all / uint64(10*n)
		name := names[random.IntN(len(names))]
		before := state(srv, name)
		for shot := srv.Snapshot(); shot.Totals.Sent < at || before.State == server.Absent; shot = srv.Snapshot() {
			if shot.Over {
				t.Error("the run is over before all were killed")
				return
			}
			<-time.After(time.Duration(random.IntN(1000)) * time.Microsecond) // the moment is random
			before = state(srv, name)
		}
		pid := killed[name]
		for pid == killed[name] && !srv.Snapshot().Over { // the process that came after it says its number when it begins
			<-time.After(time.Millisecond)
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Error(err)
				return
			}
			pid, _ = strconv.Atoi(string(text)) // 0 is refused
		}
		killed[name] = pid
		if err := kill(pid); err != nil {
			t.Error(err)
			return
		}
		for state(srv, name).Restarts == before.Restarts && !srv.Snapshot().Over {
			<-time.After(time.Millisecond)
		}
		for random.IntN(2) == 0 && state(srv, name).CatchesUp && !srv.Snapshot().Over { // else the next may die meanwhile
			<-time.After(time.Millisecond)
		}
	}
}

func state(srv *server.Server, name string) server.ClientSnapshot {
	for _, c := range srv.Snapshot().Clients {
		if c.Name == name {
			return c
		}
	}
	return server.ClientSnapshot{}
}
