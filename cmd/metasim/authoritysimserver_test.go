package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
)

var handoverKills = flag.Int("handover-kills", 6, "how many handovers TestSimserversAreKilled kills a server in")

// A liveServer is a simulation server in a process of its own.
type liveServer struct {
	*stage
	name, other string
	cmd         *exec.Cmd
	in          io.WriteCloser
	out         *written
}

func (l *liveServer) run() {
	l.Helper()
	l.begin("--ready-file", l.name+".url", "--peer", l.other+"="+l.other+".url", "--own", "ball-"+l.name, "--retry", "50ms")
}

// begin starts the process, with more flags than who it is.
func (l *liveServer) begin(flags ...string) {
	l.Helper()
	l.cmd = exec.Command(l.program, append([]string{"authority", "simserver", "--name", l.name, "--data", l.name}, flags...)...)
	l.cmd.Dir, l.cmd.Stderr = l.dir, os.Stderr
	l.cmd.Env = append(os.Environ(), "METASIM_TOKEN=sesame")
	l.out = &written{}
	l.cmd.Stdout = l.out
	var err error
	l.in, err = l.cmd.StdinPipe()
	require.NoError(l, err)
	require.NoError(l, l.cmd.Start())
	cmd := l.cmd
	l.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // it may have ended
}

func (l *liveServer) kill() {
	require.NoError(l, l.cmd.Process.Kill())
	_ = l.cmd.Wait() // it was killed
}

func (l *liveServer) tell(command string) {
	_, err := fmt.Fprintln(l.in, command)
	require.NoError(l, err)
}

// owns reads what the server has written down that it owns.
func (l *liveServer) owns() (held []string) {
	text, err := os.ReadFile(filepath.Join(l.dir, l.name, l.name+".json"))
	if err != nil {
		return nil
	}
	var kept struct {
		State struct{ Held map[string]json.RawMessage }
	}
	require.NoError(l, json.Unmarshal(text, &kept))
	for e := range kept.State.Held {
		held = append(held, e)
	}
	slices.Sort(held)
	return held
}

// Two servers hand entities to each other while one of them, and then the other, is killed: never do both own one, and in the end each entity is at one.
func TestSimserversAreKilled(t *testing.T) {
	s := newStage(t)
	s.program = testprogram.Shipped(t)
	all := []*liveServer{{stage: s, name: "a", other: "b"}, {stage: s, name: "b", other: "a"}}
	for _, l := range all {
		l.run()
	}
	total := func() int {
		before := all[0].owns()
		there := all[1].owns()
		if again := all[0].owns(); slices.Equal(before, again) { // else one was handed over while we looked
			for _, e := range before {
				require.NotContains(t, there, e, "both own it")
			}
		}
		return len(before) + len(there)
	}
	settled := func() bool { return total() == 2 }
	require.Eventually(t, settled, time.Minute, 5*time.Millisecond)
	moved := 0
	for i := range *handoverKills {
		from := all[i%2]
		if len(from.owns()) == 0 {
			from = all[1-i%2]
		}
		to, entity := from.other, from.owns()[0]
		victim := all[i/2%2]
		from.tell("give " + entity + " " + to)
		if i%3 > 0 { // at once; or when it is on its way; or when it has arrived, or nearly
			require.Eventually(t, func() bool { return !slices.Contains(from.owns(), entity) }, time.Minute, time.Millisecond)
		}
		if i%3 > 1 {
			require.Eventually(t, settled, time.Minute, time.Millisecond)
		}
		victim.kill()
		total()
		victim.run()
		require.Eventually(t, settled, time.Minute, 5*time.Millisecond, "round %d", i)
		if !slices.Contains(from.owns(), entity) {
			moved++
		}
	}
	require.NotZero(t, moved)
	require.Eventually(t, func() bool { // each hears in datagrams what the other owns
		all[0].tell("owns")
		return strings.Contains(all[0].out.String(), `"owner":"b"`) || len(all[1].owns()) == 0
	}, time.Minute, 20*time.Millisecond)
}

// What cannot be meant is refused, with what to write; a second server does not get the directory of one that runs.
func TestSimserverIsChecked(t *testing.T) {
	s := newStage(t)
	s.program = testprogram.Shipped(t)
	for args, want := range map[string]string{
		"--data d":                              "the name has 0 bytes",
		"--name a":                              "the directory is not named",
		"--name a --data d":                     "the token is empty",
		"--name a --data d --peer b":            "write NAME=URL or NAME=FILE",
		"--name a --data d --peer a=x":          "the peers have the server itself",
		"--name a --data d --step 0s --peer b=": "write NAME=URL or NAME=FILE",

		"--name ../a --data d":                    `the name is "../a"; write letters, digits, '-', '_' and '.', not '.' first`,
		"--name .a --data d":                      `the name is ".a"`,
		"--name a --data d --own=":                `an entity is ""; write 1 to 128 bytes without spaces`,
		"--name a --data d --own=a\x7fb":          `an entity is "a\x7fb"`,
		"--name a --data d --rule maybe":          `--rule is "maybe"; use deny, ask or allow`,
		"--name a --data d --world a,b,a":         `the world has a server twice: ["a" "b" "a"]; name each once`,
		"--name a --data d --peer b=x --peer b=y": "--peer names b twice; say once where it is",
	} {
		env := []string{"METASIM_TOKEN="}
		if strings.Contains(args, "a=x") || strings.Contains(args, "own") || strings.Contains(args, "world") {
			env = []string{"METASIM_TOKEN=sesame"}
		}
		e := s.start(env, append([]string{"authority", "simserver"}, strings.Fields(args)...)...).wait()
		require.Equal(t, 2, e.status, args)
		require.Contains(t, e.err, want)
	}
	l := &liveServer{stage: s, name: "a", other: "b"}
	l.run()
	l.tell(strings.Repeat("x", 1<<20)) // no command, and not the last line
	l.tell("owns")
	require.Eventually(t, func() bool { return strings.Count(l.out.String(), `"event":"owns"`) == 2 }, time.Minute, 5*time.Millisecond)
	require.Eventually(t, func() bool { return len(l.owns()) == 1 }, time.Minute, 5*time.Millisecond)
	e := s.start([]string{"METASIM_TOKEN=sesame"}, "authority", "simserver", "--name", "a", "--data", "a").wait()
	require.Equal(t, 1, e.status)
	require.Contains(t, e.err, "belongs to a server that is running")
}
