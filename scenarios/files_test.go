package scenarios

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// house makes a directory with a scenario in it and a secret beside it, which two links lead to.
func house(t *testing.T) (inside string) {
	t.Helper()
	root := t.TempDir()
	inside = filepath.Join(root, "scenario")
	require.NoError(t, os.MkdirAll(filepath.Join(inside, "data"), 0o700))
	secret := filepath.Join(root, "secret.csv")
	require.NoError(t, os.WriteFile(secret, []byte("delay_ms\n5\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(inside, "data", "own.csv"), []byte("delay_ms\n5\n"), 0o600))
	if err := os.Symlink(secret, filepath.Join(inside, "link.csv")); err != nil {
		require.Equal(t, "windows", runtime.GOOS, "%v", err) // which lets only some users make links
	}
	if err := os.Symlink(root, filepath.Join(inside, "up")); err != nil {
		require.Equal(t, "windows", runtime.GOOS, "%v", err)
	}
	return inside
}

func delaysFrom(inside, file string, o Overrides) (*Scenario, error) {
	text := "name: x\nclients:\n  - {name: a, external: true}\nlinks:\n  - {delay: {empirical: {file: '" + file + "'}}}\n"
	s, _, err := Parse(filepath.Join(inside, "x.metasim.yaml"), []byte(text), o)
	return s, err
}

func TestFilesAreReadBelowTheScenarioOnly(t *testing.T) {
	inside := house(t)
	for _, file := range []string{"data/own.csv", "./data/../data/own.csv"} {
		_, err := delaysFrom(inside, file, Overrides{})
		assert.NoError(t, err, file)
	}
	secret := filepath.Join(filepath.Dir(inside), "secret.csv")
	for _, file := range []string{"../secret.csv", "data/../../secret.csv", secret, "link.csv", "up/secret.csv"} {
		_, err := delaysFrom(inside, file, Overrides{})
		assert.ErrorContains(t, err, "lies outside of the scenario's directory; move it below, or use --allow-outside", file)
		_, err = delaysFrom(inside, file, Overrides{AllowOutside: true})
		assert.NoError(t, err, file)
	}
}

func TestOpenKeepsToTheDirectoryLikeTheChecks(t *testing.T) {
	inside := house(t)
	closed, err := delaysFrom(inside, "data/own.csv", Overrides{})
	require.NoError(t, err)
	open, err := delaysFrom(inside, "data/own.csv", Overrides{AllowOutside: true})
	require.NoError(t, err)

	f, err := closed.Env(&closed.Clients[0]).Open("data/own.csv")
	require.NoError(t, err)
	text, err := io.ReadAll(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	assert.Equal(t, "delay_ms\n5\n", string(text))

	_, err = closed.Env(&closed.Clients[0]).Open("../secret.csv")
	assert.ErrorContains(t, err, "lies outside")
	f, err = open.Env(&open.Clients[0]).Open("../secret.csv")
	require.NoError(t, err)
	require.NoError(t, f.Close())

	for _, s := range []*Scenario{closed, open} {
		_, err = s.Env(&s.Clients[0]).Open("no.csv")
		assert.ErrorIs(t, err, fs.ErrNotExist)
		_, err = s.Env(&s.Clients[0]).Open("data")
		assert.EqualError(t, err, `"`+s.name("data")+`" is a directory, not a file; name a file`)
		_, err = s.Env(&s.Clients[0]).Open("a\x00b")
		assert.ErrorContains(t, err, "NUL")
	}
}

// name is how the errors of Open call a file.
func (s *Scenario) name(file string) string {
	if s.allowOutside {
		return filepath.Join(s.Dir, file)
	}
	return file
}

func TestADeviceIsNoFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED LOUDLY: Windows has no devices among its files")
	}
	inside := house(t)
	_, err := delaysFrom(inside, os.DevNull, Overrides{AllowOutside: true})
	assert.ErrorContains(t, err, "is a device, a pipe or a socket, not a file")
}

func TestCommandsAreFoundBesideTheScenarioAndInPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED LOUDLY: Windows does not run the shell script of this test")
	}
	dir := t.TempDir()
	own := filepath.Join(dir, "own")
	require.NoError(t, os.WriteFile(own, []byte("#!/bin/sh\n"), 0o700))
	s, _, err := Parse(filepath.Join(dir, "x.yaml"), []byte(`
name: x
clients:
  - {name: a, run: [./own]}
  - {name: b, run: [sh]}
  - {name: c, run: [`+own+`]}
`), Overrides{})
	require.NoError(t, err)
	for i, want := range []string{own, "/sh", own} {
		found, err := s.Command(&s.Clients[i])
		require.NoError(t, err)
		assert.True(t, filepath.IsAbs(found) && strings.HasSuffix(found, want), found)
		assert.Equal(t, dir, s.Clients[i].WorkDir)
	}
}

// The system says of a script without its interpreter that the script is missing.
func TestAMissingInterpreterIsNamed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED LOUDLY: Windows does not run scripts by their first line")
	}
	dir := t.TempDir()
	for first, want := range map[string]string{
		"#!/bin/sh\n":                       "",
		"#! /bin/sh -e\n":                   "",
		"#!./relative\n":                    "",
		"echo\n":                            "",
		"#!/usr/bin/pyton3\n":               `"./s" is a script for /usr/bin/pyton3, and there is no such program; install it, or mend the first line of the script`,
		"#! /opt/no/python\t-u\nrest":       `"./s" is a script for /opt/no/python, and there is no such program; install it, or mend the first line of the script`,
		"#!/bin/sh\r\necho\r\n":             `"./s" has line ends of Windows, so its interpreter is looked for as "/bin/sh\r" instead of /bin/sh; save it with line ends of Unix`,
		"#!/usr/bin/env pyton3\n":           `"./s" is a script for pyton3 in PATH, and there is no such program; install it, or mend the first line of the script`,
		"#!/usr/bin/env -S pyton3 -u\n":     `"./s" is a script for pyton3 in PATH, and there is no such program`,
		"#!/usr/bin/env sh\n":               "",
		"#!/usr/bin/env -i sh\n":            "",
		"#!/usr/bin/env A=b pyton3\n":       "",
		"#!\n":                              `"./s" begins with #! and names no interpreter; write one, such as #!/bin/sh`,
		"#!/no/" + strings.Repeat("x", 300): "there is no such program",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "s"), []byte(first), 0o700))
		_, err := findCommand(dir, "./s")
		if want == "" {
			require.NoError(t, err, first)
			continue
		}
		require.ErrorContains(t, err, want)
	}
	_, err := findCommand(filepath.Dir(dir), "./"+filepath.Base(dir))
	require.ErrorContains(t, err, "is a directory; name the program in it")
}
