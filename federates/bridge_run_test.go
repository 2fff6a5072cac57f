package federates_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"

	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"metasim/internal/netns"
	"metasim/lcm/bus"
	"metasim/metasim"
	"metasim/record"
	"metasim/record/replay"
	"metasim/run"
	"metasim/scenarios"
	"metasim/server"
)

// The tests here hold a bridge in whole runs, most against the programs of LCM itself. In CI (.ci/run) these are all there.

// need skips a test, loudly, where a program is missing.
func need(t *testing.T, programs ...string) {
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("SKIPPED LOUDLY: no %s here; apt-get install liblcm-bin liblcm-dev gcc libc6-dev", p)
		}
	}
	if !netns.Given() {
		t.Skip("SKIPPED LOUDLY: no network namespace here, so multicast is not to be relied on")
	}
}

// build compiles a program of package bus's tests against liblcm.
func build(t *testing.T, name string) string {
	need(t, "gcc", "lcm-logger")
	if _, err := os.Stat("/usr/include/lcm/lcm.h"); err != nil {
		t.Skip("SKIPPED LOUDLY: no <lcm/lcm.h> here; apt-get install liblcm-dev")
	}
	bin := filepath.Join(t.TempDir(), name)
	out, err := exec.Command("gcc", "-o", bin, "../lcm/bus/testdata/"+name+".c", "-llcm").CombinedOutput()
	require.NoError(t, err, string(out))
	return bin
}

// carryOut runs a scenario. began is called once its time has begun, and so all bridges listen; may be nil.
func carryOut(t *testing.T, ctx context.Context, text string, began func()) *run.Outcome {
	sc, _, err := scenarios.Parse(filepath.Join(t.TempDir(), "x.metasim.yaml"), []byte(text), scenarios.Overrides{})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var watching sync.WaitGroup
	out, err := run.Scenario(ctx, sc, run.Options{
		Out: filepath.Join(t.TempDir(), "run"),
		Watch: func(s *server.Server) {
			watching.Go(func() {
				tick := time.NewTicker(time.Millisecond)
				defer tick.Stop()
				for began != nil && s.Time() == 0 && ctx.Err() == nil {
					<-tick.C
				}
				if began != nil {
					began()
				}
			})
		},
	})
	cancel()
	watching.Wait()
	require.NoError(t, err)
	return out
}

// UDP loses what is not read in time, and a busy machine starts programs late: a run into which all was played comes soon.
func TestTheStockLogplayerPlaysIntoARun(t *testing.T) {
	need(t, "lcm-logplayer")
	const url, count = "udpm://239.255.76.81:7681?ttl=0", 40
	path := filepath.Join(t.TempDir(), "real.lcmlog")
	file, err := bus.Open("file://"+path, bus.Options{})
	require.NoError(t, err)
	for i := range count {
		require.NoError(t, file.Publish(bus.Message{
			Channel: "PLAYED", Payload: fmt.Append(nil, "message ", i), At: metasim.Time(i) * 3 * metasim.Millisecond,
		}, bus.Message{Channel: "OTHER", Payload: []byte("x")}))
	}
	require.NoError(t, file.Close())
	text := `
name: played
until: 1s
rate: 1
clients:
  - {name: real, model: bridge, with: {url: "` + url + `", in: [PLAYED], period: 20ms}}
  - {name: ear, model: sink, with: {channels: [PLAYED]}}
links:
  - {delay: 5ms}
`
	var out *run.Outcome
	require.Eventually(t, func() bool {
		out = carryOut(t, t.Context(), text, func() {
			assert.NoError(t, exec.CommandContext(t.Context(), "lcm-logplayer", "--lcm-url="+url, path).Run())
		})
		require.NoError(t, out.Err)
		return out.Messages.Delivered == count
	}, 3*patience, time.Millisecond)
	assert.False(t, out.Deterministic)
	assert.Equal(t, []string{"real"}, out.Live)
	assert.JSONEq(t, fmt.Sprintf(`{"in":%d,"out":0,"dropped":0,"lost":0,"refused":0,"failed":0}`, count), string(out.Clients[1].Result))

	// From here on it is a run as any other.
	log, err := record.ReadLog(out.RunDir)
	require.NoError(t, err)
	require.False(t, log.Run.Manifest.Deterministic)
	require.Len(t, log.Messages, count)
	for i, p := range log.Messages {
		assert.Equal(t, fmt.Sprint("message ", i), string(p.Payload))
		assert.Zero(t, p.Sent.Time%(20*metasim.Millisecond))
	}
	assert.Greater(t, log.Messages[count-1].Sent.Time-log.Messages[0].Sent.Time, 60*metasim.Millisecond, "they came in 117 ms")
	replays(t, out)
}

// replays holds that a run with a bridge called real is deterministic from what came in: its dispatcher, and every other client.
func replays(t *testing.T, out *run.Outcome) {
	r, err := record.OpenToReplay(out.RunDir)
	require.NoError(t, err)
	audit, err := replay.Dispatcher(r)
	require.NoError(t, err)
	require.Nil(t, audit.Difference)
	require.Equal(t, out.Digest, audit.Digest)
	for _, c := range out.Clients {
		got, err := run.ReplayClient(t.Context(), r, c.Name, run.ReplayOptions{})
		if c.Name == "real" {
			require.ErrorContains(t, err, `client "real" took part in real time`)
			continue
		}
		require.NoError(t, err)
		require.Nil(t, got.Difference)
		require.Equal(t, c.Sent, got.Sent)
		require.Positive(t, got.Sent+got.Delivered)
	}
}

// A program of liblcm receives what a bridge puts out, and the bridge receives what another one publishes.
func TestABridgeAndProgramsOfLiblcm(t *testing.T) {
	listen, publish := build(t, "listen"), build(t, "publish")
	networks(t, func(t *testing.T, url string, _ bus.Bus) {
		const some, sizes = 20, "3 100 70000"
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		listener := exec.CommandContext(ctx, listen, url, "STATE", fmt.Sprint(some))
		lines, err := listener.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, listener.Start())
		in := bufio.NewScanner(lines)
		require.True(t, in.Scan())
		require.Equal(t, "ready", in.Text())

		text := `
name: both
until: 2s
rate: 1
clients:
  - {name: real, model: bridge, with: {url: "` + url + `", in: [CMD], out: [STATE]}}
  - {name: plant, model: source, with: {channel: STATE, period: 10ms, size: 100}}
  - {name: ear, model: sink, with: {channels: [CMD]}}
`
		out := carryOut(t, t.Context(), text, func() {
			publisher := exec.CommandContext(t.Context(), publish, append([]string{url, "CMD"}, strings.Fields(sizes)...)...)
			publisher.Stdin = strings.NewReader("\n\n\n")
			assert.NoError(t, publisher.Run())
		})
		require.NoError(t, out.Err)
		replays(t, out)
		log, err := record.ReadLog(out.RunDir)
		require.NoError(t, err)
		var came []string
		for _, p := range log.Messages {
			if p.To == "ear" {
				came = append(came, fmt.Sprint(p.Size))
			}
		}
		assert.Equal(t, sizes, strings.Join(came, " "))

		// It may have begun to listen late, but from then on it has heard one after the other.
		var heard []string
		for in.Scan() {
			heard = append(heard, in.Text())
		}
		require.NoError(t, listener.Wait())
		require.Len(t, heard, some)
		first := uint64(0)
		for first < 200 && said(first) != heard[0] {
			first++
		}
		for i := range heard {
			require.Equal(t, said(first+uint64(i)), heard[i])
		}
	})
}

// said is what the program that listens says to message n of a source.
func said(n uint64) string {
	sum := fnv.New64a()
	_, _ = sum.Write(binary.LittleEndian.AppendUint64(nil, n)) // a hash takes everything
	_, _ = sum.Write(make([]byte, 92))
	return fmt.Sprintf("STATE 100 %016x", sum.Sum64())
}

const quiet = `
name: quiet
until: UNTIL
rate: 1
clients:
  - {name: real, model: bridge, with: {url: "URL", in: [IN], out: [OUT]}}
  - {name: plant, model: source, with: {channel: OUT, period: 10ms, count: 3}}
  - {name: ear, model: sink, with: {channels: [IN]}}
`

func quietOn(url, until string) string {
	return strings.NewReplacer("URL", url, "UNTIL", until).Replace(quiet)
}

// However a run ends, nothing of a bridge is left, and who is to blame is said in one sentence.
func TestABridgeEnds(t *testing.T) {
	networks(t, func(t *testing.T, url string, other bus.Bus) {
		sub, err := other.Subscribe("OUT")
		require.NoError(t, err)
		defer goleak.VerifyNone(t, goleak.IgnoreCurrent())

		out := carryOut(t, t.Context(), quietOn(url, "60ms"), nil)
		require.NoError(t, out.Err)
		_ = heard(t, sub, 3)

		ring := "  - {name: ring, model: ring, with: {in: X, out: X, first: true}}\n"
		out = carryOut(t, t.Context(), quietOn(url, "1h")+ring, nil)
		require.ErrorContains(t, out.Err, "max_steps")

		ctx, cancel := context.WithCancelCause(t.Context())
		out = carryOut(t, ctx, quietOn(url, "1h"), func() { cancel(errors.New("enough")) })
		require.ErrorContains(t, out.Err, "enough") // the server may hear of it from a client that was cancelled
	})
}

func TestANetworkThatCannotBeHadEndsTheRun(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	out := carryOut(t, t.Context(), quietOn("tcpq://127.0.0.1:1", "1h"), nil)
	require.Error(t, out.Err)
	assert.Regexp(t, `^client "real" was lost .*the LCM network of the bridge cannot be joined: tcpq://127.0.0.1:1: .*refused.*`, out.Error)
	assert.NotContains(t, out.Error, "\n")
	assert.Equal(t, 1, strings.Count(out.Error, "cannot be joined"))
	assert.Equal(t, "lost", out.Clients[2].Exit)
}

func TestANetworkThatGoesAwayEndsTheRun(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	other, url := tcpq(t)
	out := carryOut(t, t.Context(), quietOn(url, "1h"), func() { assert.NoError(t, other.Close()) })
	require.Error(t, out.Err)
	assert.Regexp(t, `client "real" was lost .*the LCM network tcpq://127.0.0.1:\d+ of the bridge is gone`, out.Error)

	// Unless the scenario says that the rest goes on. A network that is closed keeps its connections for half a second, so the run is longer.
	other, url = tcpq(t)
	text := strings.Replace(quietOn(url, "5s"), "name: real,", "name: real, on_exit: detach,", 1)
	out = carryOut(t, t.Context(), text, func() { assert.NoError(t, other.Close()) })
	require.NoError(t, out.Err)
	assert.Equal(t, "detached", out.Clients[2].Exit)
}

// A bridge that serves a tcpq network is there for programs that look for a server.
func TestABridgeServes(t *testing.T) {
	text := strings.Replace(quietOn("tcpq://127.0.0.1:7684", "1s"), "in:", "serve: true, in:", 1)
	out := carryOut(t, t.Context(), text, func() {
		other, err := bus.Open("tcpq://127.0.0.1:7684", bus.Options{})
		if assert.NoError(t, err) {
			assert.NoError(t, other.Publish(bus.Message{Channel: "IN", Payload: []byte("x")}))
			assert.NoError(t, other.Close())
		}
	})
	require.NoError(t, out.Err)
	assert.EqualValues(t, 4, out.Messages.Delivered)
	replays(t, out)
}
