package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// slow is ping-pong that takes 5.5 s of real time, and never gives a host up.
func slow(clients string) string {
	return strings.Replace(clients, "seed: 1", "seed: 1\nrate: 0.1\npeer_timeout: off", 1)
}

// goesOn waits until a served run has begun to exchange messages.
func (p *served) goesOn(out string) {
	p.Helper()
	require.Eventually(p, func() bool {
		info, err := os.Stat(filepath.Join(p.dir, out, "journal"))
		return err == nil && info.Size() > 400
	}, patience/2, 5*time.Millisecond)
}

// A client that is killed is noticed, for the reason that is its own, though no host is ever given up here and nobody waits for the process.
func TestDeathIsKnown(t *testing.T) {
	for transport, why := range map[string]string{
		"unix": "closed", "tcp": "closed", "tls": "closed", "shm": "closed", "quic": "its process has ended: it was silent, and its host says that no process has its port any more",
	} {
		t.Run(transport, func(t *testing.T) {
			s := newStage(t)
			s.file("p.yaml", slow(external))
			p := s.serve("p.yaml", "--transport", transport, "--out", "out")
			ping, pong := p.pinger(), p.ponger()
			p.goesOn("out")
			require.NoError(t, pong.cmd.Process.Kill())
			killed := time.Now()
			e := p.wait()
			t.Logf("the run had ended %v after the kill", time.Since(killed))
			require.Equal(t, 1, e.status)
			require.Regexp(t, `client "ponger" was lost \([^)]*`+why, e.err)
			require.Equal(t, 1, ping.wait().status)
			require.Equal(t, -1, pong.wait().status)
		})
	}
}

// A client that stands still for longer than any patience of the server but peer_timeout goes on afterwards, as if nothing had been.
func TestStandsStill(t *testing.T) {
	const still = 11 * time.Second // server.outboxTime is ten seconds, and all others are shorter
	for _, transport := range []string{"unix", "tcp", "tls", "shm", "quic"} {
		t.Run(transport, func(t *testing.T) {
			s := newStage(t)
			s.file("p.yaml", slow(external))
			p := s.serve("p.yaml", "--transport", transport, "--out", "out")
			ping, pong := p.pinger(), p.ponger()
			p.goesOn("out")
			require.NoError(t, pong.cmd.Process.Signal(syscall.SIGSTOP))
			<-time.After(still) // the stop is what is tested: nothing tells that all patience is over
			require.NoError(t, pong.cmd.Process.Signal(syscall.SIGCONT))
			require.Equal(t, 0, ping.wait().status)
			require.Equal(t, 0, pong.wait().status)
			p.done()
		})
	}
}
