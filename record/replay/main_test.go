package replay_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/delay"
	"metasim/internal/testprogram"
	"metasim/metasim"
	"metasim/record"
	"metasim/record/journal"
	"metasim/record/replay"
	"metasim/run"
	"metasim/scenarios"
	"metasim/wire"
	"metasim/wire/transport/all"
)

func TestMain(m *testing.M) { os.Exit(testprogram.Main(m, programs)) }

var programs = map[string]testprogram.Program{
	"stepper": runStepper,
	"cheat":   runCheat,
	"idle": func([]string) error {
		fmt.Println("it runs")
		_, _ = io.Copy(io.Discard, os.Stdin)
		select {}
	},
	"visited": func([]string) error { // another program has looked first whether somebody listens
		conn, err := all.Table().Dial(context.Background(), os.Getenv("METASIM_SERVER"))
		if err != nil {
			return err
		}
		return errors.Join(conn.Close(), runStepper(nil))
	},
	"crash": func([]string) error { return errors.New("it crashes before it joins") },
}

// runStepper is a client that steps at instants of its own choice and then asks for the next message: every 10 ms it
// sends how many messages it has got. It dies at the time of its argument, if there is one.
func runStepper(args []string) error {
	ctx := context.Background()
	b := client.NewBuilder("")
	out := b.Publication("COUNT")
	if err := b.Subscribe("TICK", nil); err != nil {
		return err
	}
	c, err := b.Complete(ctx)
	if err != nil {
		return err
	}
	var death metasim.Time
	if len(args) == 1 {
		if death, err = delay.ParseDuration(args[0]); err != nil {
			return err
		}
	}
	n := 0
	for i := 1; ; i++ {
		var msgs []client.Message
		if i%2 == 0 {
			msgs, err = c.Step(ctx, c.Now().Time+10_000_000)
		} else {
			msgs, err = c.Next(ctx, c.Now().Time+10_000_000)
		}
		n += len(msgs)
		if errors.Is(err, client.ErrEnd) {
			break
		}
		if err != nil {
			return err
		}
		if len(args) == 1 && c.Now().Time >= death {
			return errors.New("it dies")
		}
		if err := out.Publish(binary.LittleEndian.AppendUint64(nil, uint64(n))); err != nil {
			return err
		}
	}
	if err := c.SetResult(map[string]int{"heard": n}); err != nil {
		return err
	}
	return c.Leave(ctx)
}

// runCheat is a client that breaks a promise, which the client library would not let it: it waits for a second, and sends
// before that.
func runCheat([]string) error {
	conn, err := all.Table().Dial(context.Background(), os.Getenv("METASIM_SERVER"))
	if err != nil {
		return err
	}
	say := func(bodies ...wire.Body) {
		for _, body := range bodies {
			err = errors.Join(err, conn.Write([]wire.Packet{{Member: 7, Body: body}}))
		}
	}
	say(wire.Hello{Version: wire.Version, Name: os.Getenv("METASIM_CLIENT"), Token: os.Getenv("METASIM_TOKEN"), Publications: []string{"LIES"}})
	for err == nil {
		var packets []wire.Packet
		if packets, err = conn.Read(); err != nil {
			break
		}
		for _, p := range packets {
			switch body := p.Body.(type) {
			case wire.Start:
				say(&metasim.Send{Channel: "LIES", Payload: []byte("a promise")},
					&metasim.PollWait{Report: metasim.Report{NextEvent: metasim.At(1_000_000_000)}, Want: metasim.At(1_000_000_000)},
					&metasim.Send{Channel: "LIES", Sent: metasim.At(1), Payload: []byte("broken")})
			case wire.Refuse:
				fmt.Println(body.Text)
				return errors.Join(err, conn.Close())
			}
		}
	}
	return errors.Join(err, conn.Close())
}

const steps = `name: steps
until: 500ms
clients:
  - {name: ticker, model: source, with: {channel: TICK, period: 3ms}}
  - {name: stepper, run: [BIN, ARGS], env: [TEST_PROGRAM=stepper]}
  - {name: heard, model: sink, with: {channels: [COUNT]}}
links:
  - {delay: 2ms}
  - {from: ticker, delay: {uniform: {min: 1ms, max: 9ms}}}
`

// recordRun carries out a scenario and returns the directory of the run.
func recordRun(t testing.TB, text, transport string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	text = strings.ReplaceAll(strings.Replace(text, ", ARGS", "", 1), "BIN", self)
	sc, _, err := scenarios.Parse(filepath.Join(t.TempDir(), "test.yaml"), []byte(text), scenarios.Overrides{})
	require.NoError(t, err)
	return carryOut(t, sc, transport).RunDir
}

func carryOut(t testing.TB, sc *scenarios.Scenario, transport string) *run.Outcome {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := run.Scenario(ctx, sc, run.Options{KeepEnv: true,
		Transport: transport, Out: filepath.Join(t.TempDir(), "run"), Self: []string{self},
	})
	require.NoError(t, err)
	return out
}

func open(t testing.TB, dir string) *record.Run {
	t.Helper()
	r, err := record.OpenToReplay(dir)
	require.NoError(t, err)
	return r
}

// alone replays one client, which must be possible.
func alone(t testing.TB, dir, name string, o run.ReplayOptions) *replay.Checked {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := run.ReplayClient(ctx, open(t, dir), name, o)
	require.NoError(t, err)
	return c
}

// audit replays the dispatcher, which must be possible.
func audit(t testing.TB, dir string) *replay.Audit {
	t.Helper()
	a, err := replay.Dispatcher(open(t, dir))
	require.NoError(t, err)
	return a
}

// edit changes the manifest of a run.
func edit(t testing.TB, dir string, change func(m *journal.Manifest)) {
	t.Helper()
	d, err := journal.Open(dir)
	require.NoError(t, err)
	m, err := d.Manifest()
	require.NoError(t, err)
	change(m)
	require.NoError(t, d.WriteManifest(m))
}

// retell changes the scenario in the manifest of a run.
func retell(t testing.TB, dir, old, with string) {
	t.Helper()
	edit(t, dir, func(m *journal.Manifest) {
		var compact bytes.Buffer
		require.NoError(t, json.Compact(&compact, m.Resolved))
		changed := strings.Replace(compact.String(), old, with, 1)
		require.NotEqual(t, compact.String(), changed)
		m.Resolved = json.RawMessage(changed)
	})
}

// rewrite changes the entries of a journal: change is called with each, counted from 1, and returns what is written.
func rewrite(t testing.TB, dir string, change func(n int, e journal.Entry) []journal.Entry) {
	t.Helper()
	file := filepath.Join(dir, "journal")
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	r := journal.NewReader(bytes.NewReader(b), nil)
	var out bytes.Buffer
	w := journal.NewWriter(&out)
	for n := 1; ; n++ {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		for _, e := range change(n, e) {
			require.NoError(t, w.Observe(e.Wall, e.Event, e.Effects))
		}
	}
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(file, out.Bytes(), 0o644))
}

// cut cuts a file of a run to a part of its length, as a killed run leaves it, and takes the end out of the manifest.
func cut(t testing.TB, dir string, part float64) {
	t.Helper()
	file := filepath.Join(dir, "journal")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(file, int64(float64(info.Size())*part)))
	edit(t, dir, func(m *journal.Manifest) { m.OK, m.Error, m.Digest = false, "the run has not ended", "" })
}

func openAndAudit(dir string) (*replay.Audit, error) {
	r, err := record.OpenToReplay(dir)
	if err != nil {
		return nil, err
	}
	return replay.Dispatcher(r)
}
