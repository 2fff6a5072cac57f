// Package script runs data-driven tests: a story a file, in which commands stand above what they print.
//
//	# Two clients, five apart.
//	new clients=a,b
//	safe
//	----
//	a 5ns
//	b 5ns
//
// A script is a list of blocks. A block is one or more commands, one a line, then a line of four dashes, then what the
// commands print together, up to a blank line or the end of the file. Lines that begin with # are comments, wherever
// commands may stand. A command is a name followed by words: "key=value" is an argument, anything else stands for
// itself. Words are split at spaces; there are no quotes.
//
// With the flag -rewrite a test writes what was printed into the file instead of comparing. Read the difference before
// you commit it: the file then says what is, not what should be.
//
// # Duties of the caller
//
// The handler prints the same for the same commands, never prints a blank line (it would end the block), and asks for
// every argument that a command may have: a word that it did not ask for fails the test, so that a misspelt one is not
// lost.
package script

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	written, err := play(path, string(text), handle, func(line int, command, got, want string) {
		if !golden.Rewrite() {
			t.Errorf("%s:%d: %s\n--- got\n%s--- want\n%s", path, line, command, got, want)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !golden.Rewrite() {
		return
	}
	if err := os.WriteFile(path, []byte(written), 0o644); err != nil {
		t.Fatal(err)
	}
}

const dashes = "----"

// play runs the blocks of a script one by one, and tells which print something else than they should: the line of the
// dashes, the last command, and what it printed. It returns the script with what was printed below the dashes.
func play(path, text string, handle Handler, differs func(line int, command, got, want string)) (string, error) {
	lines := slices.Collect(strings.Lines(strings.TrimSuffix(text, "\n") + "\n"))
	var written strings.Builder
	var commands []*Command // of the block, as far as it was read
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		written.WriteString(line)
		if line != dashes+"\n" {
			if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(line, "#") {
				commands = append(commands, newCommand(fmt.Sprintf("%s:%d", path, i+1), strings.TrimSuffix(line, "\n"), words))
			}
			continue
		}
		if len(commands) == 0 {
			return "", fmt.Errorf("%s:%d: no command stands above the dashes; write one, or remove them", path, i+1)
		}
		got, err := run(commands, handle)
		if err != nil {
			return "", err
		}
		written.WriteString(got)
		want, dashesLine := "", i+1
		for ; i+1 < len(lines) && lines[i+1] != "\n"; i++ {
			want += lines[i+1]
		}
		if got != want {
			differs(dashesLine, commands[len(commands)-1].text, got, want)
		}
		commands = nil
	}
	if len(commands) > 0 {
		return "", fmt.Errorf("%s: no dashes follow the last command; write %q below it", path, dashes)
	}
	return written.String(), nil
}

// run carries out the commands of a block and returns what they print together.
func run(commands []*Command, handle Handler) (string, error) {
	var out strings.Builder
	for _, c := range commands {
		s, err := handle(c)
		if err == nil && len(c.words) > 0 {
			err = fmt.Errorf("%s does not know %q; remove it", c.Name, c.words[0])
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

// A Command is one line of a script: a name, words that stand for themselves, and arguments.
type Command struct {
	Name  string
	place string // file:line
	text  string
	words []string // that the handler has not taken, in order
}

func newCommand(place, text string, words []string) *Command {
	return &Command{Name: words[0], place: place, text: text, words: words[1:]}
}

// take removes the first word that fits, and returns it.
func (c *Command) take(fits func(word string) bool) (string, bool) {
	i := slices.IndexFunc(c.words, fits)
	if i < 0 {
		return "", false
	}
	word := c.words[i]
	c.words = slices.Delete(c.words, i, i+1)
	return word, true
}

// Word takes the next word that is not an argument. It fails when there is none; what says what is missing.
func (c *Command) Word(what string) (string, error) {
	word, ok := c.take(func(word string) bool { return !strings.Contains(word, "=") })
	if !ok {
		return "", fmt.Errorf("%s is missing: %s needs it as a word", what, c.Name)
	}
	return word, nil
}

// Flag reports whether a word stands in the command, and takes it.
func (c *Command) Flag(word string) bool {
	_, ok := c.take(func(w string) bool { return w == word })
	return ok
}

// Arg takes the value of key=value; ok is false where it is not given.
func (c *Command) Arg(key string) (value string, ok bool) {
	word, ok := c.take(func(word string) bool { return strings.HasPrefix(word, key+"=") })
	return strings.TrimPrefix(word, key+"="), ok
}

// List takes the value of key=a,b,c, split at commas; nil where it is not given or empty.
func (c *Command) List(key string) []string {
	v, _ := c.Arg(key)
	if v == "" {
		return nil
	}
	return strings.Split(v, ",")
}
