package script

import (
	"fmt"
	"slices"
	"strings"
)

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

// unused complains of the first word that nobody asked for.
func (c *Command) unused() error {
	if i := slices.Index(c.used, false); i >= 0 {
		return fmt.Errorf("%s does not know %q; remove it", c.Name, c.words[i])
	}
	return nil
}
