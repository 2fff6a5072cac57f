package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/browser"
)

// The commands that the demo prints work as they are printed: a shell runs each, though the directory has a space in its name.
func TestDemo(t *testing.T) {
	s := newStage(t)
	e := s.metasim("demo", "--out", "my demo", "--html", "pole.html")
	require.Zero(t, e.status, e.err)
	require.Empty(t, e.err)
	_, commands, found := strings.Cut(e.out, "\nTry it:\n")
	require.True(t, found, e.out)
	ran := 0
	for line := range strings.SplitSeq(commands, "\n") {
		command := strings.TrimSpace(line)
		if command == line || strings.HasPrefix(command, "#") {
			continue
		}
		shell := exec.CommandContext(t.Context(), "sh", "-ec", command)
		shell.Dir, shell.Env = s.dir, append(os.Environ(), s.environment()...)
		out, err := shell.CombinedOutput()
		require.NoError(t, err, "%s\n%s", command, out)
		ran++
	}
	require.Equal(t, 4, ran, commands)
	require.DirExists(t, filepath.Join(s.dir, "my demo", "4"))
	e = s.metasim("demo", "--out", "my demo")
	require.NotZero(t, e.status)
	e.says(t, "my demo", "name a directory that there is not yet")

	b := browser.Open(t)
	page := "file://" + filepath.Join(s.dir, "pole.html")
	for _, dark := range []bool{false, true} {
		for _, width := range []int{1280, 390} {
			b.Show(width, 900, dark)
			b.Goto(page)
			b.Until(`document.querySelectorAll("polyline").length === 3`)
			require.Zero(t, b.Overflows(), "at %d pixels", width)
			require.NotEmpty(t, b.Picture("demo-"+map[bool]string{false: "light", true: "dark"}[dark]+"-"+map[int]string{1280: "wide", 390: "narrow"}[width]))
		}
	}
	require.Contains(t, b.Text("section:nth-of-type(2)"), ": the same as above")
	require.Contains(t, b.Text("section:nth-of-type(3) .verdict"), "The pole fell.")
	require.Empty(t, b.Complaints(page))
}

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{
		"runs/demo-1": "runs/demo-1", "": "''", "a b": "'a b'", "links[0]": "'links[0]'", "it's": `'it'\''s'`, "ä": "'ä'", "$(rm)": "'$(rm)'", "~": "'~'",
	} {
		require.Equal(t, want, shellWord(word))
	}
}
