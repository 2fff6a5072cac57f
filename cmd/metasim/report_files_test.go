package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReportFiles(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "r").status)
	e := s.metasim("report", "r", "--html", "r.html", "--perfetto", "r.pftrace", "--plots", "plots/new")
	require.Equal(t, 0, e.status, e.err)
	require.Contains(t, e.out, "Who waited for whom", "what is printed is what it was")
	require.Regexp(t, `^trace: r.pftrace, \d+(\.\d+)? (B|kB), \d+ events\n$`, e.err)
	for name, begins := range map[string]string{
		"r.html": "<!DOCTYPE html>", "r.pftrace": "\n", "plots/new/blame.svg": "<?xml", "plots/new/parallelism.png": "\x89PNG",
	} {
		b, err := os.ReadFile(filepath.Join(s.dir, name))
		require.NoError(t, err)
		require.Equal(t, begins, string(b[:len(begins)]), name)
	}
	left, err := filepath.Glob(filepath.Join(s.dir, "*.partial"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestReportFilesRefuse(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	require.Equal(t, 0, s.metasim("run", "p.yaml", "--out", "r").status)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--html", "no/such/dir/x.html"}, "the page cannot be written"},
		{[]string{"--html", "r/x.html"}, "would lie in the directory of the run"},
		{[]string{"--perfetto", "no/such/dir/x"}, "the trace cannot be written"},
		{[]string{"--plots", "p.yaml"}, "the plots cannot be written"},
	} {
		e := s.metasim(append([]string{"report", "r"}, c.args...)...)
		require.Equal(t, 1, e.status, c.args)
		e.says(t, c.says)
		require.Empty(t, e.out, "a report whose file failed is not printed as if all were well")
	}
}

func TestRunReportsAtOnce(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	e := s.metasim("run", "p.yaml", "--out", "r", "--report")
	require.Equal(t, 0, e.status, e.err)
	require.Contains(t, e.out, pingPongDigest)
	require.Contains(t, e.out, "report: "+filepath.Join("r", "report.html"))
	require.Contains(t, e.out, "Who waited for whom")
	page, err := os.ReadFile(filepath.Join(s.dir, "r", "report.html"))
	require.NoError(t, err)
	require.Contains(t, string(page), "ping-pong - metasim report")
	require.Equal(t, 0, s.metasim("replay", "r").status, "the run is the run that it was")

	o, e := s.run("p.yaml", "--out", "q", "--report") // with --json
	require.Equal(t, 0, e.status)
	require.Equal(t, pingPongDigest, o.Digest)
	require.FileExists(t, filepath.Join(s.dir, "q", "report.html"))

	e = s.metasim("run", "p.yaml", "--report", "--no-journal")
	require.Equal(t, 2, e.status)
	e.says(t, "--no-journal leaves that out")
}
