package bolt_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/store"
	"metasim/federates/authority/store/bolt"
	"metasim/federates/authority/store/storetest"
	"metasim/federates/authority/tree"
)

var kills = flag.Int("kills", 3, "how often a process that writes is killed")

// writerOf is set for the process that TestKilledWriter kills: the file that it writes into.
const writerOf = "BOLT_TEST_WRITER_OF"

func TestMain(m *testing.M) {
	if name := os.Getenv(writerOf); name != "" {
		writeForever(name)
	}
	os.Exit(m.Run())
}

func TestBolt(t *testing.T) {
	storetest.Run(t, func(t *testing.T) func() store.KV {
		name := filepath.Join(t.TempDir(), "store")
		return func() store.KV {
			kv, err := bolt.Open(name)
			require.NoError(t, err)
			return kv
		}
	})
}

func TestAnotherFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "store")
	kv, err := bolt.Open(name)
	require.NoError(t, err)
	_, err = bolt.Open(name)
	require.ErrorIs(t, err, store.ErrBusy)
	require.NoError(t, kv.Close())
	require.NoError(t, os.WriteFile(name, make([]byte, 1<<16), 0o600))
	_, err = bolt.Open(name)
	require.ErrorIs(t, err, store.ErrFormat)
	_, err = bolt.Open(filepath.Join(name, "none"))
	require.Error(t, err)
}

func config(every uint64) store.Config {
	return store.Config{Instance: "x", Kind: "homeserver", Name: "m", Every: every, Lease: time.Second}
}

// writeForever counts up in a node, and prints each number when it is written.
func writeForever(name string) {
	kv, err := bolt.Open(name)
	if err == nil {
		var s *store.Store
		if s, err = store.Open(context.Background(), kv, config(7)); err == nil {
			err = count(s)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func count(s *store.Store) error {
	n, err := s.Get(context.Background(), store.LowLatency, "/n")
	if err != nil && !errors.Is(err, tree.ErrNotFound) {
		return err
	}
	last, _ := strconv.Atoi(string(n.Payload.Bytes)) // 0 if there is none
	for {
		last++
		if _, err := s.Do(context.Background(), tree.Put("/n", strconv.AppendInt(nil, int64(last), 10))); err != nil {
			return err
		}
		fmt.Println(last)
	}
}

// What a killed process was told is written is there when the next one opens the file; at most one write more is.
func TestKilledWriter(t *testing.T) {
	name := filepath.Join(t.TempDir(), "store")
	acknowledged := 0
	for range *kills {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), writerOf+"="+name)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for seen := 0; lines.Scan(); seen++ {
			acknowledged, err = strconv.Atoi(lines.Text())
			require.NoError(t, err)
			if seen == 20 {
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.Error(t, cmd.Wait())
		kv, err := bolt.Open(name)
		require.NoError(t, err)
		s, err := store.Open(t.Context(), kv, config(7))
		require.NoError(t, err)
		n, err := s.Get(t.Context(), store.Consistency, "/n")
		require.NoError(t, err)
		there, err := strconv.Atoi(string(n.Payload.Bytes))
		require.NoError(t, err)
		require.GreaterOrEqual(t, there, acknowledged)
		require.LessOrEqual(t, there, acknowledged+1)
		require.Equal(t, uint64(there), n.PayloadVersion)
		require.NoError(t, s.Close())
	}
}
