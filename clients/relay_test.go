package clients_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/shortdir"
	"metasim/relay"
	"metasim/run"
	"metasim/scenarios"
	"metasim/wire/transport/all"
)

// Clients in C and Python reach a QUIC server through a relay, over each transport that they have, and the run is that of built-in models.
func TestThroughARelay(t *testing.T) {
	const text = "name: x\nuntil: 50ms\nclients:\n  - {name: a, A}\n  - {name: b, B}\n  - {name: c, model: sink, with: {channels: [Y]}}\nlinks: [{delay: 1ms}]\n"
	want := carryOut(t, written(text, map[string]string{"A}": "model: source, with: {channel: X, period: 100us}}", "B}": "model: echo, with: {in: X, out: Y}}"}, nil), "mem")
	source := compile(t, nil, "c/examples/source.c", object(t, nil))
	t.Setenv("TMPDIR", shortdir.Make(t))
	library, err := filepath.Abs("python")
	require.NoError(t, err)
	t.Setenv("PYTHONPATH", library)
	echo := []string{python(t), "-B", "python/examples/echo.py", "X", "Y"}
	sc, _, err := scenarios.Parse("x.metasim.yaml", []byte(written(text, map[string]string{"A}": "external: true}", "B}": "external: true}"}, nil)), scenarios.Overrides{})
	require.NoError(t, err)
	for _, schemes := range [][2]string{{"unix", "tcp"}, {"shm", "shm"}} {
		o := run.Options{Out: filepath.Join(t.TempDir(), "run"), Transport: "quic"}
		o.Self = []string{os.Args[0]}
		ends := make(chan error, 3)
		o.Ready = func(url, token, _ string) error {
			r := relay.New(relay.Config{Name: "host-1", Server: url, Dial: all.Table().DialAs})
			for i, command := range [][]string{{source, "X", "100000"}, echo} {
				l, err := all.Table().Listen(schemes[i], "")
				if err != nil {
					return err
				}
				go func() { _ = r.Accept(l) }()
				cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
				cmd.Env = append(os.Environ(), "METASIM_SERVER="+l.URL(), "METASIM_CLIENT="+[]string{"a", "b"}[i], "METASIM_TOKEN="+token)
				cmd.Stderr = os.Stderr
				go func() { ends <- cmd.Run() }()
			}
			go func() { ends <- r.Serve(context.WithoutCancel(t.Context())) }()
			return nil
		}
		out, err := run.Scenario(t.Context(), sc, o)
		require.NoError(t, err)
		require.True(t, out.OK, out.Error)
		for range cap(ends) {
			require.NoError(t, <-ends)
		}
		require.Equal(t, want, outcome{out.Digest, out.SendsDigest, out.ResultsDigest})
	}
}
