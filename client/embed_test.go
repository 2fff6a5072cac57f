package client_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/internal/shortdir"
	"metasim/metasim"
	"metasim/server"
	"metasim/wire/transport/stream"
)

// An embedder is a simulator in a module of its own: a program of testdata.
type embedder struct {
	t   *testing.T
	dir string
}

func newEmbedder(t *testing.T, program string) *embedder {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join("testdata", program))
	require.NoError(t, err)
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	e := &embedder{t, t.TempDir()}
	for name, text := range map[string]string{
		"main.go": string(text),
		"go.mod":  fmt.Sprintf("module embedder\n\ngo 1.26\n\nrequire metasim v0.0.0\n\nreplace metasim => %q\n", root),
		"go.sum":  string(sums),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o644))
	}
	return e
}

func (e *embedder) command(args ...string) string {
	e.t.Helper()
	cmd := exec.CommandContext(e.t.Context(), "go", args...)
	cmd.Dir = e.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath -mod=mod", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(e.t, err, "go %s: %s", strings.Join(args, " "), out)
	return string(out)
}

// build returns the program, stripped.
func (e *embedder) build() string {
	e.t.Helper()
	binary := filepath.Join(e.dir, "embedder")
	e.command("build", "-ldflags=-s -w", "-o", binary, ".")
	return binary
}

// A simulator in a module of its own links what unix, tcp and shm need, and no more.
func TestEmbedderIsSmall(t *testing.T) {
	const most = 8_000_000 // bytes, stripped
	e := newEmbedder(t, "embedder.go.txt")
	linked := strings.Fields(e.command("list", "-deps", "."))
	for _, heavy := range []string{"github.com/quic-go/quic-go", "crypto/tls", "net/http", "encoding/xml", "html/template"} {
		require.NotContains(t, linked, heavy)
	}
	require.Contains(t, linked, "metasim/client")
	built, err := os.Stat(e.build())
	require.NoError(t, err)
	t.Logf("%d bytes", built.Size())
	require.LessOrEqual(t, built.Size(), int64(most))
}

// What the README shows compiles as it is written there, in a module of its own, and its test passes there, beside one that looks at the whole
// transcript.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	blocks := strings.Split(string(readme), "```go\n")
	require.Len(t, blocks, 4)
	for i := range blocks {
		blocks[i], _, _ = strings.Cut(blocks[i], "```")
	}
	e := newEmbedder(t, "embedder.go.txt")
	text := "package main\n\nimport (\n\"context\"\n\"fmt\"\n\"time\"\n\n\"metasim/client\"\n\"metasim/metasim\"\n)\n\n" +
		"func handlers(ctx context.Context, payload []byte) error {\n" + blocks[1] + "}\n\n" +
		"type model interface {\nApply([]client.Message)\nState(metasim.Time) []byte\n}\n\n" +
		"func steps(ctx context.Context, c *client.Client, out *client.Publication, plant model, dt time.Duration) error {\n" + blocks[2] + "}\n"
	require.NoError(t, os.WriteFile(filepath.Join(e.dir, "readme.go"), []byte(text), 0o600))
	tests, err := os.ReadFile(filepath.Join("testdata", "simulator_test.go.txt"))
	require.NoError(t, err)
	test := strings.ReplaceAll(string(tests), "TestPonger", "TestAll") + "\n" + blocks[3]
	require.NoError(t, os.WriteFile(filepath.Join(e.dir, "simulator_test.go"), []byte(test), 0o600))
	require.Contains(t, e.command("test", "."), "ok")
}

// begin starts the program as a client of a run with these clients, and returns what Serve says and the program wrote.
func begin(t *testing.T, program string, clients []string, others func(url string), args ...string) (srv *server.Server, said string, err error) {
	t.Helper()
	srv, err = server.New(server.Config{Core: metasim.Config{Clients: clients}})
	require.NoError(t, err)
	l, err := stream.Unix().Listen("unix://" + filepath.Join(shortdir.Make(t), "s"))
	require.NoError(t, err)
	var work sync.WaitGroup
	work.Go(func() { require.NoError(t, srv.Accept(l)) })
	work.Go(func() { others(l.URL()) })
	var stderr bytes.Buffer
	process := exec.CommandContext(t.Context(), program, args...)
	process.Env = append(os.Environ(), "METASIM_SERVER="+l.URL(), "METASIM_CLIENT=")
	process.Stderr = &stderr
	require.NoError(t, process.Start())
	err = srv.Serve(t.Context())
	_ = process.Wait() // its exit status is in what it wrote
	work.Wait()
	return srv, stderr.String(), err
}

// A simulator that publishes from one buffer sends the same in each run, however far it is authorized ahead.
func TestOneBuffer(t *testing.T) {
	program := newEmbedder(t, "stepper.go.txt").build()
	sink := func(url string) {
		b := client.NewBuilder("sink")
		require.NoError(t, b.Subscribe("STATE", nil))
		c, err := b.Complete(t.Context(), client.WithServer(url))
		require.NoError(t, err)
		require.NoError(t, c.Run(t.Context()))
	}
	digests := map[metasim.Digest]int{}
	for range 8 {
		srv, said, err := begin(t, program, []string{"sink", "stepper"}, sink)
		require.NoError(t, err, said)
		digests[srv.Result().Digest]++
	}
	require.Len(t, digests, 1, "%v", digests)
}

// The server knows how far a simulator came that panics, in a handler, in a loop of Steps or between its steps.
func TestPanicSaysWhere(t *testing.T) {
	program := newEmbedder(t, "crasher.go.txt").build()
	for _, how := range []string{"run", "steps", "step"} {
		_, said, err := begin(t, program, []string{"crasher"}, func(string) {}, how)
		require.Contains(t, said, "panic: no fuel")
		var lost *server.LostError
		require.ErrorAs(t, err, &lost)
		require.Equal(t, ms(49), lost.Now, how)
	}
}
