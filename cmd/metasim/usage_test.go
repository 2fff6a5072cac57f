package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const pingPong = `name: ping-pong
seed: 1
clients:
  - {name: pinger, model: ping, with: {rounds: 10, out: PING, in: PONG}}
  - {name: ponger, model: echo, with: {in: PING, out: PONG}}
links:
  - {from: pinger, to: ponger, delay: 5ms}
  - {from: ponger, to: pinger, delay: 50ms}
`

// The digest of ping-pong, whoever runs it, however.
const pingPongDigest = "a1090f62b1151f789e1f57d4029e242140b120635a0af1604b1074c20a3c7483"

func TestUsage(t *testing.T) {
	s := newStage(t)
	file := s.file("p.yaml", pingPong)
	require.NoError(t, os.Mkdir(filepath.Join(s.dir, "full"), 0o755))
	s.file("full/x", "")
	for _, c := range []struct {
		args   string
		status int
		says   []string
	}{
		{"rn", 2, []string{`no command "rn"`, "did you mean run?"}},
		{"xyzzy", 2, []string{`no command "xyzzy"`, "metasim --help"}},
		{"--bogus", 2, []string{"--bogus", "metasim --help"}},
		{"run", 2, []string{"one scenario file, but was given none", "metasim run --help"}},
		{"run a b", 2, []string{`one scenario file, but was given ["a" "b"]`}},
		{"run --bogus p.yaml", 2, []string{"--bogus", "metasim run --help"}},
		{"run nofile.yaml", 2, []string{"nofile.yaml", "no such file"}},
		{"run .", 2, []string{"is a directory"}},
		{"run p.yaml --transport udp", 2, []string{`"udp"`, "mem, unix, tcp, tls, quic"}},
		{"run p.yaml --set foo=1", 2, []string{"--set", `"foo" is unknown`}},
		{"run p.yaml --seed abc", 2, []string{"--seed", `"abc"`}},
		{"run p.yaml --until -1s", 2, []string{"--until", `"-1s"`}},
		{"run p.yaml --out full", 1, []string{"full is not empty", "name another"}},
		{"run p.yaml --out p.yaml", 1, []string{"p.yaml"}},
		{"run p.yaml --ready-file r", 2, []string{"--ready-file", "clients from outside"}},
		{"run p.yaml --listen x", 2, []string{"--listen", "clients from outside"}},
		{"run p.yaml --transport tcp --listen nonsense", 1, []string{"clients cannot join", "host"}},
		{"serve p.yaml --listen tcp://127.0.0.1:0", 1, []string{"clients cannot join: tcp://127.0.0.1:0 names a transport: use --transport tcp --listen 127.0.0.1:0"}},
		{"run p.yaml --transport unix --listen no/such/dir", 1, []string{"clients cannot join", "directory"}},
		{"serve p.yaml --transport mem", 2, []string{"transport mem", "unix, tcp, tls, quic, shm"}},
		{"verify", 2, []string{"one file, of a scenario or of a world"}},
		{"verify p.yaml --runs 1", 2, []string{"--runs 1", "at least 2"}},
		{"verify p.yaml --runs x", 2, []string{`"x"`, "--runs", "metasim verify --help"}},
		{"log", 2, []string{"one run directory"}},
		{"log nodir", 2, []string{"nodir is no run"}},
		{"log full", 2, []string{"full is no run"}},
		{"client", 2, []string{"no model is named"}},
		{"client ping pong", 2, []string{`client takes one model, but was given ["ping" "pong"]`}},
		{"bench --quick x", 2, []string{"takes no arguments"}},
		{"run p.yaml --allow-outside false", 2, []string{"one scenario file", "if false is the value of --allow-outside, write it behind an equals sign, as in --allow-outside=false"}},
		{"follower demo --sync false", 2, []string{"takes no arguments", `"false"`, "as in --sync=false"}},
		{"follower demo --sync false --json", 2, []string{"takes no arguments", "if false is the value of --json or --sync, write it behind an equals sign"}},
		{"logs", 2, []string{"logs takes a run directory, and a client or none, but was given none; see metasim logs --help"}},
		{"logs a b c", 2, []string{`was given ["a" "b" "c"]`}},
		{"client pong", 2, []string{`"pong"`, "metasim client --help"}},
		{"client sink", 2, []string{"no name", "METASIM_CLIENT"}},
		{"client sink --name a", 2, []string{"no server", "METASIM_SERVER"}},
		{"client sink --name a --server foo", 2, []string{"channels is missing"}},
		{"client sink --name a --server foo --with channels=[A]", 1, []string{`"foo"`, "unix://"}},
		{"client sink --name a --server unix:///no/s --with channels=[A]", 1, []string{"nobody listens", "start the server"}},
		{"client sink --name a --server tcp://127.0.0.1:1 --with channels=[A]", 1, []string{"nobody listens"}},
		{"client sink --name a --server foo --with channels", 2, []string{"name=value"}},
		{"version x", 2, []string{"takes no arguments"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			sub := *s
			sub.T = t
			e := sub.metasim(strings.Fields(c.args)...)
			require.Equal(t, c.status, e.status)
			require.Empty(t, e.out, "stdout is for results")
			e.says(t, c.says...)
		})
	}
	s.clean()
	require.FileExists(t, filepath.Join(s.dir, file))
}

// Whoever asks for JSON gets one object, also where nothing was run.
func TestUsageJSON(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	s.file("bad.yaml", "name: bad\nsead: 1\nclients: []\n")
	require.NoError(t, os.Mkdir(filepath.Join(s.dir, "full"), 0o755))
	s.file("full/x", "")
	for args, status := range map[string]int{
		"run bad.yaml --json":                2,
		"run nofile.yaml --json":             2,
		"run --json p.yaml --transport udp":  2,
		"run p.yaml --json --out full":       1,
		"serve bad.yaml --json":              2,
		"run p.yaml --json --set rounds=foo": 2,
	} {
		e := s.metasim(strings.Fields(args)...)
		require.Equal(t, status, e.status, args)
		var out map[string]any
		e.object(t, &out)
		require.Equal(t, false, out["ok"])
		require.NotEmpty(t, out["error"])
		require.NotNil(t, out["clients"])
		require.Contains(t, e.err, strings.Split(out["error"].(string), "\n")[0], "people are told, too")
	}
}

func TestHelp(t *testing.T) {
	s := newStage(t)
	commands := []string{"run", "serve", "client", "validate", "schema", "log", "verify", "version"}
	e := s.metasim()
	require.Equal(t, 0, e.status)
	for _, c := range commands {
		require.Contains(t, e.out, "  "+c+" ")
		help := s.metasim(c, "--help")
		require.Equal(t, 0, help.status)
		require.Contains(t, help.out, "Usage:\n  metasim "+c)
		require.NotContains(t, help.out, " string ", "flags name what they take")
	}
	require.Contains(t, s.metasim("client", "--help").out, "phold")
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		e := s.metasim("completion", shell)
		require.Equal(t, 0, e.status)
		require.Contains(t, e.out, "metasim")
	}
	version := s.metasim("version")
	require.Regexp(t, `^metasim \d+\.\d+\.\d+`, version.out)
	require.Equal(t, version.out, s.metasim("--version").out)
	schema := s.metasim("schema")
	var v map[string]any
	schema.object(t, &v)
	require.Contains(t, v, "properties")
}
