package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A person gives, takes, answers and rules with the commands that ask a homeserver, and what is refused is said with its reason.
func TestAuthorityAsk(t *testing.T) {
	s := newStage(t)
	admin, file := tokenFile(t, s.dir)
	h := startHome(t, s.dir, "--admin-token-file", file)
	for _, name := range []string{"boss", "sim-a", "sim-b"} {
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, name), []byte(h.account(t, admin, name)+"\n"), 0o600))
	}
	ask := func(as string, words ...string) ending {
		return s.metasim(append([]string{"authority"}, append(words, "--home", "url", "--home-token-file", as)...)...)
	}
	status, text := h.request(t, admin, "POST", "/v1/entities", `{"id":"ball","owner":"sim-a","master":"boss","rule":"allow"}`)
	require.Equal(t, 201, status, text)

	for _, c := range []struct {
		as, words, out, err string
		status              int
	}{
		{"sim-a", "give ball sim-b", "sim-b owns ball (epoch 1)", "", 0},
		{"sim-a", "give ball sim-b", "", "sim-b owns", 1}, // it is there already
		{"sim-a", "give ball boss", "", "not-owner", 1},   // it has given it away
		{"sim-b", "give ball sim-x", "", "unknown-account", 1},
		{"sim-a", "give box sim-b", "", "unknown-entity", 1},
		{"sim-a", "take ball", "sim-a owns ball (epoch 2)", "", 0},
		{"sim-a", "take ball", "", "owned", 1},
		{"sim-a", "rule ball deny", "", "not-master", 1},
		{"boss", "rule ball often", "", "no-rule", 1},
		{"boss", "rule ball deny", "the rule of ball is deny", "", 0},
		{"sim-b", "take ball", "", "denied", 1},
		{"sim-a", "give ball sim-b", "", "denied", 1},
		{"boss", "answer ball yes", "", "nobody waits for the master of ball", 1},
		{"boss", "answer ball maybe", "", `the answer is "maybe"; say yes or no`, 2},
		{"boss", "rule ball ask", "the rule of ball is ask", "", 0},
		{"sim-b", "take ball --no-wait", "request 1 waits for the master of ball", "", 0},
		{"sim-b", "answer ball yes", "", "not-master", 1},
		{"boss", "answer ball no", "request 1 of sim-b, that sim-b owns ball, is refused", "", 0},
		{"boss", "answer ball yes", "", "nobody waits", 1},
		{"boss", "take ball", "boss owns ball (epoch 3)", "", 0}, // no rule binds the master
		{"boss", "list ball", "ball    boss   boss    ask   3", "", 0},
	} {
		e := ask(c.as, strings.Fields(c.words)...)
		require.Equal(t, c.status, e.status, "%s as %s: %s", c.words, c.as, e.err)
		require.Contains(t, e.out, c.out, c.words)
		require.Contains(t, e.err, c.err, "%s as %s", c.words, c.as)
	}

	// Who takes waits until the master has answered.
	for _, c := range []struct {
		to, answer, status string
		ends               int
	}{{"sim-a", "yes", "granted", 0}, {"sim-b", "no", "refused", 1}} {
		p := s.start(nil, "authority", "take", "ball", "--home", "url", "--home-token-file", c.to, "--json")
		s.eventually("it waits", func() bool { return strings.Contains(p.err.String(), "waits for the master of ball") })
		e := ask("boss", "answer", "ball", c.answer, "--json")
		require.Zero(t, e.status, e.err)
		var asked struct{ Requester, Status string }
		e.object(t, &asked)
		require.Equal(t, c.to, asked.Requester)
		got := p.wait()
		got.object(t, &asked)
		require.Equal(t, c.status, asked.Status)
		require.Equal(t, c.ends, got.status)
	}
	require.Contains(t, ask("boss", "list", "ball").out, "ball    sim-a  boss    ask   4")
}
