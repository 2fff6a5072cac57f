package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A page for other hosts is one of TLS with a password. What the run prints, shows and leaves has neither the password nor the join token
// in it, and metasim itself asks with the pin of the address.
func TestPageOutside(t *testing.T) {
	s := raced(t)
	flag := filepath.Join(s.dir, "here")
	s.file("c.yaml", withCommand("stuck PING PONG", "", flag))
	p := s.start([]string{"METASIM_TOKEN=sesame-and-more"}, "run", "c.yaml", "--out", "out", "--http", "0.0.0.0:0", "--http-outside", "--report")
	p.appears(flag)
	_, line, _ := strings.Cut(p.err.String(), "live: ")
	page, where, _ := strings.Cut(line, " (the password is in ")
	file, _, found := strings.Cut(where, ")")
	require.True(t, found, p.err.String())
	u, err := url.Parse(page)
	require.NoError(t, err)
	require.Equal(t, "https", u.Scheme)
	require.Empty(t, u.Fragment)
	u.Host = "127.0.0.1:" + u.Port()
	password := strings.TrimSpace(string(s.read(file)))
	require.Len(t, password, 26)
	info, err := os.Stat(filepath.Join(s.dir, file))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())

	e := s.metasim("why", "--http", u.String())
	require.Equal(t, 1, e.status)
	e.says(t, "log in on the page first")
	why := s.start([]string{"METASIM_HTTP_TOKEN=" + password}, "why", "--http", u.String()).wait()
	require.Equal(t, 0, why.status, why.err)
	wrong := strings.Replace(u.String(), "sha256="+u.Query().Get("sha256"), "sha256="+strings.Repeat("0", 64), 1)
	e = s.start([]string{"METASIM_HTTP_TOKEN=" + password}, "why", "--http", wrong).wait()
	require.Equal(t, 1, e.status)
	require.Contains(t, e.err, "the URL pins")

	secrets := []string{password, "sesame-and-more"}
	arguments := everyArgument(t)
	require.Contains(t, arguments, "--http-outside", "metasim itself is among them")
	for _, secret := range secrets {
		require.NotContains(t, arguments, secret)
	}
	require.Equal(t, 0, s.start([]string{"METASIM_HTTP_TOKEN=" + password}, "ctl", "quit", "--http", u.String()).wait().status)
	e = p.wait()
	require.NoFileExists(t, filepath.Join(s.dir, file), "it is worth nothing any more")
	require.NotContains(t, e.err+e.out, password)
	s.keepsSecret("out", secrets...)
}

// everyArgument returns the arguments of all processes, as ps shows them to everybody.
func everyArgument(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var all strings.Builder
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil { // otherwise the process has ended
			all.Write(bytes.ReplaceAll(text, []byte{0}, []byte{' '}))
			all.WriteByte('\n')
		}
	}
	return all.String()
}

// keepsSecret fails if a file below a directory has one of the secrets in it, as it is.
func (s *stage) keepsSecret(dir string, secrets ...string) {
	s.Helper()
	files := 0
	require.NoError(s, filepath.WalkDir(filepath.Join(s.dir, dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		for _, secret := range secrets {
			require.False(s, bytes.Contains(text, []byte(secret)), "%s has a secret in it", path)
		}
		return err
	}))
	require.Positive(s, files)
}

// Another user of the host can neither read a run, nor join it, nor command it: what lies around is this user's alone.
func TestAnotherUser(t *testing.T) {
	setpriv, err := exec.LookPath("setpriv")
	const python = "/usr/bin/python3" // one that another user may start
	if _, e := os.Stat(python); os.Getuid() != 0 || err != nil || e != nil {
		t.Skip("SKIPPED LOUDLY: only root, with setpriv and " + python + ", can be another user")
	}
	s := newStage(t)
	for _, dir := range []string{s.dir, filepath.Dir(s.dir), s.temp} {
		require.NoError(t, os.Chmod(dir, 0o755)) // so that what lies in them protects itself
	}
	s.file("p.yaml", external)
	p := s.serve("p.yaml", "--out", "out", "--http", ":0")
	live := s.read("out/live.json")
	as := func(script string, args ...string) string {
		cmd := exec.Command(setpriv, append([]string{"--reuid", "65534", "--regid", "65534", "--clear-groups", python, "-c", script}, args...)...)
		cmd.Dir = "/"
		out, err := cmd.CombinedOutput()
		require.Error(t, err, "another user may: %s", out)
		return string(out)
	}
	const connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
	require.Contains(t, as("import os, sys; os.listdir(sys.argv[1])", filepath.Join(s.dir, "out")), "PermissionError")
	require.Contains(t, as("import sys; open(sys.argv[1])", filepath.Join(s.dir, "out", "manifest.json")), "PermissionError")
	u, err := url.Parse(p.url)
	require.NoError(t, err)
	require.Contains(t, as(connect, u.Path), "PermissionError")
	var address struct{ Socket, HTTP string }
	require.NoError(t, json.Unmarshal(live, &address))
	require.Contains(t, as(connect, address.Socket), "PermissionError")
	const quit = "import sys, urllib.request; urllib.request.urlopen(urllib.request.Request(sys.argv[1] + 'ctl/quit', method='POST'))"
	require.Contains(t, as(quit, address.HTTP), "401")
	require.NoError(t, filepath.WalkDir(filepath.Join(s.dir, "out"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s is not this user's alone", path)
		return nil
	}))
	ping, pong := p.pinger(), p.ponger()
	require.Equal(t, 0, ping.wait().status)
	require.Equal(t, 0, pong.wait().status)
	p.done()
}

// Where other hosts can join each client has a token of its own, in a file of this user: good for its name, and for one join. Nothing that the run prints,
// shows or leaves has one of them in it.
func TestOwnTokens(t *testing.T) {
	for _, transport := range []string{"quic", "tls"} {
		t.Run(transport, func(t *testing.T) { ownTokens(t, transport) })
	}
}

func ownTokens(t *testing.T, transport string) {
	s := newStage(t)
	s.file("p.yaml", external)
	r := s.start([]string{"METASIM_TOKEN="}, "serve", "p.yaml", "--json", "--verbose", "--report", "--out", "out", "--transport", transport, "--listen", "0.0.0.0:0", "--ready-file", "r")
	p := &served{r, r.readyURL("r"), ""}
	info, err := os.Stat(filepath.Join(s.dir, "out", "tokens"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	tokens := map[string]string{}
	for line := range strings.Lines(string(s.read("out/tokens"))) {
		name, token, _ := strings.Cut(strings.TrimSpace(line), " ")
		tokens[name] = token
	}
	require.Len(t, tokens, 2)
	refused := func(token, why string) {
		t.Helper()
		p.token = token
		e := p.pinger().wait()
		require.Equal(t, 1, e.status)
		require.Contains(t, e.err, why)
	}
	refused(tokens["ponger"], `client "pinger" has not its own join token`)
	if transport == "quic" {
		refused("guessed", "certificate, which follows from its join token; give METASIM_TOKEN")
		refused("", "certificate, which follows from its join token; give METASIM_TOKEN")
	} else {
		refused("guessed", `client "pinger" has not its own join token`)
	}
	p.token = tokens["pinger"]
	ping := p.pinger()
	require.Eventually(t, func() bool { return strings.Contains(p.err.String(), "client=pinger") }, patience/2, 5*time.Millisecond, &p.err)
	refused(tokens["pinger"], `the join token of client "pinger" has been used`)
	p.token = tokens["ponger"]
	pong := p.ponger()
	require.Equal(t, 0, ping.wait().status)
	require.Equal(t, 0, pong.wait().status)
	p.done()
	for _, token := range tokens {
		require.NotContains(t, p.out.String()+p.err.String(), token)
		s.keepsSecret("out", token)
	}
	require.NoFileExists(t, filepath.Join(s.dir, "out", "tokens"))
}
