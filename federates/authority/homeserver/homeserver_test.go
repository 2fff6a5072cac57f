package homeserver

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/home"
	"metasim/federates/authority/store"
	"metasim/federates/authority/tree"
	"metasim/wire/transport/secure"
)

const adminToken = "0123456789abcdef"

// A stage is a homeserver over a store in memory, with a clock that stands until a test moves it.
type stage struct {
	*testing.T
	*server
	url   string
	now   time.Time
	audit *lines
}

// lines is what was written, by any goroutine.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newStage(t *testing.T, change func(*config)) *stage {
	kept, err := store.Open(t.Context(), store.NewMemory().Open(), store.Config{Instance: "east", Kind: "homeserver", Name: "one"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, kept.Close()) })
	s := &stage{T: t, now: time.Unix(1000, 0), audit: &lines{}}
	drawn, mu := 0, sync.Mutex{}
	cfg := config{
		Home: home.Config{Instance: "east"}, Store: kept, Audit: s.audit, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return s.now },
		Draw: func() string {
			mu.Lock()
			defer mu.Unlock()
			drawn++
			return "token-of-the-test-" + strconv.Itoa(drawn)
		},
	}
	change(&cfg)
	cfg.Home.Key, err = openKey(filepath.Join(t.TempDir(), keyFile))
	require.NoError(t, err)
	s.server, err = newServer(cfg)
	require.NoError(t, err)
	token, err := s.Begin(t.Context(), adminToken)
	require.NoError(t, err)
	require.Empty(t, token, "it was given")
	server := httptest.NewServer(s.server)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// ask sends a request, and returns its status, its header and its body. Headers are pairs.
func (s *stage) ask(method, path, token, body string, headers ...string) (int, http.Header, string) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(s, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	got, err := http.DefaultClient.Do(r)
	require.NoError(s, err)
	defer func() { require.NoError(s, got.Body.Close()) }()
	text, err := io.ReadAll(got.Body)
	require.NoError(s, err)
	return got.StatusCode, got.Header, string(text)
}

// What HTTP has reaches the core, and what the core answers reaches HTTP.
func TestRequestsAndAnswers(t *testing.T) {
	s := newStage(t, func(*config) {})
	status, header, body := s.ask("POST", "/v1/accounts", adminToken, `{"name":"sim-a"}`)
	require.Equal(t, 201, status)
	require.Equal(t, "/v1/accounts/sim-a", header.Get("Location"))
	require.Equal(t, `"1"`, header.Get("ETag"))
	require.Equal(t, "no-store", header.Get("Cache-Control"))
	var made struct{ Token string }
	require.NoError(t, json.Unmarshal([]byte(body), &made))

	status, header, _ = s.ask("GET", "/v1/accounts", "", "")
	require.Equal(t, 401, status)
	require.Equal(t, "Bearer", header.Get("WWW-Authenticate"))
	require.Equal(t, "application/problem+json", header.Get("Content-Type"))
	status, header, _ = s.ask("PUT", "/v1/accounts", made.Token, "")
	require.Equal(t, 405, status)
	require.Equal(t, "GET, POST", header.Get("Allow"))
	status, _, body = s.ask("GET", "/v1/accounts?limit=1&after=admin", made.Token, "")
	require.Equal(t, 200, status)
	require.Contains(t, body, `"name":"sim-a"`)
	status, _, _ = s.ask("GET", "/v1/accounts/sim-a", made.Token, "", "If-None-Match", `"1"`)
	require.Equal(t, 304, status)
	status, _, body = s.ask("GET", "/v1/accounts/sim-a", made.Token, "", "Metasim-Instance", "west")
	require.Equal(t, 421, status, body)
	status, _, body = s.ask("GET", "/v1/accounts/sim-a", made.Token, "", "Metasim-Trail", "sim-a, sim-b")
	require.Equal(t, 400, status)
	require.Contains(t, body, "forged-trail")
	status, _, _ = s.ask("GET", "/v1/accounts/sim-a", made.Token, "", "Metasim-Trail", "sim-a")
	require.Equal(t, 200, status)
	status, _, body = s.ask("GET", "/v1/accounts/sim-a", made.Token, "", "Metasim-Trail", "sim-b, sim-a")
	require.Equal(t, 400, status, body)
	status, _, body = s.ask("POST", "/v1/entities", made.Token, `{"id":"`+strings.Repeat("a", home.MaxBody)+`"}`)
	require.Equal(t, 413, status, body)
	status, _, _ = s.ask("GET", "/v1/entities/a%2Fb", made.Token, "")
	require.Equal(t, 404, status)
	status, _, body = s.ask("GET", "/openapi.json", "", "")
	require.Equal(t, 200, status)
	require.True(t, json.Valid([]byte(body)))
	status, _, body = s.ask("GET", "/healthz", "", "")
	require.Equal(t, 200, status)
	require.Equal(t, "ok\n", body)

	audit := s.audit.String()
	require.NotContains(t, audit, made.Token)
	require.NotContains(t, audit, adminToken)
	require.Contains(t, audit, `{"time_ns":1000000000000,"account":"admin","address":"127.0.0.1","method":"POST","path":"/v1/accounts","status":201,"outcome":"ok","changed":["/accounts/sim-a"]}`)
	require.Contains(t, audit, `"trail":["sim-a","sim-b"],"status":400,"outcome":"forged-trail"`)
}

// Of many who ask for the same entity at once, one after the other has it: each has an epoch of its own.
func TestManyAtOnce(t *testing.T) {
	s := newStage(t, func(c *config) { c.Rate = 1e6 })
	status, _, _ := s.ask("POST", "/v1/entities", adminToken, `{"id":"ball"}`)
	require.Equal(t, 201, status)
	const many = 8
	var wait sync.WaitGroup
	epochs := make(chan int, many*4)
	for i := range many {
		_, _, body := s.ask("POST", "/v1/accounts", adminToken, `{"name":"sim-`+strconv.Itoa(i)+`"}`)
		var made struct{ Token string }
		require.NoError(t, json.Unmarshal([]byte(body), &made))
		wait.Go(func() {
			for range 4 {
				status, _, body := s.ask("PUT", "/v1/entities/ball/ownership", made.Token, `{"owner":"sim-`+strconv.Itoa(i)+`"}`)
				var got struct{ Epoch int }
				if json.Unmarshal([]byte(body), &got) == nil && status == 200 {
					epochs <- got.Epoch
				}
			}
		})
	}
	wait.Wait()
	close(epochs)
	seen := map[int]bool{}
	for e := range epochs {
		require.False(t, seen[e], "two owners in one epoch")
		seen[e] = true
	}
	var last struct{ Epoch int }
	_, _, body := s.ask("GET", "/v1/entities/ball/ownership", adminToken, "")
	require.NoError(t, json.Unmarshal([]byte(body), &last))
	require.Len(t, seen, last.Epoch)
}

// Who asks too often waits, and others do not because of it.
func TestRates(t *testing.T) {
	s := newStage(t, func(c *config) { c.Rate = 2 })
	_, _, body := s.ask("POST", "/v1/accounts", adminToken, `{"name":"sim-a"}`)
	var made struct{ Token string }
	require.NoError(t, json.Unmarshal([]byte(body), &made))
	for range 4 {
		status, _, _ := s.ask("GET", "/v1/accounts", made.Token, "")
		require.Equal(t, 200, status)
	}
	status, header, body := s.ask("GET", "/v1/accounts", made.Token, "")
	require.Equal(t, 429, status)
	require.Equal(t, "1", header.Get("Retry-After"))
	require.Contains(t, body, "account sim-a sends too many")
	status, _, _ = s.ask("GET", "/v1/accounts", adminToken, "")
	require.Equal(t, 200, status)
	s.now = s.now.Add(time.Second)
	status, _, _ = s.ask("GET", "/v1/accounts", made.Token, "")
	require.Equal(t, 200, status)
	for range 60 {
		status, _, body = s.ask("GET", "/v1/accounts", "", "")
	}
	require.Equal(t, 429, status)
	require.Contains(t, body, "address 127.0.0.1")
	status, _, _ = s.ask("GET", "/healthz", "", "")
	require.Equal(t, 429, status, "it asks the store, for anybody")
}

// A store that does not answer is told as that, and nothing is half done.
func TestStoreThatIsGone(t *testing.T) {
	s := newStage(t, func(*config) {})
	require.NoError(t, s.cfg.Store.Close())
	status, _, body := s.ask("POST", "/v1/entities", adminToken, `{"id":"ball"}`)
	require.GreaterOrEqual(t, status, 500, body)
	status, _, _ = s.ask("GET", "/healthz", "", "")
	require.Equal(t, 503, status)
	out, audit := s.failed(home.Request{Method: "PUT", Path: "/v1/x"}, "sim-a", store.ErrUnavailable)
	require.Equal(t, 503, out.Status)
	require.Equal(t, "store-unavailable", audit.Outcome)
}

// The figures are in the text format of Prometheus, which its own tool finds nothing wrong with; where other hosts reach it they are for accounts.
func TestMetrics(t *testing.T) {
	s := newStage(t, func(c *config) { c.Outside = true })
	status, _, _ := s.ask("GET", "/metrics", "", "")
	require.Equal(t, 401, status)
	s.ask("BREW", "/v1/entities", adminToken, "")
	s.ask("POST", "/v1/entities", adminToken, `{"id":"ball"}`)
	status, _, body := s.ask("GET", "/metrics", adminToken, "")
	require.Equal(t, 200, status)
	require.Contains(t, body, `metasim_homeserver_nodes{kind="entities"} 1`)
	require.Contains(t, body, `metasim_homeserver_requests_total{method="other",status="405"} 1`)
	require.Contains(t, body, `metasim_homeserver_problems_total{problem="method-not-allowed"} 1`)
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("SKIPPED LOUDLY: there is no promtool (apt-get install prometheus), so nobody else reads the figures")
	}
	cmd := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
	cmd.Stdin = strings.NewReader(body)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// begin starts a homeserver in a directory, and returns its URL, its token, and how to end it.
func begin(t *testing.T, o Options) (url, token string, end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done, ready := make(chan error, 1), make(chan [2]string, 1)
	o.Log, o.Listen, o.Home = slog.New(slog.DiscardHandler), "127.0.0.1:0", home.Config{Instance: "east"}
	o.Ready = func(url, token string) error {
		ready <- [2]string{url, token}
		return nil
	}
	go func() { done <- Run(ctx, o) }()
	select {
	case r := <-ready:
		return r[0], r[1], func() error {
			cancel()
			return <-done
		}
	case err := <-done:
		cancel()
		return "", "", func() error { return err }
	}
}

// A directory has one homeserver at a time. What it keeps is there for the next one, and the token of the first account is told once.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	url, token, end := begin(t, Options{Dir: dir})
	require.Len(t, token, 26)
	s := &stage{T: t, url: url}
	status, _, _ := s.ask("POST", "/v1/entities", token, `{"id":"ball"}`)
	require.Equal(t, 201, status)

	_, _, second := begin(t, Options{Dir: dir})
	var busy *BusyError
	require.ErrorAs(t, second(), &busy)
	require.Equal(t, strconv.Itoa(os.Getpid()), busy.PID)
	require.NoError(t, end())

	url, none, end := begin(t, Options{Dir: dir})
	require.Empty(t, none)
	s.url = url
	status, _, _ = s.ask("GET", "/v1/entities/ball", token, "")
	require.Equal(t, 200, status)
	require.NoError(t, end())
	url, _, end = begin(t, Options{Dir: dir, Token: "another-token-of-it"})
	s.url = url
	status, _, _ = s.ask("GET", "/v1/entities/ball", token, "")
	require.Equal(t, 401, status)
	status, _, _ = s.ask("GET", "/v1/entities/ball", "another-token-of-it", "")
	require.Equal(t, 200, status)
	require.NoError(t, end())

	info, err := os.Stat(filepath.Join(dir, auditFile))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// With a certificate everything goes over TLS 1.3.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	files := secure.Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	require.NoError(t, os.WriteFile(files.Cert, cert, 0o600))
	require.NoError(t, os.WriteFile(files.Key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	url, _, end := begin(t, Options{Dir: filepath.Join(dir, "data"), Certificate: files, Outside: true})
	require.Regexp(t, `^https://127\.0\.0\.1:\d+$`, url)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(cert))
	for version, works := range map[uint16]bool{tls.VersionTLS13: true, tls.VersionTLS12: false} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MaxVersion: version}}}
		got, err := client.Get(url + "/healthz")
		require.Equal(t, works, err == nil, "%v", err)
		if err == nil {
			require.NoError(t, got.Body.Close())
		}
		client.CloseIdleConnections()
	}
	require.NoError(t, end())
}

// Beyond this host nothing goes unencrypted, and what contradicts itself is refused.
func TestOptions(t *testing.T) {
	for _, o := range []Options{
		{},
		{Dir: "x", Outside: true},
		{Dir: "x", Rate: -1},
		{Dir: "x", Etcd: []string{"foo"}},
		{Dir: "x"}, // no instance
	} {
		require.Error(t, o.Validate())
	}
	var wrong *ConfigError
	require.True(t, errors.As((&Options{Dir: "x", Outside: true}).Validate(), &wrong))
	_, err := newServer(config{})
	require.ErrorAs(t, err, &wrong)
}

// Somebody who sends nothing does not keep the homeserver from ending.
func TestEndWithASilentClient(t *testing.T) {
	url, _, end := begin(t, Options{Dir: t.TempDir()})
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	_, err = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	_, err = c.Read(make([]byte, 1))
	require.NoError(t, err)
	require.NoError(t, end())
	require.NoError(t, c.Close())
}

// A tree that has other things at the places of a homeserver is no reason to fall.
func TestViewOfAnotherTree(t *testing.T) {
	s := newStage(t, func(*config) {})
	_, err := s.cfg.Store.Do(t.Context(), tree.Put("/entities/odd", []byte("not JSON")))
	require.NoError(t, err)
	status, _, body := s.ask("GET", "/v1/entities", adminToken, "")
	require.Equal(t, 500, status, body)
	status, _, _ = s.ask("GET", "/v1/entities/*", adminToken, "")
	require.Equal(t, 404, status)
}
