package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExitStatus: each cell of the table in docs/replay.md.
func TestExitStatus(t *testing.T) {
	s := newStage(t)
	s.file("good.yaml", pingPong)
	s.file("bad.yaml", withCommand("dies PING PONG", ""))
	s.file("liar.yaml", `name: liar
clients:
  - {name: liar, run: [BIN], env: [TEST_PROGRAM=liar]}
  - {name: hearer, model: sink, with: {channels: [LIES]}}
`)
	s.file("other.yaml", strings.Replace(pingPong, "clients:\n", "clients:\n  - {name: other, model: sink, with: {channels: [PONG]}}\n", 1))
	for file, dir := range map[string]string{"good": "good", "other": "other", "bad": "crashed"} {
		s.metasim("run", file+".yaml", "--out", dir)
	}
	s.metasim("run", "good.yaml", "--out", "changed", "--set", "clients.pinger.with.rounds=9")
	s.metasim("run", "good.yaml", "--out", "short", "--until", "100ms")
	s.metasim("run", "good.yaml", "--out", "torn")
	file := filepath.Join(s.dir, "torn", "journal")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(file, info.Size()/2))
	s.metasim("run", "good.yaml", "--out", "forged")
	s.forge("forged", `"rounds": 10`, `"rounds": 9`)
	s.forge("forged", `"sends_digest": "`, `"sends_digest": "0`)

	for _, c := range []struct {
		status int
		args   string
	}{
		{0, "run good.yaml"}, {1, "run bad.yaml"}, {2, "run nowhere.yaml"}, {2, "run good.yaml --nonsense"},
		{2, "serve nowhere.yaml"}, {1, "serve good.yaml --listen no/such/dir/socket"},
		{0, "verify good.yaml --runs 2"}, {1, "verify liar.yaml --runs 2"}, {1, "verify bad.yaml --runs 2"}, {2, "verify nowhere.yaml"},
		{0, "replay good"}, {1, "replay forged"}, {2, "replay nowhere"}, {3, "replay torn"},
		{0, "replay good --client pinger"}, {1, "replay forged --client pinger"}, {2, "replay good --client nobody"}, {3, "replay torn --client ponger"},
		{0, "diff good good"}, {1, "diff good changed"}, {2, "diff good nowhere"}, {2, "diff good other"},
		{3, "diff good torn"}, {3, "diff good short"}, {0, "diff good other --anyway"},
		{0, "report good"}, {0, "report crashed"}, {1, "report forged"}, {2, "report nowhere"}, {3, "report torn"},
		{0, "report good changed"}, {1, "report good forged"}, {2, "report good nowhere"}, {2, "report good other"}, {3, "report good torn"},
		{0, "report good other --anyway"},
		{0, "fsck good"}, {0, "fsck crashed"}, {1, "fsck torn"}, {2, "fsck nowhere"},
	} {
		require.Equal(t, c.status, s.metasim(strings.Fields(c.args)...).status, c.args)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "replay.md"))
	require.NoError(t, err)
	for _, command := range []string{"`run`", "`verify`", "`replay`", "`diff`", "`fsck`", "`report`"} {
		require.Regexp(t, fmt.Sprintf("\n\\| [^|]*%s", command), string(page))
	}
}
