package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/lcm"
)

// What cat prints as JSON is written back byte for byte, whether its types are known or not.
func TestLCMWrite(t *testing.T) {
	s := newStage(t)
	known := toy(s)
	payload, err := known.Lookup("toy.pose_t").Encode([]byte(`{"utime":1,"pos":[-0.0,2],"name":"x"}`))
	require.NoError(t, err)
	events := append(mixed(s, known), lcm.Event{Time: -7, Channel: "\xff \"", Payload: payload}, lcm.Event{Number: 99, Channel: "E"})
	whole := eventLog(s, "run.lcmlog", events...)
	for _, types := range [][]string{nil, {"--types", "types"}} {
		printed := s.metasim(append([]string{"lcm", "cat", "run.lcmlog", "--json"}, types...)...)
		require.Equal(t, 0, printed.status)
		s.file("lines.json", printed.out)
		e := s.metasim(append([]string{"lcm", "write", "lines.json", "back.lcmlog"}, types...)...)
		require.Equal(t, fmt.Sprintf("back.lcmlog: %d messages\n", len(events)), e.out)
		require.Equal(t, whole, s.read("back.lcmlog"))
		e = s.metasim(append([]string{"lcm", "write", "lines.json", "-"}, types...)...)
		require.Equal(t, string(whole), e.out, "and nothing else")
	}
	typed := s.metasim("lcm", "cat", "run.lcmlog", "--json", "--types", "types").out
	require.Contains(t, typed, "-0.0", "readers of JSON in Python take -0 for an integer")
	for line, want := range map[string]string{
		`{}`:                                    "line 1: time_us is missing",
		`{"time_us":1,"channel":"A","hex":"0"}`: "hex: ",
		`{"time_us":1,"channel":"A"}`:           "neither a hex nor a value",
		`{"time_us":1,"channel":"A","hex":"00","value":1}`:                "leave one out",
		`{"time_us":1,"channel":"A","type":"no","value":{}}`:              `the type "no" is not known`,
		`{"time_us":1,"channel":"A","type":"toy.note_t","value":{"x":1}}`: "toy.note_t: ",
		`{"time_us":1,"channel":"","hex":""}`:                             "channel name of 0 bytes",
		`{"time_us":1,"channel":"A","size":2,"hex":"00"}`:                 "size is 2",
		`{"time_us":1,"chanel":"A"}`:                                      `unknown field "chanel"`,
	} {
		s.file("bad.json", line)
		e := s.metasim("lcm", "write", "bad.json", "bad.lcmlog", "--types", "types")
		require.Equal(t, 2, e.status, line)
		e.says(t, want)
		require.NoFileExists(t, filepath.Join(s.dir, "bad.lcmlog"))
	}
}

func TestLCMCatOfATime(t *testing.T) {
	s := newStage(t)
	eventLog(s, "run.lcmlog", lcm.Event{Time: 5_000_000, Channel: "A"}, lcm.Event{Time: 5_500_000, Channel: "B"}, lcm.Event{Time: 6_000_000, Channel: "C"})
	for flags, want := range map[string]string{
		"--from 500ms": "BC", "--until 1s": "AB", "--from 5.5 --until 6.0": "B", "--from 7": "", "--from 0.5s --until 1001ms": "BC",
	} {
		e := s.metasim(append([]string{"lcm", "cat", "run.lcmlog"}, strings.Fields(flags)...)...)
		require.Equal(t, 0, e.status)
		got := ""
		for line := range strings.Lines(e.out) {
			got += strings.Fields(line)[1]
		}
		require.Equal(t, want, got, flags)
	}
	e := s.metasim("lcm", "cat", "run.lcmlog", "--from", "noon")
	require.Equal(t, 2, e.status)
	e.says(t, "--from noon is no time; write 1.5s")
}

// A log that grows is followed, event by event, also over an event that is half written.
func TestLCMCatFollows(t *testing.T) {
	s := raced(t)
	whole := eventLog(s, "run.lcmlog", lcm.Event{Channel: "A"}, lcm.Event{Channel: "B", Payload: []byte("payload")}, lcm.Event{Channel: "C"})
	path := filepath.Join(s.dir, "run.lcmlog")
	require.NoError(t, os.WriteFile(path, whole[:29], 0o600)) // A
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	status := make(chan int, 1)
	go func() {
		status <- execute(ctx, []string{"lcm", "cat", path, "-f"}, streams{in: strings.NewReader(""), out: in, err: io.Discard})
		_ = in.Close() // a pipe in memory: never fails
	}()
	lines := bufio.NewScanner(out)
	grow := func(until int) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		info, err := f.Stat()
		require.NoError(t, err)
		_, err = f.Write(whole[info.Size():until])
		require.NoError(t, errors.Join(err, f.Close()))
	}
	next := func() string { require.True(t, lines.Scan()); return lines.Text() }
	require.Equal(t, "0.000000 A (empty)", next())
	grow(29 + 20)
	<-time.After(2 * followEvery) // it has most likely seen half of an event; what it prints is the same if it has not
	grow(len(whole) - 29)
	require.Equal(t, "0.000000 B 7061796c6f6164", next())
	grow(len(whole))
	require.Equal(t, "0.000000 C (empty)", next())
	stop()
	require.Equal(t, 0, <-status)
}
