package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/lcm"
	"metasim/lcm/types"
	"metasim/metasim"
	"metasim/record/journal"
)

// played runs ping-pong, and returns the directory of the run.
func played(s *stage) string {
	s.Helper()
	s.file("p.yaml", pingPong)
	o, e := s.run("p.yaml")
	require.Equal(s, 0, e.status)
	return o.RunDir
}

func (s *stage) read(name string) []byte {
	s.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, name))
	require.NoError(s, err)
	return b
}

// logged counts the events of an event log.
func logged(t *testing.T, b []byte) (n int) {
	r := lcm.NewReader(bytes.NewReader(b))
	for {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			require.Zero(t, r.Skipped())
			return n
		} else {
			require.NoError(t, err)
		}
		n++
	}
}

func TestLogIntoFiles(t *testing.T) {
	s := newStage(t)
	first, second := played(s), played(s)
	require.NotEqual(t, first, second)
	e := s.metasim("log", first, "--lcm", "a.lcmlog", "--mcap", "a.mcap")
	require.Equal(t, ending{0, "a.lcmlog: 20 messages, up to 500ms\na.mcap: 80 messages, up to 550ms\n", ""}, e)
	e = s.metasim("log", second, "--lcm", "b.lcmlog", "--sent", "--mcap", "b.mcap")
	require.Equal(t, 0, e.status)
	require.Equal(t, s.read("a.lcmlog"), s.read("b.lcmlog"))
	require.Equal(t, s.read("a.mcap"), s.read("b.mcap"))
	require.Equal(t, 20, logged(t, s.read("a.lcmlog")))

	e = s.metasim("log", first, "--lcm", "c.lcmlog", "--delivered", "--client", "pinger")
	require.Equal(t, ending{0, "c.lcmlog: 10 messages, up to 550ms\n", ""}, e)
	require.Contains(t, string(s.read("c.lcmlog")), "PONG")
	require.NotContains(t, string(s.read("c.lcmlog")), "PING")

	e = s.metasim("log", first, "--lcm", "d.lcmlog", "--delivered", "--lcm-names", "plain")
	require.Equal(t, 0, e.status)
	require.Equal(t, 20, logged(t, s.read("d.lcmlog")))
	require.NotContains(t, string(s.read("d.lcmlog")), "@")
	e = s.metasim("log", first, "--lcm", "d.lcmlog", "--lcm-names", "plane")
	require.Equal(t, 2, e.status)
	e.says(t, `did you mean "plain"?`)
	partial, err := filepath.Glob(filepath.Join(s.dir, "*.partial"))
	require.NoError(t, err)
	require.Empty(t, partial)
}

// To standard output goes the file and nothing else.
func TestLogToStandardOutput(t *testing.T) {
	s := newStage(t)
	dir := played(s)
	require.Equal(t, 0, s.metasim("log", dir, "--lcm", "a.lcmlog", "--mcap", "a.mcap").status)
	for flag, file := range map[string]string{"--lcm": "a.lcmlog", "--mcap": "a.mcap"} {
		e := s.metasim("log", dir, flag, "-")
		require.Equal(t, 0, e.status)
		require.Equal(t, string(s.read(file)), e.out)
		require.Contains(t, e.err, "-: ")
		require.NoFileExists(t, filepath.Join(s.dir, "-"))
	}
	e := s.metasim("log", dir, "--lcm", "-", "--mcap", "-")
	require.Equal(t, 2, e.status)
	var out bytes.Buffer
	full := &failing{left: 100}
	require.Equal(t, 1, execute(t.Context(), []string{"log", filepath.Join(s.dir, dir), "--lcm", "-"}, streams{in: strings.NewReader(""), out: full, err: &out}))
	require.Contains(t, out.String(), "no space left")
}

// failing is a file system that is soon full.
type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(b), nil
}

// With types, an MCAP file has JSON; what only looks like a message of a type is told.
func TestLogWithTypes(t *testing.T) {
	s := newStage(t)
	dir := played(s)
	// Nothing that ping sends begins as an a_t does.
	s.file("a.lcm", "struct a_t { int8_t x; }")
	e := s.metasim("log", dir, "--mcap", "a.mcap", "--types", ".")
	require.Equal(t, ending{0, "a.mcap: 80 messages, up to 550ms\n", ""}, e)

	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "real.lcmlog"), s.typed(), 0o644))
	s.file("r.yaml", "name: r\nclients:\n  - {name: p, model: lcmlog, with: {file: real.lcmlog}}\n  - {name: s, model: sink, with: {channels: [A]}}\n")
	o, e := s.run("r.yaml")
	require.Equal(t, 0, e.status)
	e = s.metasim("log", o.RunDir, "--mcap", "r.mcap", "--types", ".")
	require.Equal(t, 0, e.status)
	require.Equal(t, "r.mcap: 10 messages, up to 0s\n", e.out, "two sent and delivered, one of them with JSON")
	e.says(t, "warning: r.mcap: 2 payloads begin like a known type but are not of that type")
}

// typed is an event log with a message of the type a_t, and one that is cut short.
func (s *stage) typed() []byte {
	set, err := types.Load(filepath.Join(s.dir, "a.lcm"))
	require.NoError(s, err)
	payload := append(binary.BigEndian.AppendUint64(nil, set.Lookup("a_t").Fingerprint), 7)
	var b bytes.Buffer
	w := lcm.NewWriter(&b)
	require.NoError(s, w.Write(lcm.Event{Channel: "A", Payload: payload}))
	require.NoError(s, w.Write(lcm.Event{Channel: "A", Payload: payload[:8]}))
	return b.Bytes()
}

func TestLogIntoFilesBadUsage(t *testing.T) {
	s := newStage(t)
	dir := played(s)
	s.file("bad.lcm", "struct a_t { int x; }")
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"--sent"}, []string{"use them with --lcm FILE"}},
		{[]string{"--lcm", "x", "--sent", "--delivered"}, []string{"use --sent or --delivered"}},
		{[]string{"--types", "."}, []string{"use it with --mcap FILE"}},
		{[]string{"--lcm", "x", "--json"}, []string{"use one or the other"}},
		{[]string{"--lcm", "x", "--mcap", "./x"}, []string{"both name x", "use two files"}},
		{[]string{"--lcm", "x", "--client", "nobody"}, []string{`no client "nobody"`, "pinger"}},
		{[]string{"--lcm", filepath.Join(dir, "journal")}, []string{"name another place"}},
		{[]string{"--lcm", filepath.Join("nowhere", "x")}, []string{"nowhere"}},
		{[]string{"--mcap", "x", "--types", "nowhere"}, []string{"nowhere"}},
		{[]string{"--mcap", "x", "--types", "."}, []string{"bad.lcm:1:14: ", "int"}},
	} {
		e := s.metasim(append([]string{"log", dir}, c.args...)...)
		require.Equal(t, 2, e.status, "%v", c.args)
		e.says(t, c.says...)
		require.NoFileExists(t, filepath.Join(s.dir, "x"))
		require.NoFileExists(t, filepath.Join(s.dir, "x.partial"))
	}
	e := s.metasim("log", t.TempDir(), "--lcm", "x")
	require.Equal(t, 2, e.status)
	e.says(t, "is no run")
}

// A journal that was cut off, or has no end, is exported as far as it goes, and that is said.
func TestLogOfAKilledRun(t *testing.T) {
	s := newStage(t)
	dir := played(s)
	file := filepath.Join(s.dir, dir, "journal")
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, half(whole), 0o644))
	e := s.metasim("log", dir, "--lcm", "x.lcmlog")
	require.Equal(t, 3, e.status)
	e.says(t, "good up to byte", "what there is was exported")
	n := logged(t, s.read("x.lcmlog"))
	require.Positive(t, n)
	require.Less(t, n, 20)

	require.NoError(t, os.Remove(file))
	endless(t, whole, file)
	e = s.metasim("log", dir, "--lcm", "x.lcmlog")
	require.Equal(t, 3, e.status)
	e.says(t, dir, "nothing says that the run ended there", "what there is was exported")
	require.Equal(t, 20, logged(t, s.read("x.lcmlog")))
}

// half returns the beginning of a journal up to the middle of a record. Half of its bytes may be whole records, as wall-clock times are in it: then
// nothing is damaged.
func half(whole []byte) []byte {
	for n := len(whole) / 2; ; n++ {
		r := journal.NewReader(bytes.NewReader(whole[:n]), nil)
		var err error
		for err == nil {
			_, err = r.Next()
		}
		if errors.As(err, new(*journal.TornError)) {
			return whole[:n]
		}
	}
}

// endless writes a journal again, without its end.
func endless(t *testing.T, whole []byte, file string) {
	out, err := os.Create(file)
	require.NoError(t, err)
	r, w := journal.NewReader(bytes.NewReader(whole), nil), journal.NewWriter(out)
	for {
		entry, err := r.Next()
		if errors.Is(err, io.EOF) {
			require.NoError(t, w.Close())
			return
		}
		require.NoError(t, err)
		kept := entry.Effects[:0]
		for _, e := range entry.Effects {
			if _, end := e.(*metasim.Finish); !end {
				kept = append(kept, e)
			}
		}
		require.NoError(t, w.Observe(entry.Wall, entry.Event, kept))
	}
}

// What fails leaves the file as it was.
func TestAFailedLogLeavesNothing(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", strings.ReplaceAll(pingPong, "PONG", strings.Repeat("P", 300)))
	o, e := s.run("p.yaml")
	require.Equal(t, 0, e.status)
	s.file("x.lcmlog", "as it was")
	e = s.metasim("log", o.RunDir, "--lcm", "x.lcmlog")
	require.Equal(t, 1, e.status)
	e.says(t, "has 300 bytes", "1 to 255", "shorten")
	require.Equal(t, "as it was", string(s.read("x.lcmlog")))
	require.NoFileExists(t, filepath.Join(s.dir, "x.lcmlog.partial"))
}
