package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each page says of each block what it is, and few cannot be run.
func TestPagesCanBeTried(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	ran, left := 0, 0
	for _, file := range append(files, "../../README.md") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		blocks, err := blocksOf(string(text))
		require.NoError(t, err, file)
		_, n := scriptOf(file, blocks)
		ran += n
		for _, b := range blocks {
			if b.reason != "" {
				left++
			}
		}
	}
	require.Greater(t, ran, 10, "where are the commands?")
	require.Less(t, 2*left, ran, "blocks that are not run; most must be")
}

// A page on which a command fails is found, and one on which none does is not.
func TestTry(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("SKIPPED LOUDLY: there is no bash, so the checker of the pages is not tried")
	}
	clone := t.TempDir()
	for name, page := range map[string]struct{ text, fails string }{
		"good":     {"<!-- file: a/b.txt -->\n```text\nhello\n```\n\n```sh\ngrep -q hello a/b.txt\nx=1\n```\n\n```sh\n[ $x = 1 ]\nsleep 60 &\n```\n", ""},
		"bad":      {"```sh\ntrue\n```\n\n```sh\nfalse\ntrue\n```\n", "page.md:5 ended with 1"},
		"expected": {"<!-- fails: 3 -->\n```sh\n(exit 3)\n```\n", ""},
		"other":    {"<!-- fails: 3 -->\n```sh\n(exit 2)\n```\n", "page.md:2: expected 3, got 2"},
		"left out": {"<!-- not run: because -->\n```sh\nfalse\n```\n", ""},
		"unnamed":  {"```\nwhat is this\n```\n", "line 1: say what the block is"},
		"indented": {"text\n\n    metasim run x\n", "line 3: put the command between"},
		"open":     {"```sh\ntrue\n", "line 1: the block has no end"},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(filepath.Join(clone, "page.md"), []byte(page.text), 0o600))
			err := try(clone, "page.md")
			if page.fails == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, page.fails)
		})
	}
}
