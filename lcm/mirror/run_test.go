package mirror_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/internal/netns"
	"metasim/lcm"
	"metasim/lcm/bus"
	"metasim/metasim"
	"metasim/record"
	"metasim/run"
	"metasim/scenarios"
)

const patience = 20 * time.Second

// carryOut runs a scenario that is shown on url.
func carryOut(t *testing.T, file, url string) *run.Outcome {
	sc, _, err := scenarios.Load(file, scenarios.Overrides{PublicLCM: url, Set: []string{"start_timeout=20s"}})
	require.NoError(t, err)
	out, err := run.Scenario(t.Context(), sc, run.Options{Out: filepath.Join(t.TempDir(), "run")})
	require.NoError(t, err)
	require.NoError(t, out.Err)
	return out
}

// TestTheDigestDoesNotKnowOfTheMirror runs scenarios without one, with one, and with networks that are not available.
func TestTheDigestDoesNotKnowOfTheMirror(t *testing.T) {
	taken, err := bus.Open("tcpq://127.0.0.1:7701", bus.Options{Serve: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	for _, file := range []string{"star", "ping-pong", "cart-pole"} {
		file = "../../scenarios/" + file + ".metasim.yaml"
		want := carryOut(t, file, "off")
		require.Nil(t, want.LCM)
		for url, had := range map[string]bool{
			"udpm://239.255.76.72:7672":                          true,
			"tcpq://127.0.0.1:7702":                              true,
			"tcpq://127.0.0.1:7701":                              false, // another server has the port
			"file://" + filepath.Join(t.TempDir(), "run.lcmlog"): true,
		} {
			got := carryOut(t, file, url)
			require.Equal(t, want.Digest, got.Digest, url)
			require.Equal(t, want.Messages, got.Messages, url)
			require.True(t, got.Deterministic)
			l := *got.LCM
			assert.Equal(t, got.Messages.Sent+got.Messages.Delivered, l.Shown, url)
			assert.Zero(t, l.Dropped+l.Refused)
			assert.Equal(t, 2*l.Shown, l.Sent+l.Failed+l.Skipped, url)
			switch {
			case strings.HasPrefix(url, "udpm") && !netns.Given(): // the host may have a route for multicast, or none
			case had:
				assert.Zero(t, l.Failed, url)
			default:
				assert.Equal(t, 2*l.Shown, l.Failed, url)
			}
		}
	}
}

// A log has the same as the journal: every message sent and every message delivered, with its payload and its time.
func TestALogShowsTheWholeRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.lcmlog")
	out := carryOut(t, "../../scenarios/star.metasim.yaml", "file://"+path)
	checkShown(t, events(t, path), out)
}

// checkShown compares the delivered messages that were shown with those in the journal, in the order of each name.
func checkShown(t *testing.T, evs []lcm.Event, out *run.Outcome) {
	log, err := record.ReadLog(out.RunDir)
	require.NoError(t, err)
	want, got := map[string][]string{}, map[string][]string{}
	sent := map[string]bool{}
	for _, p := range log.Messages {
		sent[fmt.Sprint(p.From, p.Seq)] = true
		if p.Due != nil && !p.Undelivered {
			name := p.Channel + "@" + p.From + ">" + p.To
			want[name] = append(want[name], string(p.Payload))
		}
	}
	received, companions := 0, 0
	for _, ev := range evs {
		switch {
		case ev.Channel == "METASIM_EVENT":
			companions++
		case bytes.ContainsRune([]byte(ev.Channel), '>'):
			got[ev.Channel] = append(got[ev.Channel], string(ev.Payload))
		case bytes.ContainsRune([]byte(ev.Channel), '@'):
			received++
		}
	}
	for name := range want { // the journal has them in order of due, and so has the network, for each name
		require.Equal(t, want[name], got[name], name)
	}
	assert.Equal(t, len(want), len(got))
	assert.EqualValues(t, out.Messages.Sent, received)
	assert.EqualValues(t, out.Messages.Sent+out.Messages.Delivered, companions)
}

// events returns the events that a logger has written so far.
func events(t testing.TB, path string) (evs []lcm.Event) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	r := lcm.NewReader(bytes.NewReader(b))
	for {
		ev, err := r.Next()
		if err != nil { // the end, or an event that is half written
			return evs
		}
		evs = append(evs, ev)
	}
}

// needsLogger skips a test before it starts anything, where the stock logger cannot hear us.
func needsLogger(t *testing.T) {
	if _, err := exec.LookPath("lcm-logger"); err != nil {
		t.Skip("SKIPPED LOUDLY: no lcm-logger here; apt-get install liblcm-bin")
	}
	if !netns.Given() {
		t.Skip("SKIPPED LOUDLY: no network namespace here, so multicast is not to be relied on")
	}
}

// logger starts the stock logger. It has written everything when stop returns.
func logger(t *testing.T, url string) (path string, stop func()) {
	path = filepath.Join(t.TempDir(), "stock.lcmlog")
	cmd := exec.Command("lcm-logger", "--lcm-url="+url, "--flush-interval=1", path)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	})
	return path, func() {
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.NoError(t, cmd.Wait())
	}
}

// UDP loses what a program does not read in time, on a busy machine more than on an idle one: the test repeats the run until
// nothing was lost.
func TestTheStockLoggerRecordsARunOverUDP(t *testing.T) {
	needsLogger(t)
	const url = "udpm://239.255.76.73:7673"
	probe, err := bus.Open(url, bus.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, probe.Close()) }()
	require.Eventually(t, func() bool {
		path, stop := logger(t, url)
		knock := func(name string) bool { // the logger writes through when something comes
			require.NoError(t, probe.Publish(bus.Message{Channel: name, Payload: make([]byte, 5000)}))
			return slices.ContainsFunc(events(t, path), func(ev lcm.Event) bool { return ev.Channel == name })
		}
		require.Eventually(t, func() bool { return knock("BEFORE") }, patience, time.Millisecond)
		out := carryOut(t, "../../scenarios/ping-pong.metasim.yaml", url)
		require.Eventually(t, func() bool { return knock("AFTER") }, patience, time.Millisecond)
		stop()
		evs := slices.DeleteFunc(events(t, path), func(ev lcm.Event) bool { return ev.Channel == "BEFORE" || ev.Channel == "AFTER" })
		if len(evs) < int(out.LCM.Sent) {
			return false
		}
		checkShown(t, evs, out)
		return true
	}, 3*patience, time.Millisecond)
}

// Over tcpq the logger receives every message from its connection on, without a gap, at any speed: here a client counts slowly
// until the logger has recorded some, then does 20,000 steps as fast as it can, and stays until they are in the log.
func TestTheStockLoggerRecordsARunOverTCP(t *testing.T) {
	needsLogger(t)
	const url, fast = "tcpq://127.0.0.1:7703", 20_000
	text := "name: x\nuntil: 1000000s\nclients:\n  - {name: counter, external: true}\n  - {name: ear, model: sink, with: {channels: [COUNT]}}\n"
	sc, _, err := scenarios.Parse(filepath.Join(t.TempDir(), "x.metasim.yaml"), []byte(text), scenarios.Overrides{PublicLCM: url})
	require.NoError(t, err)
	var path string
	var stop func()
	recorded := func() (numbers []uint64) {
		for _, ev := range events(t, path) {
			if ev.Channel == "COUNT@counter>ear" {
				numbers = append(numbers, binary.LittleEndian.Uint64(ev.Payload))
			}
		}
		return numbers
	}
	counted := make(chan error, 1)
	out, err := run.Scenario(t.Context(), sc, run.Options{
		Out: filepath.Join(t.TempDir(), "run"),
		Ready: func(server, token, _ string) error {
			path, stop = logger(t, url)
			go func() {
				counted <- count(t.Context(), server, token, fast, func() int { return len(recorded()) })
			}()
			return nil
		},
	})
	require.NoError(t, err)
	require.NoError(t, out.Err)
	require.NoError(t, <-counted)
	stop()
	assert.Zero(t, out.LCM.Unread+out.LCM.Dropped+out.LCM.Failed)
	numbers := recorded()
	assert.Greater(t, len(numbers), fast)
	for i := range numbers {
		require.Equal(t, numbers[0]+uint64(i), numbers[i], "a message is missing")
	}
}

// count publishes 0, 1, ... at one a simulated second: slowly until some are recorded, then fast ones, and again slowly until
// those are recorded too.
func count(ctx context.Context, server, token string, fast int, recorded func() int) error {
	b := client.NewBuilder("counter")
	out := b.Publication("COUNT")
	c, err := b.Complete(ctx, client.WithServer(server), client.WithToken(token))
	if err != nil {
		return err
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for i, left := uint64(0), fast; left > 0 || recorded() <= fast; i++ {
		if left < fast || recorded() > 0 {
			left--
		}
		if left == fast || left <= 0 {
			<-tick.C
		}
		if _, err := c.Step(ctx, metasim.Time(i)*metasim.Second); err != nil {
			return err
		}
		if err := out.Publish(binary.LittleEndian.AppendUint64(nil, i)); err != nil {
			return err
		}
	}
	return c.Leave(ctx)
}
