package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
)

// A liveWorld is homeservers in a row and four simulation servers, two at the first and two at the last, all in processes of their own.
type liveWorld struct {
	*stage
	way    []string // the homeservers
	homes  map[string]*exec.Cmd
	sims   []*homedServer
	client http.Client
	tls    []string // flags of a homeserver with a certificate
	trust  []string // flags of who asks it
}

// A homedServer is a simulation server with a homeserver.
type homedServer struct {
	*liveServer
	home string
	own  []string
	more []string // flags
}

const liveAdmin = "0123456789abcdef"

func newLiveWorld(t *testing.T, entities int, way ...string) *liveWorld {
	w := &liveWorld{stage: newStage(t), homes: map[string]*exec.Cmd{}, way: way}
	w.program = testprogram.Shipped(t)
	w.begin(entities)
	return w
}

// begin starts all servers.
func (w *liveWorld) begin(entities int) {
	w.write("admin", liveAdmin)
	for _, name := range w.way {
		w.runHome(name)
	}
	for _, name := range w.way {
		for _, near := range w.near(name) {
			w.write(near+"-at-"+name+".token", w.account(name, near))
		}
	}
	for i, name := range []string{"sim-a", "sim-b", "sim-c", "sim-d"} {
		s := &homedServer{&liveServer{stage: w.stage, name: name}, w.way[i/2*(len(w.way)-1)], nil, w.trust}
		for k := range entities {
			s.own = append(s.own, fmt.Sprintf("of-%s-%02d", name, k))
		}
		w.write(name+".token", w.account(s.home, name))
		w.sims = append(w.sims, s)
		s.run()
	}
	w.until("all have what is theirs", func() bool { return w.total() == len(w.sims)*entities })
}

// until waits for a condition.
func (w *liveWorld) until(what string, is func() bool) {
	w.Helper()
	require.Eventually(w, is, time.Minute, 10*time.Millisecond, what)
}

// near are the homeservers beside one.
func (w *liveWorld) near(home string) (all []string) {
	at := slices.Index(w.way, home)
	return append(slices.Clone(w.way[max(at-1, 0):at]), w.way[at+1:min(at+2, len(w.way))]...)
}

// path is the way from a homeserver at an end to the other end; nobody asks one between them for more than it knows.
func (w *liveWorld) path(home string) []string {
	back := slices.Clone(w.way)
	slices.Reverse(back)
	switch home {
	case w.way[0]:
		return w.way[1:]
	case back[0]:
		return back[1:]
	}
	return nil
}

func (w *liveWorld) write(name, text string) {
	require.NoError(w, os.WriteFile(filepath.Join(w.dir, name), []byte(text+"\n"), 0o600))
}

func (w *liveWorld) runHome(name string) {
	_ = os.Remove(filepath.Join(w.dir, name+".url")) // there is none at first
	args := []string{"authority", "serve", "--name", name, "--data", name, "--admin-token-file", "admin", "--ready-file", name + ".url", "--path", strings.Join(w.path(name), ",")}
	for _, near := range w.near(name) {
		args = append(args, "--homeserver", near+"="+near+".url", "--homeserver-token", near+"="+name+"-at-"+near+".token")
	}
	cmd := exec.Command(w.program, append(args, w.tls...)...)
	cmd.Dir, cmd.Stderr = w.dir, os.Stderr
	require.NoError(w, cmd.Start())
	w.homes[name] = cmd
	w.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // it may have ended
	require.Eventually(w, func() bool { _, err := os.Stat(filepath.Join(w.dir, name+".url")); return err == nil }, time.Minute, 5*time.Millisecond)
}

// ask asks a homeserver as its first account.
func (w *liveWorld) ask(home, method, path, body string) (status int, answer string) {
	return w.askAs(liveAdmin, home, method, path, body)
}

func (w *liveWorld) askAs(token, home, method, path, body string) (status int, answer string) {
	url, err := os.ReadFile(filepath.Join(w.dir, home+".url"))
	require.NoError(w, err)
	r, err := http.NewRequestWithContext(w.Context(), method, strings.TrimSpace(string(url))+path, strings.NewReader(body))
	require.NoError(w, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	got, err := w.client.Do(r)
	require.NoError(w, err)
	text, err := io.ReadAll(got.Body)
	require.NoError(w, err)
	require.NoError(w, got.Body.Close())
	return got.StatusCode, string(text)
}

func (w *liveWorld) account(home, name string) (token string) {
	status, text := w.ask(home, "POST", "/v1/accounts", `{"name":"`+name+`"}`)
	require.Equal(w, 201, status, text)
	var made struct{ Token string }
	require.NoError(w, json.Unmarshal([]byte(text), &made))
	return made.Token
}

func (s *homedServer) run() {
	flags := []string{"--home", s.home + "=" + s.home + ".url", "--home-token-file", s.name + ".token"}
	for _, e := range s.own {
		flags = append(flags, "--own", e)
	}
	s.begin(append(flags, s.more...)...)
}

// total counts what the servers own, and fails where two own one.
func (w *liveWorld) total() int {
	look := func() (all [][]string) {
		for _, s := range w.sims {
			all = append(all, s.owns())
		}
		return all
	}
	before, after := look(), look()
	n, owner := 0, map[string]string{}
	for i, s := range w.sims {
		if !slices.Equal(before[i], after[i]) {
			return -1 // one was handed over while we looked
		}
		for _, e := range before[i] {
			require.Empty(w, owner[e], "%s is at %s too", e, s.name)
			owner[e] = s.name
			n++
		}
	}
	return n
}

// hops adds up what the messages of a transfer have travelled: the request as the homeserver of the entity has it, the others as those who took them do. The last line may be
// written when the entity has arrived already.
func (w *liveWorld) hops(home, from, to, requester, entity string) (sum int) {
	w.Helper()
	w.until("all have written what they heard", func() bool {
		messages := 0
		messages, sum = w.written(home, from, to, requester, entity)
		return messages == 3
	})
	return sum
}

// written returns how many of these messages are written down, and how far they have travelled.
func (w *liveWorld) written(home, from, to, requester, entity string) (messages, sum int) {
	text, err := os.ReadFile(filepath.Join(w.dir, home, "audit.log"))
	require.NoError(w, err)
	seen := map[string]bool{}
	add := func(line string) {
		var m struct {
			Event, Entity  string
			Message, Heard struct {
				Kind, Requester, Entity string
				Hops                    int
				Route                   []string
			}
		}
		if json.Unmarshal([]byte(line), &m) != nil {
			return
		}
		is := m.Message
		if m.Event == "heard" {
			is = m.Heard
			is.Entity = m.Entity
		}
		counted := is.Kind == "request" || is.Kind == "grant" || is.Kind == "handover"
		if is.Entity == entity && is.Requester == requester && len(is.Route) == 0 && counted && !seen[is.Kind] { // said again it is the same
			seen[is.Kind] = true
			sum += is.Hops
		}
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		add(line)
	}
	for _, s := range w.sims {
		if s.name == from || s.name == to {
			for line := range strings.SplitSeq(s.out.String(), "\n") {
				add(line)
			}
		}
	}
	return len(seen), sum
}

// shuffle has entities given and taken, while a server is killed, and a homeserver, and begin again.
func (w *liveWorld) shuffle(b *homedServer) {
	for i := range 40 {
		switch i {
		case 10:
			b.kill()
		case 20:
			require.NoError(w, w.homes["home-a"].Process.Kill())
			_ = w.homes["home-a"].Wait() // it was killed
			w.runHome("home-a")
		case 30:
			b.run()
		}
		from, to := w.sims[i%4], w.sims[(i+1+i/4%3)%4]
		if held := from.owns(); len(held) > 0 && from != b {
			from.tell("give " + held[len(held)-1] + " " + to.name)
		}
		if held := from.owns(); len(held) > 0 && to != b {
			to.tell("take " + held[0])
		}
		w.total()
	}
}

// A hundred entities go from server to server, also to such of another homeserver, while a server is killed, and a homeserver: at no time do two own one, in the end
// each has the owner that its homeserver has written down, and the logs say who has asked for what, over how many hops.
func TestServersAndHomeserversAreKilled(t *testing.T) {
	w := newLiveWorld(t, 25, "home-a", "home-b")
	b, c, d := w.sims[1], w.sims[2], w.sims[3]
	eventually := w.until
	has := func(s *homedServer, entity string) func() bool {
		return func() bool { w.total(); return slices.Contains(s.owns(), entity) }
	}

	b.tell("take of-sim-a-00") // case 2
	eventually("case 2", has(b, "of-sim-a-00"))
	require.Equal(t, 3, w.hops("home-a", "sim-a", "sim-b", "sim-b", "of-sim-a-00"))
	c.tell("give of-sim-c-00 sim-b")
	eventually("it goes to another homeserver's", has(b, "of-sim-c-00"))
	b.tell("give of-sim-c-00 sim-d") // case 1: the owner's homeserver is not the entity's
	eventually("case 1", has(d, "of-sim-c-00"))
	require.Equal(t, 3+2, w.hops("home-b", "sim-b", "sim-d", "sim-b", "of-sim-c-00"))
	eventually("it heard it sealed", func() bool { return strings.Contains(d.out.String(), `"sealed":true`) })

	w.shuffle(b)
	owners := func() bool {
		if w.total() != 100 {
			return false
		}
		for _, home := range []string{"home-a", "home-b"} {
			_, text := w.ask(home, "GET", "/v1/entities?limit=1000", "")
			var list struct {
				Items []struct{ ID, Owner string }
			}
			require.NoError(t, json.Unmarshal([]byte(text), &list))
			require.Len(t, list.Items, 50)
			for _, e := range list.Items {
				at := slices.IndexFunc(w.sims, func(s *homedServer) bool { return s.name == e.Owner })
				if !slices.Contains(w.sims[at].owns(), e.ID) {
					return false
				}
			}
		}
		return true
	}
	eventually("all are where the homeservers say", owners)
	moved := 0
	for _, s := range w.sims {
		for _, e := range s.owns() {
			if !strings.HasPrefix(e, "of-"+s.name) {
				moved++
			}
		}
	}
	require.NotZero(t, moved)
}
