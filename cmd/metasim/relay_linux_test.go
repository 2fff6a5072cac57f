package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// relay starts a relay to a server, with an address for each way to listen.
func (p *served) relay(listen ...string) (r *running, byScheme map[string]*served) {
	p.Helper()
	file := filepath.Join(p.TempDir(), "addresses")
	args := []string{"relay", p.url, "--ready-file", file}
	for _, l := range listen {
		args = append(args, "--listen", l)
	}
	r = p.stage.start(nil, args...)
	byScheme = map[string]*served{}
	for _, url := range strings.Fields(r.readyURL(file)) {
		scheme, _, _ := strings.Cut(url, ":")
		byScheme[scheme] = &served{p.running, url, p.token}
	}
	require.Len(p, byScheme, len(listen))
	return r, byScheme
}

// Clients of a host, one of them in another language, reach a far server through a relay, each with a token of its own.
func TestRelay(t *testing.T) {
	python := strings.Split(strings.ReplaceAll(pythonEcho(t), `"`, ""), ", ")
	for _, schemes := range [][2]string{{"shm", "unix"}, {"unix", "tcp"}} {
		t.Run(strings.Join(schemes[:], " "), func(t *testing.T) {
			s := raced(t)
			s.file("p.yaml", external)
			p := s.serve("p.yaml", "--transport", "quic", "--listen", "0.0.0.0:0", "--tokens", "tokens")
			tokens := strings.Fields(string(s.read("tokens"))) // pinger TOKEN ponger TOKEN
			relay, at := p.relay(schemes[:]...)
			near := at[schemes[0]]
			near.token = tokens[1]
			ping := near.pinger()
			text, status := playWith([]string{"METASIM_TOKEN=" + tokens[3]}, python, at[schemes[1]].url, "ponger", "PING", "PONG")
			require.Zero(t, status, text)
			require.Equal(t, 0, ping.wait().status)
			p.done()
			require.Equal(t, 0, relay.wait().status)
		})
	}
}

// Who dies is named: a client behind a relay, the relay, for whose clients the server waits then, the server.
func TestDeathBehindARelay(t *testing.T) {
	for who, why := range map[string]string{
		"client": `client "ponger" was lost \(its connection to the relay \S+ pid \d+ `,
		"relay":  `awaited client=pinger for=30s .*cause="the relay \S+ pid \d+ was lost: .*its process has ended`,
		"stop":   `client "pinger" was lost \(the relay \S+ pid \d+ ended: stopped by signal: terminated\)`,
		"server": `the relay \S+ pid \d+ has lost the server: .*its process has ended`,
	} {
		t.Run(who, func(t *testing.T) {
			s := raced(t)
			s.file("p.yaml", slow(external))
			p := s.serve("p.yaml", "--transport", "quic", "--out", "out")
			relay, at := p.relay("unix")
			ping, pong := at["unix"].pinger(), at["unix"].ponger()
			p.goesOn("out")
			switch who {
			case "client":
				require.NoError(t, pong.cmd.Process.Kill())
			case "relay":
				require.NoError(t, relay.cmd.Process.Kill())
				require.Eventually(t, func() bool { return regexp.MustCompile(why).MatchString(p.err.String()) }, patience/2, 5*time.Millisecond)
				require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
				for _, p := range []*running{ping, pong} { // else they wait for metasim resume
					require.NoError(t, p.cmd.Process.Kill())
				}
			case "stop":
				require.NoError(t, relay.cmd.Process.Signal(syscall.SIGTERM))
			case "server":
				require.NoError(t, p.cmd.Process.Kill())
				for _, p := range []*running{ping, pong} {
					require.Eventually(t, func() bool { return strings.Contains(p.err.String(), "lost its server at") }, patience/2, 5*time.Millisecond)
					require.NoError(t, p.cmd.Process.Kill()) // else it waits for metasim resume
				}
				s.eventually("the relay says so", func() bool {
					return regexp.MustCompile("clients wait for metasim resume.*" + why).MatchString(relay.err.String())
				})
				require.NoError(t, relay.cmd.Process.Signal(syscall.SIGTERM))
				require.Equal(t, 1, relay.wait().status)
				return
			}
			require.Regexp(t, why, p.wait().err)
			require.NotZero(t, ping.wait().status)
			require.NotZero(t, relay.wait().status)
		})
	}
}

// What cannot be done is said with what to do instead.
func TestRelayRefuses(t *testing.T) {
	s := newStage(t)
	for said, args := range map[string]string{
		"the URL of the server is empty":                         "",
		"no transport has the scheme":                            "http://x",
		"use an address such as tcp://127.0.0.1:9001":            "tcp://127.0.0.1:1 --listen tcp://0.0.0.0:0",
		"clients of this host join over unix, shm or tcp":        "tcp://127.0.0.1:1 --listen quic",
		"relay takes the address of a server, but was given":     "a b",
		"the ready file cannot be written":                       "tcp://127.0.0.1:1 --ready-file no/such/file",
		"listen at /no/such/s: ":                                 "tcp://127.0.0.1:1 --listen unix:///no/such/s",
		"does not pin the server's certificate; use quic://host": "quic://127.0.0.1:1",
	} {
		e := s.metasim(append([]string{"relay"}, strings.Fields(args)...)...)
		require.NotZero(t, e.status)
		e.says(t, said)
	}
	relay, at := (&served{&running{stage: s}, "tcp://127.0.0.1:1", "sesame"}).relay("unix")
	e := at["unix"].ponger().wait()
	require.Equal(t, 1, e.status)
	e.says(t, "cannot reach the server")
	require.NoError(t, relay.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 1, relay.wait().status)
}
