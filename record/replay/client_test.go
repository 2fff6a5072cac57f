package replay_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
	"metasim/metasim"
	"metasim/record"
	"metasim/record/journal"
	"metasim/run"
)

// TestCommand replays the clients of a run over unix sockets: models and a command, which steps and asks for more.
func TestCommand(t *testing.T) {
	dir := recordRun(t, steps, "unix")
	for _, name := range []string{"ticker", "stepper", "heard"} {
		c := alone(t, dir, name, run.ReplayOptions{})
		require.Nil(t, c.Difference)
		require.Equal(t, "it left", c.End)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	env := []string{testprogram.Env("stepper")}
	c := alone(t, dir, "stepper", run.ReplayOptions{Command: []string{self}, Env: env})
	require.Nil(t, c.Difference)
	require.Positive(t, c.Sent)

	c = alone(t, dir, "stepper", run.ReplayOptions{Command: []string{self, "200ms"}, Env: env})
	require.NotNil(t, c.Difference, "it died, which it did not then")
	require.Contains(t, c.Difference.Now, "its connection ended")

	require.Nil(t, alone(t, dir, "stepper", run.ReplayOptions{Command: []string{self}, Env: []string{testprogram.Env("visited")}}).Difference)

	_, err = run.ReplayClient(t.Context(), open(t, dir), "stepper", run.ReplayOptions{Command: []string{self}, Env: []string{testprogram.Env("crash")}})
	require.ErrorContains(t, err, "ended before it joined")
	_, err = run.ReplayClient(t.Context(), open(t, dir), "stepper", run.ReplayOptions{Command: []string{self + "-is-not-there"}})
	require.ErrorContains(t, err, "ended before it joined")
	_, err = run.ReplayClient(t.Context(), open(t, dir), "steper", run.ReplayOptions{})
	require.ErrorContains(t, err, `did you mean "stepper"?`)
}

const pings = `name: pings
clients:
  - {name: pinger, model: ping, with: {rounds: 50, out: PING, in: PONG, size: 100}}
  - {name: ponger, model: echo, with: {in: PING, out: PONG}}
links:
  - {delay: 5ms}
`

// TestClientFindsTheFirstDifference replays a client that is not what it was.
func TestClientFindsTheFirstDifference(t *testing.T) {
	for name, c := range map[string]struct {
		old, with string
		parts     []string
	}{
		"payload":  {`"size":100`, `"size":99`, []string{`message 0 of "pinger"`, `then 100 bytes on "PING" at 0s`, `now 99 bytes on "PING"`}},
		"early":    {`"rounds":50`, `"rounds":49`, []string{`message 49 of "pinger"`, `at 490ms`, `now it leaves at 490ms`}},
		"late":     {`"rounds":50`, `"rounds":51`, []string{`message 50 of "pinger"`, `then it left at 500ms`, `now 100 bytes on "PING" at 500ms`}},
		"channels": {`"in":"PONG"`, `"in":"P."`, []string{`what "pinger" declares`, `then publications ["PING"], subscriptions ["PONG"]`}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := recordRun(t, pings, "mem")
			require.Nil(t, alone(t, dir, "pinger", run.ReplayOptions{}).Difference)
			retell(t, dir, c.old, c.with)
			got := alone(t, dir, "pinger", run.ReplayOptions{})
			require.NotNil(t, got.Difference)
			for _, part := range c.parts {
				require.Contains(t, got.Difference.Error(), part)
			}
		})
	}
}

// TestClientComparesInstants: the same counter at another time is another message.
func TestClientComparesInstants(t *testing.T) {
	dir := recordRun(t, lossy, "mem")
	retell(t, dir, `"period":"3ms"`, `"period":"4ms"`)
	d := alone(t, dir, "a", run.ReplayOptions{}).Difference
	require.NotNil(t, d)
	require.Equal(t, `message 1 of "a"`, d.Where)
	require.Contains(t, d.Then, "at 3ms")
	require.Contains(t, d.Now, "at 4ms")
}

// TestClientComparesTheEnd: what a client says as it leaves is a part of what it did.
func TestClientComparesTheEnd(t *testing.T) {
	for name, change := range map[string]func(l *metasim.Leave){
		"result": func(l *metasim.Leave) { l.Result = []byte("{}") },
		"now":    func(l *metasim.Leave) { l.Now.Step++ },
	} {
		t.Run(name, func(t *testing.T) {
			dir := recordRun(t, pings, "mem")
			rewrite(t, dir, func(_ int, e journal.Entry) []journal.Entry {
				if l, ok := e.Event.(*metasim.Leave); ok && l.Client == 1 {
					change(l)
				}
				return []journal.Entry{e}
			})
			d := alone(t, dir, "ponger", run.ReplayOptions{}).Difference
			require.NotNil(t, d)
			require.Equal(t, `the end of "ponger"`, d.Where)
			require.NotEqual(t, d.Then, d.Now)
		})
	}
}

// TestClientOfAJournalThatIsNotOfTheRun: what a dispatcher cannot have done is damage, and so is what it can have done if the digest is
// another one; a client that does the same with it proves nothing.
func TestClientOfAJournalThatIsNotOfTheRun(t *testing.T) {
	dir := recordRun(t, pings, "mem")
	rewrite(t, dir, func(_ int, e journal.Entry) []journal.Entry {
		if l, ok := e.Event.(*metasim.Leave); ok && l.Client == 1 {
			l.Acked--
		}
		return []journal.Entry{e}
	})
	got := alone(t, dir, "pinger", run.ReplayOptions{})
	require.Nil(t, got.Difference)
	require.ErrorContains(t, got.Torn, `client "ponger" handles delivery `)

	dir = recordRun(t, lossy, "mem")
	rewrite(t, dir, func(_ int, e journal.Entry) []journal.Entry {
		for _, effect := range e.Effects {
			if d, ok := effect.(*metasim.Deliver); ok && d.Message.Seq == 1 {
				d.Message.Due.Step++ // a sink does not care
			}
		}
		return []journal.Entry{e}
	})
	r, err := record.OpenToReplay(dir)
	require.NoError(t, err)
	_, err = run.ReplayClient(t.Context(), r, "all", run.ReplayOptions{})
	require.ErrorAs(t, err, new(*record.DigestError))
}

// TestClientThatSendsWhereItDidNot: what was recorded is read as far as the client had come, and not to the end.
func TestClientThatSendsWhereItDidNot(t *testing.T) {
	dir := recordRun(t, strings.Replace(pings, "size: 100", "size: 100000", 1), "mem")
	sends := 0
	rewrite(t, dir, func(_ int, e journal.Entry) []journal.Entry {
		if send, ok := e.Event.(*metasim.Send); ok && send.Client == 1 {
			if sends++; sends > 10 {
				return nil
			}
		}
		if poll, ok := e.Event.(*metasim.PollWait); ok && poll.Client == 0 {
			poll.Acked = 0
		}
		e.Effects = slices.DeleteFunc(e.Effects, func(e metasim.Effect) bool {
			d, ok := e.(*metasim.Deliver)
			return ok && d.To == 0
		})
		return []journal.Entry{e}
	})
	d := alone(t, dir, "ponger", run.ReplayOptions{}).Difference
	require.NotNil(t, d)
	require.Equal(t, `message 10 of "ponger"`, d.Where)
	require.Contains(t, d.Then, "it sent nothing before it came to ")
	require.Contains(t, d.Now, "at 105ms")
}

// TestClientOfAKilledRun: a client that asks for more than was recorded gets the end as it was.
func TestClientOfAKilledRun(t *testing.T) {
	for part := 0.2; part < 1; part += 0.17 {
		dir := recordRun(t, pings, "mem")
		cut(t, dir, part)
		for _, name := range []string{"pinger", "ponger"} {
			c := alone(t, dir, name, run.ReplayOptions{})
			require.Nil(t, c.Difference)
			require.Less(t, c.Sent, uint64(50))
			require.NotEqual(t, "it left", c.End)
		}
	}
}

// TestClientOfAFailedRun: one crashes, the run fails, and the others hear of it again as they did then.
func TestClientOfAFailedRun(t *testing.T) {
	dir := recordRun(t, strings.Replace(steps, "ARGS", "'200ms'", 1), "unix")
	require.Nil(t, audit(t, dir).Difference)
	c := alone(t, dir, "heard", run.ReplayOptions{})
	require.Nil(t, c.Difference)
	require.Contains(t, c.End, "the run failed: ")
	c = alone(t, dir, "stepper", run.ReplayOptions{})
	require.Nil(t, c.Difference, "it crashes again")
	require.Regexp(t, "^its connection was lost, and the run failed(; now its connection ended too, exit status 1)?$", c.End)
}

// TestClientThatBrokeARule: it hears the same sentence again, and so do the others.
func TestClientThatBrokeARule(t *testing.T) {
	dir := recordRun(t, `name: lies
clients:
  - {name: cheat, run: [BIN], env: [TEST_PROGRAM=cheat]}
  - {name: heard, model: sink, with: {channels: [LIES]}}
links:
  - {delay: 5ms}
`, "mem")
	require.Nil(t, audit(t, dir).Difference)
	var said bytes.Buffer
	c := alone(t, dir, "cheat", run.ReplayOptions{Stdout: &said})
	require.Nil(t, c.Difference)
	require.EqualValues(t, 2, c.Sent)
	require.Contains(t, c.End, `client "cheat" broke its promise ("LIES") at 1ns`)
	require.Contains(t, said.String(), c.End)
	c = alone(t, dir, "heard", run.ReplayOptions{})
	require.Nil(t, c.Difference)
	require.Contains(t, c.End, "the run failed: ")
}

// TestClientOfARunWithoutIt: the run went on without a client that died.
func TestClientOfARunWithoutIt(t *testing.T) {
	text := strings.Replace(steps, "env:", "on_exit: detach, env:", 1)
	dir := recordRun(t, strings.Replace(text, "ARGS", "'200ms'", 1), "unix")
	require.Nil(t, audit(t, dir).Difference)
	for name, end := range map[string]string{"stepper": "its connection was lost, and the run went on without it", "heard": "it left"} {
		c := alone(t, dir, name, run.ReplayOptions{})
		require.Nil(t, c.Difference)
		require.Contains(t, c.End, end)
	}
}

// TestClientIsCancelled: whoever waits for a program that does nothing can give up.
func TestClientIsCancelled(t *testing.T) {
	dir := recordRun(t, pings, "mem")
	ctx, cancel := context.WithCancel(t.Context())
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	self, err := os.Executable()
	require.NoError(t, err)
	go func() {
		defer cancel()
		b := make([]byte, 1)
		_, _ = r.Read(b) // it runs
	}()
	_, err = run.ReplayClient(ctx, open(t, dir), "ponger", run.ReplayOptions{Command: []string{self}, Env: []string{testprogram.Env("idle")}, Stdout: w})
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, w.Close())
}

func TestOpenRefuses(t *testing.T) {
	_, err := record.OpenToReplay(t.TempDir())
	require.ErrorContains(t, err, "is no run")
	dir := recordRun(t, pings, "mem")
	edit(t, dir, func(m *journal.Manifest) { m.Resolved = nil })
	_, err = record.OpenToReplay(dir)
	require.ErrorContains(t, err, "does not hold its scenario")
	dir = recordRun(t, pings, "mem")
	file := filepath.Join(dir, "journal")
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	b[8]++
	require.NoError(t, os.WriteFile(file, b, 0o644))
	var version *journal.VersionError
	_, err = openAndAudit(dir)
	require.ErrorAs(t, err, &version)
	_, err = run.ReplayClient(t.Context(), open(t, dir), "pinger", run.ReplayOptions{})
	require.ErrorAs(t, err, &version)
}

// TestPaced: a client that is alone does not wait for the pace.
func TestPaced(t *testing.T) {
	dir := recordRun(t, "rate: 20\n"+pings, "mem")
	require.Nil(t, audit(t, dir).Difference, "permits are events")
	c := alone(t, dir, "ponger", run.ReplayOptions{})
	require.Nil(t, c.Difference)
	require.EqualValues(t, 50, c.Sent)
}

// BenchmarkClient is the replay of a client whose run took real time: 500 ms for 100 messages. The figure that counts is
// how many times faster it is alone.
func BenchmarkClient(b *testing.B) {
	dir := recordRun(b, "rate: 1\n"+pings, "mem")
	r := open(b, dir)
	for b.Loop() {
		c, err := run.ReplayClient(b.Context(), r, "ponger", run.ReplayOptions{})
		require.NoError(b, err)
		require.Nil(b, c.Difference)
	}
	b.ReportMetric(0.5/(b.Elapsed().Seconds()/float64(b.N)), "times-faster")
}
