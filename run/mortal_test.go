package run_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/metasim"
	"metasim/record"
	"metasim/run"
	"metasim/wire"
	"metasim/wire/transport/all"
)

// mortal is a worker that kills itself, once for each word of its first argument: at the place that the word says, in the life of that
// number. Its second argument is a directory in which its lives are counted.
func mortal(args []string) error {
	lives := filepath.Join(args[1], "lives-"+os.Getenv("METASIM_CLIENT"))
	before, _ := os.ReadFile(lives) // there is none in the first life
	if err := os.WriteFile(lives, append(before, '+'), 0o600); err != nil {
		return err
	}
	m := &doomed{life: len(before)}
	if words := strings.Split(args[0], ","); m.life < len(words) {
		m.word = words[m.life]
	}
	m.dieIf("first")
	if m.word == "absent" {
		return forever()
	}
	ctx := context.Background()
	conn, err := all.Table().Dial(ctx, os.Getenv("METASIM_SERVER"))
	if err != nil {
		return err
	}
	m.Conn = conn
	return m.work(ctx)
}

// doomed is the connection of a process that dies at a place.
type doomed struct {
	wire.Conn
	life   int
	word   string
	writes int
}

func (m *doomed) dieIf(word string) {
	if m.word == word {
		die()
	}
}

// die kills this process, and does not return.
func die() {
	_ = kill(os.Getpid()) // nothing comes after it
	select {}
}

// kill ends a process that cannot help it.
func kill(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

func (m *doomed) WriteFrames(frames []byte) error {
	m.writes++
	if m.word == "frame" && m.writes == 6 {
		_ = m.Conn.WriteFrames(frames[:len(frames)/2]) // the rest never comes
		die()
	}
	err := m.Conn.WriteFrames(frames)
	switch {
	case m.writes == 1:
		m.dieIf("start")
	case m.writes == 6:
		m.dieIf("waits")
	}
	return err
}

func (m *doomed) work(ctx context.Context) error {
	b := client.NewBuilder("")
	name := "OUT_mortal"
	if m.word == "channel" {
		name = "ELSE"
	}
	out := b.Publication(name)
	if err := b.Subscribe("OUT_plant", nil); err != nil {
		return err
	}
	c, err := b.Complete(ctx, client.WithConn(m), client.WithToken(os.Getenv("METASIM_TOKEN")), client.WithName(os.Getenv("METASIM_CLIENT")))
	if err != nil {
		return err
	}
	heard, end := 0, metasim.Time(100)
	if m.word == "early" {
		end = 20
	}
	for t := metasim.Time(1); t < end; t++ {
		messages, err := c.Step(ctx, t*metasim.Millisecond)
		if err != nil {
			return err
		}
		heard += len(messages)
		if t == 20 {
			m.dieIf("soon")
		}
		text := fmt.Sprintf("%d %d", t, heard)
		if m.word == "other" && t == 7 {
			text = "moody"
		}
		if err := out.Publish([]byte(text)); err != nil {
			return err
		}
		if m.word == "more" && t == 9 {
			if err := out.Publish([]byte("and more")); err != nil {
				return err
			}
		}
		if t == 50 {
			m.dieIf("computes")
			if m.word == "says" {
				return errors.Join(errors.New("no more"), c.Fail(errors.New("no more")))
			}
		}
	}
	if err := errors.Join(c.SetResult(map[string]int{"heard": heard}), c.Leave(ctx)); err != nil {
		return err
	}
	m.dieIf("last")
	return nil
}

const mortals = `name: mortals
until: 110ms
start_timeout: 20s
clients:
  - {name: m, run: [BIN, "WORDS", "DIR"], env: [TEST_PROGRAM=mortal], on_exit: restart LIMIT}
  - {name: plant, model: source, with: {channel: OUT_plant, period: 3ms}}
  - {name: hears, model: sink, with: {channels: [OUT_mortal]}}
links:
  - {delay: 2ms}
`

func mortalsOf(t *testing.T, words, limit string) string {
	return strings.NewReplacer("WORDS", words, "DIR", t.TempDir(), "LIMIT", limit).Replace(mortals)
}

// TestClientDiesAnywhere: wherever the process of a client dies, the run is the same.
func TestClientDiesAnywhere(t *testing.T) {
	t.Parallel()
	quiet := carryOut(t, parse(t, mortalsOf(t, "lives", "")), options(t, "mem"))
	for words, restarts := range map[string]int{
		"first": 1, "start": 1, "computes": 1, "waits": 1, "frame": 1, "last": 0,
		"computes,soon": 2, "frame,start,soon": 3, "soon,first,computes": 3, "first,first,start": 3,
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			o := options(t, "mem")
			o.KeepEnv = true
			out := carryOut(t, parse(t, mortalsOf(t, words, "")), o)
			require.Equal(t, restarts, out.Clients[1].Restarts)
			require.Equal(t, quiet.Digests, out.Digests)
			require.Equal(t, quiet.Clients[1].Result, out.Clients[1].Result)
			alone, err := run.ReplayClient(t.Context(), recorded(t, out.RunDir), "m", run.ReplayOptions{})
			require.NoError(t, err)
			require.Nil(t, alone.Difference, "the record is that of a client that never died")
		})
	}
}

// TestClientDoesNotRepeatItself: the run ends, and the first difference is named.
func TestClientDoesNotRepeatItself(t *testing.T) {
	t.Parallel()
	for words, said := range map[string]string{
		"computes,other": `client "m" was started again and did not repeat itself: message 6 of "m" is not what it was: ` +
			`then 3 bytes on "OUT_mortal" at 7ms: "7 2"; now 5 bytes on "OUT_mortal" at 7ms: "moody"; on_exit: restart is for`,
		"computes,channel":                `what "m" declares is not what it was: then publications ["OUT_mortal"], `,
		"computes,early":                  `message 19 of "m" is not what it was: then 4 bytes on "OUT_mortal" at 20ms: "20 7"; now it leaves at 19ms, with 6 deliveries handled`,
		"computes,more":                   `message 9 of "m" is not what it was: then 4 bytes on "OUT_mortal" at 10ms: "10 3"; now 8 bytes on "OUT_mortal" at 9ms: "and more"`,
		"computes,soon,computes,computes": `client "m" was lost again, after it was started again 3 times (signal: killed): it was last heard of at `,
		"computes,says":                   `client "m" was lost again, after it was started again once (it failed: no more`,
		"says":                            `client "m" was lost (it failed: no more`,
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			out := fails(t, t.Context(), parse(t, mortalsOf(t, words, "")), options(t, "mem"))
			require.Contains(t, out.Error, said)
			require.Equal(t, strings.Contains(said, "it failed"), strings.Contains(out.Error, "; it is not started again, as it would fail again: mend it, or give it on_exit: detach"))
		})
	}
}

// TestClientDoesNotComeBack: one that is started again and does not join ends the run, as one that does not join at first.
func TestClientDoesNotComeBack(t *testing.T) {
	t.Parallel()
	text := strings.Replace(mortalsOf(t, "computes,absent", ", restarts: 1"), "start_timeout: 20s", "start_timeout: 2s", 1)
	began := time.Now()
	out := fails(t, t.Context(), parse(t, text), options(t, "mem"))
	require.Contains(t, out.Error, `client "m" has to be started again and has not joined within 2s; see that it starts, or raise start_timeout`)
	require.GreaterOrEqual(t, time.Since(began), 2*time.Second)
}

// TestRestartNeedsAJournal: without one nothing is known of what the client was given.
func TestRestartNeedsAJournal(t *testing.T) {
	o := options(t, "mem")
	o.NoJournal = true
	_, err := run.Scenario(t.Context(), parse(t, mortalsOf(t, "lives", "")), o)
	require.EqualError(t, err, `client "m" has on_exit: restart, for which what it was given is read from the journal; leave --no-journal out`)
}

// recorded opens a run that is to be replayed.
func recorded(t *testing.T, dir string) *record.Run {
	t.Helper()
	r, err := record.OpenToReplay(dir)
	require.NoError(t, err)
	return r
}
