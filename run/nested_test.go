package run_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
	"metasim/record"
	"metasim/record/replay"
	"metasim/run"
	"metasim/scenarios"
	"metasim/server"
)

var nests = flag.Int("nests", 12, "how many random scenarios with two scenarios inside are carried out in both ways")

// composed writes the files of a composed scenario, and loads the first one. BIN in them is this program.
func composed(t *testing.T, texts ...string) *scenarios.Scenario {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	for i, text := range texts {
		text = strings.ReplaceAll(text, "BIN", self)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.yaml", i)), []byte(text), 0o600))
	}
	sc, _, err := scenarios.Load(filepath.Join(dir, "0.yaml"), scenarios.Overrides{})
	require.NoError(t, err)
	return sc
}

// bothWays carries a scenario out with one dispatcher, and with one for each scenario inside, and returns the second outcome. All digests are the same.
func bothWays(t *testing.T, sc *scenarios.Scenario, transport string) *run.Outcome {
	t.Helper()
	transport, apart := strings.CutSuffix(transport, " apart")
	o := options(t, transport)
	o.Self = []string{testprogram.Shipped(t)}
	flat := carryOut(t, sc, o)
	o.Out, o.Nested, o.Apart = filepath.Join(t.TempDir(), "nested"), true, apart
	nested := carryOut(t, sc, o)
	require.Equal(t, flat.Digests, nested.Digests)
	require.Equal(t, flat.Messages, nested.Messages)
	require.Equal(t, flat.EndNS, nested.EndNS)
	require.Equal(t, flat.Warnings, nested.Warnings)
	require.Len(t, nested.Clients, len(flat.Clients))
	for i, c := range nested.Clients {
		require.Equal(t, []any{flat.Clients[i].Name, flat.Clients[i].Digest, flat.Clients[i].Exit, flat.Clients[i].Result}, []any{c.Name, c.Digest, c.Exit, c.Result})
	}
	return nested
}

var nestedScenarios = map[string][]string{
	"answers": {`{name: answers, seed: 7, until: 1s, clients: [
  {name: cell, count: 2, model: scenario, with: {file: 1.yaml, expose: [DONE, {BELT: MOVED}]}},
  {name: conveyor, model: echo, with: {in: DONE, out: MOVED}}, {name: counter, model: sink, with: {channels: [MOVED, DONE]}}],
  links: [{delay: 5ms}, {from: conveyor, delay: {uniform: {min: 0ms, max: 9ms}}}, {from: "cell-*", to: "cell-*", delay: 3ms}]}`,
		`{name: cell, clients: [{name: feeder, model: source, with: {channel: PART, period: 20ms}}, {name: arm, model: echo, with: {in: PART, out: DONE}},
  {name: hand, model: echo, with: {in: BELT, out: BACK}}, {name: eye, model: sink, with: {channels: [PART, DONE, BELT, BACK]}}],
  links: [{delay: 1ms}, {from: feeder, to: arm, delay: {uniform: {min: 2ms, max: 9ms}}}]}`},
	"no delay": {`{name: loop, clients: [{name: cell, model: scenario, with: {file: 1.yaml, expose: [PING, PONG]}},
  {name: pinger, model: ping, with: {rounds: 200, in: PONG, out: PING}}]}`,
		`{name: cell, clients: [{name: ponger, model: echo, with: {in: PING, out: PONG}}]}`},
	"only inside": {`{name: inside, until: 100ms, clients: [{name: cell, model: scenario, with: {file: 1.yaml}}, {name: other, model: source, with: {channel: X, period: 1ms}}]}`,
		`{name: cell, clients: [{name: a, model: source, with: {channel: X, period: 1ms}}, {name: b, model: sink, with: {channels: [X]}}], links: [{delay: 1ms}]}`},
	"cells alone": {`{name: alone, until: 200ms, clients: [{name: a, model: scenario, with: {file: 1.yaml, expose: [GO, BACK]}}, {name: b, model: scenario, with: {file: 2.yaml, expose: [GO, BACK]}}],
  links: [{delay: 2ms}, {from: a/*, to: b/*, delay: {exponential: {mean: 1ms, min: 0ms}}}]}`,
		`{name: a, clients: [{name: x, model: source, with: {channel: GO, period: 3ms}}, {name: y, model: sink, with: {channels: [BACK, GO]}}]}`,
		`{name: b, clients: [{name: x, model: echo, with: {in: GO, out: BACK}}, {name: y, model: sink, with: {channels: [".*"]}}]}`},
	"rate": {`{name: rate, rate: 5, until: 300ms, clients: [{name: cell, model: scenario, with: {file: 1.yaml, expose: [DONE, GO]}}, {name: echo, model: echo, with: {in: DONE, out: GO}}], links: [{delay: 4ms}]}`,
		`{name: cell, clients: [{name: feeder, model: source, with: {channel: DONE, period: 7ms}}, {name: idle, model: source, with: {channel: OWN, period: 5ms}}, {name: ear, model: sink, with: {channels: [".*"]}}]}`},
	"deep": {`{name: deep, until: 300ms, clients: [{name: plant, model: scenario, with: {file: 1.yaml, expose: [DONE]}}, {name: counter, model: sink, with: {channels: [DONE]}}], links: [{delay: 4ms}]}`,
		`{name: plant, clients: [{name: cell, count: 2, model: scenario, with: {file: 2.yaml, expose: [{OUT: DONE}]}}, {name: boss, model: sink, with: {channels: [DONE]}}], links: [{delay: 2ms}]}`,
		`{name: cell, clients: [{name: feeder, model: source, with: {channel: PART, period: 7ms}}, {name: arm, model: echo, with: {in: PART, out: OUT}}], links: [{delay: 1ms}]}`},
}

// A scenario has the same digests with one dispatcher and with one for each scenario inside of it.
func TestNestedDigests(t *testing.T) {
	for name, texts := range nestedScenarios {
		for _, transport := range []string{"mem", "unix", "mem apart", "quic apart"} {
			t.Run(name+" "+transport, func(t *testing.T) {
				t.Parallel()
				bothWays(t, composed(t, texts...), transport)
			})
		}
	}
}

// What is sent from one dispatcher to another is bounded by the memory of each, whoever hears it, and in processes of their own, too. Each source sends ten times as much.
func TestNestedMemory(t *testing.T) {
	source := func(channel string) string {
		return "{name: src, model: source, with: {channel: " + channel + ", period: 100us, size: 50000}}"
	}
	sink := func(channel string) string { return "{name: ear, model: sink, with: {channels: [" + channel + "]}}" }
	inside := func(name, file, exposed string) string {
		return "{name: " + name + ", model: scenario, with: {file: " + file + ", expose: [" + exposed + "]}}"
	}
	outer := func(clients ...string) string {
		return "{name: flood, memory: 2MiB, until: 40ms, clients: [" + strings.Join(clients, ", ") + "], links: [{delay: 100us}]}"
	}
	cell := func(clients ...string) string { return "{name: cell, clients: [" + strings.Join(clients, ", ") + "]}" }
	for name, texts := range map[string][]string{
		"out": {outer(inside("a", "1.yaml", "X"), sink("X")), cell(source("X"))},
		"in":  {outer(inside("a", "1.yaml", "X"), source("X")), cell(sink("X"))},
		"two": {outer(inside("a", "1.yaml", "X, Y"), inside("b", "2.yaml", "X, Y")), cell(source("X"), sink("Y")), cell(source("Y"), sink("X"))},
	} {
		for _, transport := range []string{"mem", "unix", "mem apart"} {
			t.Run(name+" "+transport, func(t *testing.T) {
				t.Parallel()
				out := bothWays(t, composed(t, texts...), transport)
				require.Less(t, out.HeldBytes, out.MemoryBytes)
			})
		}
	}
}

// Who takes part in real time is named, in whatever run it is.
func TestNestedLive(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, free.Close())
	out := bothWays(t, composed(t, `{name: live, rate: 20, until: 200ms, clients: [{name: cell, model: scenario, with: {file: 1.yaml, expose: [X]}}, {name: ear, model: sink, with: {channels: [X]}}], links: [{delay: 1ms}]}`,
		fmt.Sprintf(`{name: cell, clients: [{name: real, model: bridge, with: {url: "tcpq://%s", serve: true, out: [X]}}, {name: x, model: source, with: {channel: X, period: 20ms}}]}`, free.Addr())), "mem")
	require.Equal(t, []string{"cell/real"}, out.Live)
}

// Each run of several dispatchers has a journal, by which it can be done again.
func TestNestedJournals(t *testing.T) {
	t.Parallel()
	out := bothWays(t, composed(t, nestedScenarios["answers"]...), "mem")
	require.Len(t, out.Nested, 2)
	for _, dir := range append(out.Nested, out.RunDir) {
		recorded, err := record.Open(dir)
		require.NoError(t, err)
		again, err := replay.Dispatcher(recorded)
		require.NoError(t, err, dir)
		require.NoError(t, again.Torn, dir)
		require.Nil(t, again.Difference, dir)
		require.Equal(t, recorded.Manifest.Digests, again.Digests)
	}
}

// Random scenarios in two cells: sources, echoes, pings and sinks on few channels, over links with and without delay.
func TestRandomNests(t *testing.T) {
	for seed := range uint64(*nests) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			bothWays(t, composed(t, randomComposition(rand.New(rand.NewPCG(seed, 1)))...), "mem")
		})
	}
}

// randomComposition draws an outer scenario and two cells.
func randomComposition(r *rand.Rand) []string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	delay := func() string {
		return pick("0ms", "1ms", "3ms", "{uniform: {min: 0ms, max: 5ms}}", "{uniform: {min: 1ms, max: 2ms}}", "{exponential: {mean: 2ms, min: 0ms}}")
	}
	clients := func(prefix string, own []string) string {
		all := []string{fmt.Sprintf("{name: %s, model: sink, with: {channels: [A, B, C]}}", prefix)}
		for i := range 2 + r.IntN(4) {
			model := pick(
				fmt.Sprintf("model: source, with: {channel: %s, period: %dms}", pick(own...), 1+r.IntN(9)),
				fmt.Sprintf("model: sink, with: {channels: [%s, %s]}", pick(own...), pick(own...)),
				fmt.Sprintf("model: sink, with: {channels: [%q]}", ".*"),
				fmt.Sprintf("model: echo, with: {in: %s, out: %s}", own[0], own[1]),
				fmt.Sprintf("model: echo, with: {in: %s, out: %s}", own[1], own[2]))
			all = append(all, fmt.Sprintf("{name: %s%d, %s}", prefix, i, model))
		}
		return strings.Join(all, ", ")
	}
	cell := func(name string) string {
		return fmt.Sprintf("{name: %s, clients: [%s], links: [{delay: %s}, {from: %s1, delay: %s}]}", name, clients(name+"c", []string{"A", "B", "C", "D"}), delay(), name+"c", delay())
	}
	outer := fmt.Sprintf(`{name: outer, seed: %d, until: 60ms, clients: [%s, {name: x, model: scenario, with: {file: 1.yaml, expose: [A, {B: C}]}},
  {name: y, model: scenario, with: {file: 2.yaml, expose: [{A: B}, {C: C}]}}], links: [{delay: %s}, {from: x/*, delay: %s}]}`,
		r.Uint64N(1000), clients("o", []string{"A", "B", "C"}), delay(), delay())
	return []string{outer, cell("x"), cell("y")}
}

// What a run with several dispatchers cannot do is refused before anything is started, with what to do.
func TestNestedIsRefused(t *testing.T) {
	t.Parallel()
	texts := nestedScenarios["no delay"]
	outside := `{name: cell, clients: [{name: ponger, external: true}]}`
	for name, c := range map[string]struct {
		texts []string
		set   func(*run.Options)
		says  string
	}{
		"served":   {texts, func(o *run.Options) { o.Serve = true }, "cannot be served"},
		"external": {[]string{texts[0], outside}, func(o *run.Options) { o.Apart = true }, `1.yaml:1:24: clients[0]: client "cell/ponger" joins from outside`},
		"shown":    {[]string{strings.Replace(texts[0], "{", `{public_lcm: "udpm://239.255.76.67:7667?ttl=0", `, 1), texts[1]}, func(*run.Options) {}, "public_lcm: a run whose scenarios inside"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, "unix")
			o.Nested = true
			c.set(&o)
			_, err := run.Scenario(t.Context(), composed(t, c.texts...), o)
			require.ErrorContains(t, err, c.says)
			require.Regexp(t, "leave (--nested|it) out: the results are the same", err)
		})
	}
}

// With processes of their own, a client inside that dies ends all runs with the same words, and so does one that breaks a rule. A stop reaches all of them.
func TestNestedApartFails(t *testing.T) {
	t.Parallel()
	outer := `{name: outer, until: 10s, clients: [{name: cell, model: scenario, with: {file: 1.yaml, expose: [OUT]}}, {name: ear, model: sink, with: {channels: [OUT]}}]}`
	for name, c := range map[string]struct{ inside, says string }{
		"dies":  {`{name: cell, clients: [{name: prog, run: [BIN, x], env: [TEST_PROGRAM=exit3]}, {name: a, model: source, with: {channel: OUT, period: 1ms}}]}`, `the scenario inside "cell": client "cell/prog" was lost before it joined: its process ended (exit status 3)`},
		"stops": {`{name: cell, clients: [{name: prog, run: [BIN, stuck], env: [TEST_PROGRAM=stuck]}, {name: a, model: source, with: {channel: OUT, period: 1ms}}]}`, "enough"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sign := filepath.Join(t.TempDir(), "sign")
			sc := composed(t, outer, strings.ReplaceAll(c.inside, "BIN, stuck", "BIN, "+sign))
			o := options(t, "mem")
			o.Apart = true
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			o.Watch = func(*server.Server) {
				go func() {
					if assert.Eventually(t, func() bool { _, err := os.Stat(sign); return err == nil || ctx.Err() != nil }, time.Minute, time.Millisecond) {
						stop(errors.New("enough"))
					}
				}()
			}
			out := fails(t, ctx, sc, o)
			require.Contains(t, out.Error, c.says)
			require.Len(t, out.Clients, 3)
			require.False(t, out.Resumable)
		})
	}
}

// A client inside that dies ends all runs. The outcome says which one, and in which scenario; nothing says that the run could be resumed.
func TestNestedClientDies(t *testing.T) {
	t.Parallel()
	sc := composed(t, `{name: outer, until: 10s, clients: [{name: cell, model: scenario, with: {file: 1.yaml, expose: [OUT]}}, {name: ear, model: sink, with: {channels: [OUT]}}]}`,
		`{name: cell, clients: [{name: prog, run: [BIN, x], env: [TEST_PROGRAM=exit3]}, {name: a, model: source, with: {channel: OUT, period: 1ms}}]}`)
	o := options(t, "mem")
	o.Nested = true
	out := fails(t, t.Context(), sc, o)
	require.Contains(t, out.Error, `the scenario inside "cell": client "cell/prog" was lost before it joined: its process ended (exit status 3)`)
	require.False(t, out.Resumable)
	exits := map[string]string{}
	for _, c := range out.Clients {
		exits[c.Name] = c.Exit
	}
	require.Equal(t, map[string]string{"cell/a": "aborted", "cell/prog": "lost", "ear": "aborted"}, exits)
}
