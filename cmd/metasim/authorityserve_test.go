package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
)

var homeKills = flag.Int("home-kills", 3, "how often a homeserver is killed while it writes")

// A homeProcess is a homeserver of its own.
type homeProcess struct {
	*exec.Cmd
	url, said string
}

// startHome starts a homeserver, and waits until it can be asked.
func startHome(t *testing.T, dir string, args ...string) *homeProcess {
	t.Helper()
	ready := filepath.Join(dir, "url")
	require.NoError(t, os.RemoveAll(ready))
	cmd := exec.Command(testprogram.Shipped(t), append([]string{"authority", "serve", "--data", filepath.Join(dir, "data"), "--ready-file", ready}, args...)...)
	said, err := os.Create(filepath.Join(dir, "said"))
	require.NoError(t, err)
	defer said.Close()
	cmd.Stderr = said
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // and have been waited for
	})
	var url []byte
	require.Eventually(t, func() bool {
		var err error
		url, err = os.ReadFile(ready)
		return err == nil
	}, time.Minute, 5*time.Millisecond)
	text, err := os.ReadFile(said.Name()) // what it says stands there before the address
	require.NoError(t, err)
	return &homeProcess{cmd, strings.TrimSpace(string(url)), string(text)}
}

// A client in Python that knows nothing but /openapi.json does with a homeserver all that it can.
func TestAuthorityServeFromItsDocument(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED LOUDLY: there is no python3, so no client that is written from the document tries a homeserver")
	}
	h := startHome(t, t.TempDir())
	token := regexp.MustCompile(`(?m)^admin token: (\w+)$`).FindStringSubmatch(h.said)
	require.Len(t, token, 2, h.said)
	out, err := exec.CommandContext(t.Context(), python, "testdata/homeserver.py", h.url, token[1]).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "tried 35 operations")
}

// What was answered is there after the process was killed while it wrote, and the directory can be used again at once.
func TestAuthorityServeIsKilled(t *testing.T) {
	dir := t.TempDir()
	token := "a-token-that-is-given"
	file := filepath.Join(dir, "token")
	require.NoError(t, os.WriteFile(file, []byte(token+"\n"), 0o600))
	answered := map[string]bool{}
	ask := func(h *homeProcess, method, path, body string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), method, h.url+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		return http.DefaultClient.Do(r)
	}
	for kill := range *homeKills {
		h := startHome(t, dir, "--admin-token-file", file, "--rate", "1e6")
		var wait sync.WaitGroup
		var mu sync.Mutex
		for writer := range 4 {
			wait.Go(func() {
				for i := 0; ; i++ {
					id := fmt.Sprintf("e-%d-%d-%d", kill, writer, i)
					got, err := ask(h, "POST", "/v1/entities", `{"id":"`+id+`"}`)
					if err != nil {
						return // it is dead
					}
					mu.Lock()
					answered[id] = got.StatusCode == http.StatusCreated
					enough := len(answered) > 20*(kill+1)
					mu.Unlock()
					_ = got.Body.Close() // what is in it is of no interest here
					if enough {
						_ = h.Process.Kill() // another writer may have done it
					}
				}
			})
		}
		wait.Wait()
		_ = h.Wait() // killed
	}
	h := startHome(t, dir, "--admin-token-file", file, "--rate", "1e6")
	for id, ok := range answered {
		require.True(t, ok, id)
		got, err := ask(h, "GET", "/v1/entities/"+id, "")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, got.StatusCode, "%s was answered, and is gone", id)
		require.NoError(t, got.Body.Close())
	}
	require.NoError(t, h.Process.Signal(os.Interrupt))
	require.NoError(t, h.Wait())
	audit, err := os.ReadFile(filepath.Join(dir, "data", "audit.log"))
	require.NoError(t, err)
	for line := range strings.Lines(string(audit)) {
		require.True(t, json.Valid([]byte(line)), line)
	}
	require.GreaterOrEqual(t, strings.Count(string(audit), `"status":201`), len(answered))
}

// What is wrong with the command line, or with the directory, is said with what to do.
func TestAuthorityServeIsChecked(t *testing.T) {
	s := newStage(t)
	s.file("short", "short\n")
	for args, want := range map[string]string{
		"":                                  "--data is missing",
		"--data d --listen :80:1":           `--listen: ":80:1" is no address`,
		"--data d --listen 0.0.0.0:0":       "give --cert and --key, or listen at 127.0.0.1",
		"--data d --cert c.pem":             "--cert and --key belong together",
		"--data d --rate 0":                 "--rate is 0",
		"--data d --patience 0s":            "--patience is 0s",
		"--data d --reads often":            `--reads is "often"; use consistency or low-latency`,
		"--data d --instance a/b":           `Instance is "a/b"`,
		"--data d --name ../x":              `a name is "../x"; use 1 to 128 letters`,
		"--data d --etcd foo":               `--etcd: the endpoint of etcd is "foo"`,
		"--data d --admin-token-file short": "use at least 16",
		"--data d --admin-token-file none":  "--admin-token-file cannot be read",
		"--data d d":                        "serve takes no arguments",
		"--data d --listen 127.0.0.1:0 --cert none --key none": "the certificate cannot be used",
	} {
		e := s.metasim(append([]string{"authority", "serve"}, strings.Fields(args)...)...)
		require.Contains(t, []int{1, 2}, e.status, args)
		require.Contains(t, e.err, want)
	}
}
