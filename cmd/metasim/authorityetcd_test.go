package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
)

// startEtcd starts a cluster of etcd of one member, and returns where it listens; or it skips the test.
func startEtcd(t *testing.T) (url string) {
	t.Helper()
	program, err := exec.LookPath("etcd")
	if err != nil {
		t.Skip("SKIPPED LOUDLY: there is no etcd (Debian: etcd-server), so no homeservers share a cluster")
	}
	address := func() string { // at which nobody listens
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		return "http://" + l.Addr().String()
	}
	client, peer := address(), address()
	cmd := exec.Command(program, "--name", "m", "--data-dir", filepath.Join(t.TempDir(), "etcd"), "--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "m="+peer, "--log-level", "fatal", "--logger", "zap")
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
	})
	return client
}

// An ownership is what a homeserver says of who owns an entity.
type ownership struct {
	Owner string
	Epoch int
}

// owner asks who owns an entity.
func (h *homeProcess) owner(t *testing.T, token, entity string) (is ownership) {
	t.Helper()
	status, text := h.request(t, token, "GET", "/v1/entities/"+entity+"/ownership", "")
	require.Equal(t, 200, status, text)
	require.NoError(t, json.Unmarshal([]byte(text), &is))
	return is
}

// own asks for another owner, and reports whether the entity has it.
func (h *homeProcess) own(t *testing.T, token, entity, wish string) bool {
	t.Helper()
	status, text := h.request(t, token, "PUT", "/v1/entities/"+entity+"/ownership", wish)
	require.Contains(t, []int{200, 409}, status, text)
	return status == 200
}

// Two homeservers of one instance keep their tree in a cluster of etcd, each a process: of two servers that claim an entity at both at once one gets it, what one homeserver
// says the other says, and when one is killed the other goes on. One of another instance sees nothing of it.
func TestHomeserversShareACluster(t *testing.T) {
	s := newStage(t)
	cluster := startEtcd(t)
	admin, file := tokenFile(t, s.dir)
	home := func(name string) *homeProcess {
		dir := filepath.Join(s.dir, name)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		return startHome(t, dir, "--etcd", cluster, "--admin-token-file", file, "--rate", "1e6")
	}
	one, two := home("one"), home("two")
	simA, simB, simC := one.account(t, admin, "sim-a"), two.account(t, admin, "sim-b"), one.account(t, admin, "sim-c")
	var balls []string
	for i := range 20 {
		balls = append(balls, fmt.Sprint("ball-", i))
		status, text := []*homeProcess{one, two}[i%2].request(t, simA, "POST", "/v1/entities", `{"id":"`+balls[i]+`","rule":"allow"}`)
		require.Equal(t, 201, status, text)
	}
	first := make(chan bool)
	wins := 0
	for _, ball := range balls {
		go func() { first <- one.own(t, simB, ball, `{"epoch":0}`) }()
		second := two.own(t, simC, ball, `{"epoch":0}`)
		won := <-first
		require.NotEqual(t, won, second, "of two claims that know the same epoch one is carried out")
		want := ownership{"sim-c", 1}
		if won {
			want.Owner = "sim-b"
			wins++
		}
		require.Equal(t, want, one.owner(t, admin, ball))
		require.Equal(t, want, two.owner(t, admin, ball))
	}
	t.Logf("of %d entities that were claimed at both at once, %d went to who asked the first", len(balls), wins)

	require.NoError(t, one.Process.Kill())
	_ = one.Wait() // it was killed
	for _, ball := range balls {
		require.True(t, two.own(t, simA, ball, `{"epoch":1}`))
	}
	one = home("one")
	for _, ball := range balls {
		require.Equal(t, ownership{"sim-a", 2}, one.owner(t, admin, ball))
	}
	west := startHome(t, t.TempDir(), "--etcd", cluster, "--admin-token-file", file, "--instance", "west")
	status, text := west.request(t, admin, "GET", "/v1/entities", "")
	require.Equal(t, 200, status)
	require.NotContains(t, text, "ball", "another instance has a tree of its own in the cluster")
	status, text = two.request(t, admin, "GET", "/v1/entities", "", "Metasim-Instance", "west")
	require.Equal(t, 421, status, text)
}

// Homeservers of one store have names of their own. What one of them has decided the other says to the simulation server that asks it, as its own word: requests, and questions
// to a master, are answered at either of them, and after one was killed a server goes on with the other.
func TestServersOfHomeserversThatShareACluster(t *testing.T) {
	s := newStage(t)
	s.program = testprogram.Shipped(t)
	cluster := startEtcd(t)
	admin, file := tokenFile(t, s.dir)
	home := func(name string) *homeProcess {
		dir := filepath.Join(s.dir, "of-"+name)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		h := startHome(t, dir, "--name", name, "--etcd", cluster, "--admin-token-file", file)
		s.file(name+".url", h.url)
		return h
	}
	one, two := home("home-1"), home("home-2")
	a := &homedServer{&liveServer{stage: s, name: "sim-a"}, "home-1", []string{"ball", "box"}, []string{"--rule", "ask"}}
	b := &homedServer{&liveServer{stage: s, name: "sim-b"}, "home-2", nil, nil}
	for _, l := range []*homedServer{a, b} {
		s.file(l.name+".token", one.account(t, admin, l.name))
		l.run()
	}
	s.eventually("a has both", func() bool { return len(a.owns()) == 2 })
	take := func(l *homedServer, ball string, asked *homedServer) {
		l.tell("take " + ball)
		s.eventually("the master is asked", func() bool {
			return strings.Contains(asked.out.String(), `"entity":"`+ball+`","epoch":0,"heard":{"from":"home-1","kind":"question"`)
		})
		asked.tell("yes " + ball)
		s.eventually(l.name+" has "+ball, func() bool { return slices.Contains(l.owns(), ball) })
	}
	take(b, "ball", a)
	require.NotContains(t, a.out.String()+b.out.String(), `"event":"wrong"`)
	require.Regexp(t, `"kind":"grant","requester":"sim-b","id":[0-9]+,"owner":"sim-b","trail":\["home-1"\],"hops":1`, a.out.String())

	require.NoError(t, two.Process.Kill())
	_ = two.Wait() // it was killed
	b.kill()
	b.home = "home-1"
	b.run()
	take(b, "box", a)
	require.Equal(t, ownership{"sim-b", 1}, one.owner(t, admin, "box"))
}

// What is imported into the tree of a homeserver that runs is checked as what it writes itself: what is wrong changes nothing, and is in an audit log. The homeserver goes on.
func TestBadImportsIntoACluster(t *testing.T) {
	s := newStage(t)
	cluster := startEtcd(t)
	admin, file := tokenFile(t, s.dir)
	h := startHome(t, s.dir, "--etcd", cluster, "--admin-token-file", file)
	node := func(payload string, names ...string) string {
		var parts []string
		for _, n := range names {
			parts = append(parts, `{"test":"name","text":"`+n+`"}`)
		}
		return `{"kind":"put","pattern":[` + strings.Join(parts, ",") + `]` + payload + "}\n"
	}
	while := func(path string) string { return `,"keep":[{"path":"` + path + `","if":{"test":"node-exists"}}]` }
	before := h.lists(t, admin)
	for name, c := range map[string]struct{ text, want string }{
		"cycle":   {node("", "x", "b") + node(while("/x/b"), "x", "a") + node(while("/x/a"), "x", "b"), "keep-while conditions form a cycle"},
		"parent":  {node("", "entities", ".."), "path is not valid"},
		"large":   {node(`,"payload":{"kind":"data","bytes":"`+base64.StdEncoding.EncodeToString(make([]byte, 300_000))+`"}`, "entities", "box"), "payload is too large"},
		"pattern": {`{"kind":"put","pattern":[{"test":"name","text":"entities"},{"test":"name-matches","text":"("}]}`, "condition is not valid"},
		"session": {node(`,"keep":[{"session":"of-nobody"}]`, "entities", "box"), "session is not open"},
	} {
		s.file(name, c.text)
		e := s.metasim("authority", "import", "--data", "importer", "--etcd", cluster, name)
		require.Equal(t, 1, e.status, "%s: %s", name, e.err)
		require.Contains(t, e.err, c.want, name)
		require.Equal(t, before, h.lists(t, admin), "%s has changed something", name)
		log := string(s.read(filepath.Join("importer", "audit.log")))
		require.Contains(t, log, `"method":"IMPORT","path":"`+name+`","status":400,"outcome":"refused"`)
		require.Contains(t, log, c.want)
	}
	h.account(t, admin, "sim-a")
}
