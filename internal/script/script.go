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

// A block is what stands between two blank lines that end an output.
type block struct {
	source   []string // its lines above the dashes, comments and blank lines too, as written
	line     int      // of the dashes
	commands []*Command
	want     string
	open     bool // the end of the file: comments without commands
}

const dashes = "----"

// parse splits a script into blocks.
func parse(path, text string) ([]block, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var blocks []block
	var b block
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if line != dashes {
			b.source = append(b.source, line)
			if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(line, "#") {
				b.commands = append(b.commands, newCommand(fmt.Sprintf("%s:%d", path, i+1), line, words))
			}
			continue
		}
		if len(b.commands) == 0 {
			return nil, fmt.Errorf("%s:%d: no command stands above the dashes; write one, or remove them", path, i+1)
		}
		b.line = i + 1
		for i+1 < len(lines) && lines[i+1] != "" {
			i++
			b.want += lines[i] + "\n"
		}
		i++ // the blank line
		blocks = append(blocks, b)
		b = block{}
	}
	if len(b.commands) > 0 {
		return nil, fmt.Errorf("%s: no dashes follow the last command; write %q below it", path, dashes)
	}
	if len(b.source) > 0 {
		b.open = true
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// format writes a script from its blocks: what parse read, with one blank line after each output.
func format(blocks []block) string {
	var s strings.Builder
	for i, b := range blocks {
		if i > 0 {
			s.WriteByte('\n')
		}
		for _, line := range b.source {
			s.WriteString(line + "\n")
		}
		if !b.open {
			s.WriteString(dashes + "\n" + b.want)
		}
	}
	return s.String()
}

// A Command is one line of a script: a name, words that stand for themselves, and arguments.
type Command struct {
	Name  string
	place string // file:line
	text  string
	words []string // in order
	used  []bool
}

func newCommand(place, text string, words []string) *Command {
	return &Command{Name: words[0], place: place, text: text, words: words[1:], used: make([]bool, len(words)-1)}
}

// Word takes the next word that is not an argument. It fails when there is none; what says what is missing.
func (c *Command) Word(what string) (string, error) {
	for i, w := range c.words {
		if !c.used[i] && !strings.Contains(w, "=") {
			c.used[i] = true
			return w, nil
		}
	}
	return "", fmt.Errorf("%s is missing: %s needs it as a word", what, c.Name)
}

// Flag reports whether a word stands in the command, and takes it.
func (c *Command) Flag(word string) bool {
	i := slices.Index(c.words, word)
	if i >= 0 {
		c.used[i] = true
	}
	return i >= 0
}

// Arg takes the value of key=value; ok is false where it is not given.
func (c *Command) Arg(key string) (value string, ok bool) {
	for i, w := range c.words {
		if k, v, isArg := strings.Cut(w, "="); isArg && k == key && !c.used[i] {
			c.used[i] = true
			return v, true
		}
	}
	return "", false
}

// List takes the value of key=a,b,c, split at commas; nil where it is not given or empty.
func (c *Command) List(key string) []string {
	v, _ := c.Arg(key)
	if v == "" {
		return nil
	}
	return strings.Split(v, ",")
}

// unused complains of the first word that the handler did not ask for.
func (c *Command) unused() error {
	if i := slices.Index(c.used, false); i >= 0 {
		return fmt.Errorf("%s does not know %q; remove it", c.Name, c.words[i])
	}
	return nil
}
