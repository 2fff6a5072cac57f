package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What init writes works as it is: what it says is typed, word by word, and the run is the same in all languages.
func TestInit(t *testing.T) {
	const digest = "digest: d3aa5901ac70d9a9ec261bf29e7d6877956f1fadfd3ad1a3f67d7467c1615629\n"
	for lang, tools := range map[string][]string{"go": {"go"}, "c": {"gcc", "make"}, "cpp": {"g++", "gcc", "make"}, "python": {"python3"}} {
		t.Run(lang, func(t *testing.T) {
			for _, tool := range tools {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skipf("SKIPPED LOUDLY: there is no %s, so nobody tries what init writes in %s; install it", tool, lang)
				}
			}
			s := newStage(t)
			args := []string{"init", "--lang", lang, "my first"}
			if lang == "go" {
				clone, err := filepath.Abs("../..")
				require.NoError(t, err)
				args = append(args, "--clone", clone)
			}
			e := s.metasim(args...)
			require.Equal(t, 0, e.status, e.err)
			_, lines, found := strings.Cut(e.out, "Try them:\n")
			require.True(t, found, e.out)
			require.Contains(t, s.shell(lines), digest)
			e = s.metasim(args...)
			require.Equal(t, 2, e.status)
			e.says(t, "my first is not empty", "name a new or an empty directory")
		})
	}
}

// shell does what is typed into a shell, in which metasim is this program, and returns what came of it.
func (s *stage) shell(lines string) string {
	s.Helper()
	self, err := os.Executable()
	require.NoError(s, err)
	require.NoError(s, os.Mkdir(filepath.Join(s.dir, "bin"), 0o755))
	require.NoError(s, os.Symlink(self, filepath.Join(s.dir, "bin", "metasim")))
	cmd := exec.CommandContext(s.Context(), "sh", "-e", "-c", lines)
	cmd.Dir = s.dir
	cmd.Env = append(append(os.Environ(), s.environment()...), "PATH="+filepath.Join(s.dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"), "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(s, err, "%s\n%s", lines, out)
	return string(out)
}

func TestInitRefuses(t *testing.T) {
	s := newStage(t)
	e := s.metasim("init", "--lang", "pyton", "x")
	require.Equal(t, 2, e.status)
	e.says(t, "pyton", `did you mean "python"?`)
	e = s.metasim("init", "--clone", ".", "x")
	require.Equal(t, 2, e.status)
	e.says(t, ". is no clone of metasim", "go.mod")
	require.NoDirExists(t, filepath.Join(s.dir, "x"), "nothing is left behind")
	e = s.metasim("init")
	require.Equal(t, 2, e.status)
	e.says(t, "init takes one directory")
}
