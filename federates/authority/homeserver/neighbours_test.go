package homeserver

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/home"
)

const aKey = `{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}`

// newPair are two homeservers that know each other, and send to each other until the test ends.
func newPair(t *testing.T) (a, b *stage) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	stageOf := func(name, other string) *stage {
		return newStage(t, func(c *config) {
			c.Home = home.Config{Instance: "east", Name: name, Path: []string{other}}
			c.Neighbours = map[string]Neighbour{other: {At: file(other + ".url"), TokenFile: file(name + ".token")}}
		})
	}
	a, b = stageOf("home-a", "home-b"), stageOf("home-b", "home-a")
	for _, s := range []struct {
		*stage
		name, other string
	}{{a, "home-a", "home-b"}, {b, "home-b", "home-a"}} {
		require.NoError(t, os.WriteFile(file(s.name+".url"), []byte(s.url+"\n"), 0o600))
		require.NoError(t, os.WriteFile(file(s.other+".token"), []byte(s.account(s.other)+"\n"), 0o600))
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{}, 2)
	for _, s := range []*stage{a, b} {
		go func() { s.sendAll(ctx); ended <- struct{}{} }()
	}
	t.Cleanup(func() { cancel(); <-ended; <-ended })
	return a, b
}

func (s *stage) account(name string) (token string) {
	status, _, body := s.ask("POST", "/v1/accounts", adminToken, `{"name":"`+name+`"}`)
	require.Equal(s, 201, status)
	var made struct{ Token string }
	require.NoError(s, json.Unmarshal([]byte(body), &made))
	return made.Token
}

// A request goes to the homeserver that keeps the entity, and what that one says comes back; who waits for mail is woken by it. What is only read is asked of the
// other homeserver too.
func TestHomeserversPassOn(t *testing.T) {
	a, b := newPair(t)
	simA, simB := a.account("sim-a"), b.account("sim-b")
	status, _, _ := a.ask("PUT", "/v1/servers/sim-a", simA, `{"url":"quic://x:1","jwk":`+aKey+`}`)
	require.Equal(t, 200, status)
	status, _, _ = b.ask("PUT", "/v1/servers/sim-b", simB, `{"url":"quic://x:2","jwk":`+aKey+`}`)
	require.Equal(t, 200, status)
	status, _, body := b.ask("POST", "/v1/entities", simB, `{"id":"ball","owner":"sim-a"}`)
	require.Equal(t, 201, status, body)

	for path, want := range map[string]string{"/v1/entities/ball/ownership": `"owner":"sim-a"`, "/v1/servers/sim-b": `"url":"quic://x:2"`} {
		status, _, body = a.ask("GET", path, simA, "")
		require.Equal(t, 200, status)
		require.Contains(t, body, want)
	}
	require.Contains(t, b.audit.String(), `"account":"home-a","address":"127.0.0.1","method":"GET","path":"/v1/servers/sim-b","trail":["sim-a","home-a"]`)
	status, _, _ = a.ask("GET", "/v1/entities/none", simA, "")
	require.Equal(t, 404, status)

	got := make(chan string, 1)
	go func() {
		_, _, mail := a.ask("GET", "/v1/mail?wait=20", simA, "")
		got <- mail
	}()
	status, _, body = a.ask("POST", "/v1/messages", simA, `{"kind":"request","requester":"sim-a","id":1,"entity":"ball","owner":"sim-b","epoch":0,"trail":["sim-a"]}`)
	require.Equal(t, 204, status, body)
	select {
	case mail := <-got:
		require.Contains(t, mail, `"kind":"grant"`)
		require.Contains(t, mail, `"trail":["home-b","home-a"]`)
	case <-time.After(15 * time.Second):
		t.Fatal("nobody was woken")
	}
	// What home-b says travels beside its answer to home-a, so sim-a may have it before home-b has written the line.
	line := `"message":{"kind":"request","requester":"sim-a","id":1,"entity":"ball","owner":"sim-b","hops":2}`
	require.Eventually(t, func() bool { return strings.Contains(b.audit.String(), line) }, time.Minute, time.Millisecond)
}

// Where the other homeserver does not answer, who reads is told so, and what is to be sent waits.
func TestAnotherHomeserverIsAway(t *testing.T) {
	dir := t.TempDir()
	s := newStage(t, func(c *config) {
		c.Home = home.Config{Instance: "east", Name: "home-a", Path: []string{"home-b"}}
		c.Neighbours = map[string]Neighbour{"home-b": {At: filepath.Join(dir, "url"), TokenFile: filepath.Join(dir, "token")}}
	})
	token := s.account("sim-a")
	status, _, body := s.ask("GET", "/v1/servers/sim-b", token, "")
	require.Equal(t, 502, status)
	require.Contains(t, body, "homeserver-unreachable")
	status, _, _ = s.ask("POST", "/v1/messages", token, `{"kind":"request","requester":"sim-a","id":1,"entity":"ball","owner":"sim-a","epoch":0,"trail":["sim-a"]}`)
	require.Equal(t, 204, status)
	sent, err := s.sendTo(t.Context(), "home-b")
	require.Error(t, err)
	require.False(t, sent)
}
