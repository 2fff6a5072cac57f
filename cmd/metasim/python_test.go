package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A client in another language, written from docs/protocol.md alone, gives the same run.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED LOUDLY: there is no python3, so no client in another language was tried")
	}
	peer, err := filepath.Abs("../../wire/testdata/client.py")
	require.NoError(t, err)
	s := newStage(t)
	s.file("c.yaml", strings.NewReplacer(`"BIN", "PING"`, `"`+python+`", "`+peer+`", "echo", "PING"`).
		Replace(withCommand("metasim PING PONG", "")))
	for _, transport := range []string{"mem", "unix", "tcp"} { // the standard library of Python has no QUIC
		o, e := s.run("c.yaml", "--transport", transport)
		require.Equal(t, 0, e.status)
		require.Equal(t, pingPongDigest, o.Digest)
		require.Equal(t, 10, o.Clients[1].Sent)
		e = s.metasim("replay", o.RunDir, "--client", "ponger")
		require.Equal(t, 0, e.status, "it cannot tell a replay from the run")
	}
	s.clean()
}
