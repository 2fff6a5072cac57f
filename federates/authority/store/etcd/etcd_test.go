package etcd_test

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"metasim/federates/authority/store"
	"metasim/federates/authority/store/etcd"
	"metasim/federates/authority/store/storetest"
	"metasim/federates/authority/tree"
)

var (
	kills = flag.Int("kills", 1, "how often the leader is killed during writes")
	size  = flag.Int("size", 3, "how many members the cluster has that loses its majority")
)

// A server is a member of an etcd cluster, as a process.
type server struct {
	args     []string
	endpoint string
	cmd      *exec.Cmd
}

// A servers is a cluster on this machine.
type servers struct {
	t    *testing.T
	all  []*server
	ask  []*clientv3.Client // one for each, which asks that one alone
	made atomic.Int64
}

// start starts a cluster of n members, or skips the test.
func start(t *testing.T, n int) *servers {
	t.Helper()
	program, err := exec.LookPath("etcd")
	if err != nil {
		t.Skip("SKIPPED LOUDLY: there is no etcd (Debian: etcd-server), so no store in a cluster is tried")
	}
	c := &servers{t: t}
	dir := t.TempDir()
	var peers, members []string
	for i := range n {
		peers = append(peers, address(t))
		members = append(members, fmt.Sprintf("m%d=http://%s", i, peers[i]))
	}
	for i := range n {
		client := "http://" + address(t)
		c.all = append(c.all, &server{endpoint: client, args: []string{
			program, "--name", fmt.Sprintf("m%d", i), "--data-dir", filepath.Join(dir, fmt.Sprint(i)), "--listen-peer-urls", "http://" + peers[i],
			"--initial-advertise-peer-urls", "http://" + peers[i], "--listen-client-urls", client, "--advertise-client-urls", client,
			"--initial-cluster", strings.Join(members, ","), "--log-level", "fatal", "--logger", "zap", "--heartbeat-interval", "50", "--election-timeout", "500",
		}})
		ask, err := clientv3.New(clientv3.Config{Endpoints: []string{client}, Logger: zap.NewNop()})
		require.NoError(t, err)
		t.Cleanup(func() { ask.Close() })
		c.ask = append(c.ask, ask)
		c.run(i)
	}
	t.Cleanup(func() {
		for i := range c.all {
			c.kill(i)
		}
	})
	c.leader()
	return c
}

// address returns one at which nobody listens.
func address(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func (c *servers) run(i int) {
	s := c.all[i]
	s.cmd = exec.Command(s.args[0], s.args[1:]...)
	s.cmd.Stderr = os.Stderr
	require.NoError(c.t, s.cmd.Start())
}

func (c *servers) kill(i int) {
	s := c.all[i]
	if s.cmd == nil {
		return
	}
	require.NoError(c.t, s.cmd.Process.Kill())
	_ = s.cmd.Wait() // it was killed
	s.cmd = nil
}

// leader waits until all members that run know the same leader, and returns it.
func (c *servers) leader() int {
	for deadline := time.Now().Add(time.Minute); ; {
		require.True(c.t, time.Now().Before(deadline), "no leader")
		var said []uint64
		found, running := -1, 0
		for i, s := range c.all {
			if s.cmd == nil {
				continue
			}
			running++
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			answer, err := c.ask[i].Status(ctx, s.endpoint)
			cancel()
			if err != nil || answer.Leader == 0 || len(said) > 0 && said[0] != answer.Leader {
				break
			}
			said = append(said, answer.Leader)
			if answer.Leader == answer.Header.MemberId {
				found = i
			}
		}
		if len(said) == running && found >= 0 {
			return found
		}
		<-time.After(20 * time.Millisecond)
	}
}

func (c *servers) endpoints() (all []string) {
	for _, s := range c.all {
		all = append(all, s.endpoint)
	}
	return all
}

// open opens a member; each prefix is a store of its own.
func (c *servers) open(t *testing.T, prefix string) store.KV {
	kv, err := etcd.Open(etcd.Config{Endpoints: c.endpoints(), Prefix: prefix})
	require.NoError(t, err)
	return kv
}

func config(name string) store.Config {
	return store.Config{Instance: "x", Kind: "homeserver", Name: name, Timeout: 10 * time.Second, Lease: 2 * time.Second, Every: 100}
}

func (c *servers) member(t *testing.T, prefix string, cfg store.Config) *store.Store {
	s, err := store.Open(t.Context(), c.open(t, prefix), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() }) // the cluster may be down
	return s
}

func TestEtcd(t *testing.T) {
	c := start(t, 1)
	storetest.Run(t, func(t *testing.T) func() store.KV {
		prefix := fmt.Sprintf("/test-%d/", c.made.Add(1))
		return func() store.KV { return c.open(t, prefix) }
	})
	t.Run("two members", func(t *testing.T) { twoMembers(t, c) })
}

// Without a majority writes fail in time and say so; reads are answered by what the member knows, unless they ask for consistency. When a member of the cluster
// comes back all goes on.
func TestMajorityLost(t *testing.T) {
	c := start(t, *size)
	cfg := config("a")
	cfg.Timeout = 500 * time.Millisecond
	s := c.member(t, "/x/", cfg)
	long, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := s.Do(long, tree.Put("/n", []byte("1")))
	require.NoError(t, err)
	minority := (*size - 1) / 2
	for i := range minority {
		c.kill(i)
	}
	_, err = s.Do(long, tree.Put("/n", []byte("2")))
	require.NoError(t, err, "the others are a majority")
	c.kill(minority)
	_, err = s.Do(t.Context(), tree.Put("/n", []byte("3")))
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.Regexp(t, "^member a of x, write(, which may have been done,)?: the store does not answer", err) // on a busy machine it is late before it has begun
	n, err := s.Get(t.Context(), store.LowLatency, "/n")
	require.NoError(t, err)
	require.Equal(t, "2", string(n.Payload.Bytes))
	_, err = s.Get(t.Context(), store.Consistency, "/n")
	require.ErrorIs(t, err, store.ErrUnavailable)
	c.run(0)
	require.Eventually(t, func() bool {
		_, err := s.Do(t.Context(), tree.Put("/n", []byte("4")))
		return err == nil
	}, time.Minute, 10*time.Millisecond)
}

// A member that was behind the beginning of the log begins with a snapshot, and two members see each other's writes and sessions.
func twoMembers(t *testing.T, c *servers) {
	cfg := config("a")
	cfg.Every = 10
	a := c.member(t, "/x/", cfg)
	for i := range 25 {
		_, err := a.Do(t.Context(), tree.Put(tree.At(fmt.Sprint(i)), nil))
		require.NoError(t, err)
	}
	cfg.Name = "b"
	b := c.member(t, "/x/", cfg)
	_, err := a.Session(t.Context(), "sim")
	require.NoError(t, err)
	_, err = b.Do(t.Context(), tree.Put("/kept", nil).Kept(tree.Keep{Session: "sim"}))
	require.NoError(t, err)
	all, err := b.Select(t.Context(), store.Consistency, tree.Pattern{tree.NameMatches("")})
	require.NoError(t, err)
	require.Len(t, all, 26)
	require.NoError(t, a.Close())
	require.Eventually(t, func() bool {
		_, err := b.Get(t.Context(), store.LowLatency, "/kept")
		return err != nil
	}, time.Minute, 10*time.Millisecond, "b becomes the leader, and ends the session of a")
}

func TestConfig(t *testing.T) {
	for _, c := range []etcd.Config{{}, {Endpoints: []string{"127.0.0.1:2379"}}, {Endpoints: []string{"http://x"}, Prefix: "/x"}} {
		_, err := etcd.Open(c)
		require.Error(t, err)
	}
}
