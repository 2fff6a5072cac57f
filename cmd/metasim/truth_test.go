package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
)

// What no delivery shows is found all the same: programs of others that publish the wall clock where nobody hears it, or leave with a
// random result. One is a Go module of its own, one is a Python program that speaks the wire.

// embedders are the programs that were built, by their sources: once for all tests.
var embedders struct {
	sync.Mutex
	built map[string]string
}

// embedder builds a program in a module of its own, and returns its path.
func embedder(t *testing.T, source string) string {
	t.Helper()
	embedders.Lock()
	defer embedders.Unlock()
	if program := embedders.built[source]; program != "" {
		return program
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	dir, err := os.MkdirTemp(filepath.Dir(testprogram.Shipped(t)), "embedder") // which is removed after all tests
	require.NoError(t, err)
	program, err := os.ReadFile(filepath.Join("testdata", source))
	require.NoError(t, err)
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	for name, text := range map[string]string{
		"main.go": string(program), "go.sum": string(sums),
		"go.mod": "module embedder\n\ngo 1.26\n\nrequire metasim v0.0.0\n\nreplace metasim => " + strconv.Quote(root) + "\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", "program", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath -mod=mod", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	if embedders.built == nil {
		embedders.built = map[string]string{}
	}
	embedders.built[source] = filepath.Join(dir, "program")
	return embedders.built[source]
}

// lies runs an echo that lies in one way.
func (s *stage) lies(program []string, how string) {
	words := append(program, how, "PING", "PONG")
	s.file(how+".yaml", strings.Replace(withCommand("x", ""), `["BIN", ""]`, `["`+strings.Join(words, `", "`)+`"]`, 1))
}

// A verdict is what metasim verify --json prints.
type verdict struct {
	Equal         bool     `json:"equal"`
	Digest        string   `json:"digest"`
	SendsDigest   string   `json:"sends_digest"`
	ResultsDigest string   `json:"results_digest"`
	Differ        []string `json:"differ"`
	Divergence    string   `json:"divergence"`
	Runs          []struct {
		Digest        string `json:"digest"`
		SendsDigest   string `json:"sends_digest"`
		ResultsDigest string `json:"results_digest"`
		RunDir        string `json:"run_dir"`
	} `json:"runs"`
}

func findLies(t *testing.T, s *stage, program []string) {
	for how, found := range map[string]struct{ differs, says string }{
		"clock":  {"sends", "at 5ms: ponger on WALL, without a recipient"},
		"random": {"results", "how ponger leaves"},
	} {
		s.lies(program, how)
		var v verdict
		e := s.metasim("verify", how+".yaml", "--runs", "2", "--json")
		require.Equal(t, 1, e.status)
		e.object(t, &v)
		require.False(t, v.Equal)
		require.Equal(t, []string{found.differs}, v.Differ)
		require.Contains(t, v.Divergence, found.says)
		require.Equal(t, v.Runs[0].Digest, v.Runs[1].Digest, "no delivery shows it")
		require.Equal(t, how == "random", v.Runs[0].SendsDigest == v.Runs[1].SendsDigest)
		require.Equal(t, how == "clock", v.Runs[0].ResultsDigest == v.Runs[1].ResultsDigest)
		a, b := v.Runs[0].RunDir, v.Runs[1].RunDir

		e = s.metasim("verify", how+".yaml", "--runs", "2")
		require.Equal(t, 1, e.status)
		require.Contains(t, e.err, "the runs are not equal, their "+found.differs+" differ; ")
		require.Contains(t, e.out, "  other "+found.differs+"\n")

		e = s.metasim("diff", a, b)
		require.Equal(t, 1, e.status)
		require.Contains(t, e.out, found.says)
		require.Contains(t, e.out, "caused by ponger")
		require.Contains(t, e.out, "digests that differ: "+found.differs+"\n")
		e = s.metasim("replay", a, "--client", "ponger")
		require.Equal(t, 1, e.status)
		require.Equal(t, 0, s.metasim("replay", a).status, "the dispatcher did what it does")
	}
}

func TestLiesOfAnEmbedder(t *testing.T) {
	s := newStage(t)
	findLies(t, s, []string{embedder(t, "liar.go.txt")})
}

func TestLiesInPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED LOUDLY: there is no python3, so no lie in another language was tried")
	}
	path := func(parts ...string) string {
		abs, err := filepath.Abs(filepath.Join(parts...))
		require.NoError(t, err)
		return abs
	}
	s := newStage(t)
	program := []string{python, "-B", path("testdata", "liar.py"), path("..", "..", "wire", "testdata", "client.py")}
	findLies(t, s, program)
	s.lies(program, "order") // the same JSON in another order is the same result
	e := s.metasim("verify", "order.yaml", "--runs", "3")
	require.Equal(t, 0, e.status)
	for range 8 {
		require.Equal(t, 0, s.metasim("run", "order.yaml").status)
	}
	require.Equal(t, ending{0, "equal\n", ""}, s.metasim("diff", "runs/commanded-1", "runs/commanded-8"))
	require.Equal(t, 0, s.metasim("replay", "runs/commanded-1", "--client", "ponger").status)
}
