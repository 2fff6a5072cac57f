package script

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"metasim/internal/golden"
)

// A Handler carries out one command and returns what it prints; an error stops the script.
type Handler func(*Command) (string, error)

// Dir runs every file of a directory that matches pattern as a test of its own, each with a new handler.
func Dir(t *testing.T, pattern string, handler func(*testing.T) Handler) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("script: no file matches %s (%v); write one", pattern, err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		t.Run(name, func(t *testing.T) { File(t, path, handler(t)) })
	}
}

// File runs one script. It reports each block that prints something else, and goes on: the rest of the story often
// says why.
func File(t testing.TB, path string, handle Handler) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := parse(path, string(text))
	if err != nil {
		t.Fatal(err)
	}
	for i := range blocks {
		b := &blocks[i]
		got, err := b.run(handle)
		if err != nil {
			t.Fatal(err)
		}
		if golden.Rewrite() {
			b.want = got
		} else if got != b.want {
			t.Errorf("%s:%d: %s\n--- got\n%s--- want\n%s", path, b.line, b.commands[len(b.commands)-1].text, got, b.want)
		}
	}
	if golden.Rewrite() {
		if err := os.WriteFile(path, []byte(format(blocks)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// run carries out the commands of a block and returns what they print together.
func (b *block) run(handle Handler) (string, error) {
	var out strings.Builder
	for _, c := range b.commands {
		s, err := handle(c)
		if err == nil {
			err = c.unused()
		}
		if err == nil && strings.Contains("\n"+s+"\n", "\n\n") && s != "" {
			err = fmt.Errorf("it printed a blank line, which would end the block; print something there")
		}
		if err != nil {
			return "", fmt.Errorf("%s: %s: %w", c.place, c.text, err)
		}
		if s != "" {
			out.WriteString(s + "\n")
		}
	}
	return out.String(), nil
}
