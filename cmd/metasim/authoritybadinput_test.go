package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// request asks a homeserver, with headers in pairs, and returns its answer. The path is sent as it is.
func (h *homeProcess) request(t *testing.T, token, method, path, body string, headers ...string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, h.url, strings.NewReader(body))
	require.NoError(t, err)
	host := strings.TrimPrefix(h.url, "http://")
	r.URL.Opaque = "//" + host + path
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	got, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	require.NoError(t, err)
	return got.StatusCode, string(text)
}

// lists returns all that a homeserver lists.
func (h *homeProcess) lists(t *testing.T, admin string) (all []string) {
	t.Helper()
	for _, path := range []string{"/v1/accounts", "/v1/keys", "/v1/entities", "/v1/servers"} {
		status, text := h.request(t, admin, "GET", path+"?limit=1000", "")
		require.Equal(t, 200, status, text)
		all = append(all, text)
	}
	return all
}

// account makes an account, and returns its token.
func (h *homeProcess) account(t *testing.T, admin, name string) string {
	t.Helper()
	status, text := h.request(t, admin, "POST", "/v1/accounts", `{"name":"`+name+`"}`)
	require.Equal(t, 201, status, text)
	var made struct{ Token string }
	require.NoError(t, json.Unmarshal([]byte(text), &made))
	return made.Token
}

// tokenFile writes the token of an admin, and returns it with its file.
func tokenFile(t *testing.T, dir string) (token, file string) {
	t.Helper()
	token, file = "a-token-that-is-given", filepath.Join(dir, "token")
	require.NoError(t, os.WriteFile(file, []byte(token+"\n"), 0o600))
	return token, file
}

// aKey is a public key (RFC 7515, A.3).
const aKey = `{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}`

// An audited request is a line of audit.log.
type audited struct {
	Account, Method, Path string
	Status                int
	Outcome               string
	Changed               []string
}

// readAudit reads the audit log of a homeserver.
func readAudit(t *testing.T, dir string) (all []audited) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "data", "audit.log"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		all = append(all, audited{})
		require.NoError(t, json.Unmarshal([]byte(line), &all[len(all)-1]))
	}
	return all
}

// A homeserver that runs is asked for what is not allowed: each has a problem of its own, changes nothing, and has a line in audit.log that says who asked for what.
func TestAuthorityServeRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	admin, file := tokenFile(t, dir)
	h := startHome(t, dir, "--name", "home-a", "--homeserver", "home-b=nowhere.url", "--homeserver-token", "home-b=none", "--admin-token-file", file)
	tokens := map[string]string{"admin": admin, "nobody": "a-token-of-nobody"}
	for _, name := range []string{"sim-a", "sim-b", "home-b"} {
		tokens[name] = h.account(t, admin, name)
	}
	status, text := h.request(t, tokens["sim-a"], "POST", "/v1/entities", `{"id":"ball","rule":"allow"}`)
	require.Equal(t, 201, status, text)
	status, text = h.request(t, tokens["sim-b"], "PUT", "/v1/entities/ball/ownership", `{}`) // it has epoch 1 now
	require.Equal(t, 200, status, text)
	status, text = h.request(t, tokens["sim-b"], "PUT", "/v1/entities/ball/rule", `{"rule":"ask"}`)
	require.Equal(t, 403, status, text)
	before := h.lists(t, admin)
	now := time.Now().Unix()
	message := `{"kind":"request","requester":"sim-a","id":1,"entity":"ball","owner":"sim-a","epoch":1,"trail":[%s]}`
	for _, c := range []struct {
		what, as, method, path, body string
		headers                      []string
		status                       int
		problem, detail              string
	}{
		{"who is nobody", "nobody", "GET", "/v1/entities/ball", "", nil, 401, "unauthenticated", ""},
		{"a path that leaves its folder", "sim-a", "GET", "/v1/entities/..", "", nil, 400, "invalid-value", `".."`},
		{"the same, written otherwise", "sim-a", "GET", "/v1/entities/%2e%2e", "", nil, 400, "invalid-value", `".."`},
		{"a name that leaves its folder", "sim-a", "POST", "/v1/entities", `{"id":".."}`, nil, 400, "invalid-value", `".."`},
		{"a payload beyond the limit", "sim-a", "POST", "/v1/entities", `{"id":"` + strings.Repeat("a", 20_000) + `"}`, nil, 413, "body-too-large", "16384"},
		{"a list of a million nodes", "sim-a", "GET", "/v1/entities?limit=1000000", "", nil, 400, "invalid-value", "1000"},
		{"a pattern", "sim-a", "GET", "/v1/entities?pattern=/**", "", nil, 400, "unknown-parameter", "pattern"},
		{"a condition that keeps a node", "sim-a", "POST", "/v1/entities", `{"id":"box","keep":[{"path":"/entities/box"}]}`, nil, 400, "unknown-field", "keep"},
		{"a transaction", "sim-a", "POST", "/v1/transactions", `{"commands":[]}`, nil, 404, "not-found", ""},
		{"hops that end with another", "sim-a", "GET", "/v1/entities/ball", "", []string{"Metasim-Trail", "sim-a, sim-b"}, 400, "forged-trail", "sim-a sent"},
		{"hops that nobody has travelled", "sim-a", "GET", "/v1/entities/ball", "", []string{"Metasim-Trail", "sim-b, home-b, sim-a"}, 400, "forged-trail", "only homeservers"},
		{"a message that began with another", "sim-b", "POST", "/v1/messages", fmt.Sprintf(message, `"sim-a"`), nil, 400, "forged-trail", ""},
		{"a homeserver that leaves out a hop", "home-b", "POST", "/v1/messages", fmt.Sprintf(message, `"home-b"`), nil, 400, "forged-trail", ""},
		{"another instance", "sim-a", "GET", "/v1/entities/ball", "", []string{"Metasim-Instance", "west"}, 421, "other-instance", `"west"`},
		{"an old epoch, as after a partition", "sim-a", "PUT", "/v1/entities/ball/ownership", `{"epoch":0}`, nil, 409, "stale", "epoch 1"},
		{"an old version", "sim-a", "PUT", "/v1/entities/ball/rule", `{"rule":"deny"}`, []string{"If-Match", `"1"`}, 412, "precondition-failed", ""},
		{"a key of a clock that is ahead", "sim-a", "POST", "/v1/keys", fmt.Sprintf(`{"jwk":%s,"issued":%d}`, aKey, now+3600), nil, 400, "clock-skew", "300 s are allowed"},
		{"a key of a clock that is behind", "sim-a", "POST", "/v1/keys", fmt.Sprintf(`{"jwk":%s,"issued":%d}`, aKey, now-3600), nil, 400, "clock-skew", "300 s are allowed"},
		{"a key that is over", "sim-a", "POST", "/v1/keys", fmt.Sprintf(`{"jwk":%s,"valid_until":%d}`, aKey, now-10), nil, 400, "expired-key", ""},
		{"a private key", "sim-a", "POST", "/v1/keys", `{"jwk":` + strings.Replace(aKey, `"crv"`, `"d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI","crv"`, 1) + `}`, nil, 400, "private-key", ""},
		{"a rule of who is not the master", "sim-b", "PUT", "/v1/entities/ball/rule", `{"rule":"deny"}`, nil, 403, "not-master", ""},
	} {
		status, text := h.request(t, tokens[c.as], c.method, c.path, c.body, c.headers...)
		require.Equal(t, c.status, status, "%s: %s", c.what, text)
		var p struct{ Type, Detail string }
		require.NoError(t, json.Unmarshal([]byte(text), &p), c.what)
		require.Equal(t, "urn:metasim:problem:"+c.problem, p.Type, "%s: %s", c.what, p.Detail)
		require.Contains(t, p.Detail, c.detail, c.what)
		require.Equal(t, before, h.lists(t, admin), "%s has changed something", c.what)

		who := c.as
		if who == "nobody" {
			who = ""
		}
		path, _, _ := strings.Cut(strings.ReplaceAll(c.path, "%2e", "."), "?")
		log := readAudit(t, dir)
		require.Equal(t, audited{who, c.method, path, c.status, c.problem, nil}, log[len(log)-5], c.what) // four lists follow
	}
}
