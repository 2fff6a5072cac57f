package scenarios

import (
	"fmt"
	"strconv"
	"strings"

	"metasim/delay"
)

// A checker looks at what a schema cannot. It looks at whatever part of the tree has had no problem so far, so that
// one mistake does not hide another, nor is told twice.
type checker struct {
	root     *node
	dir      directory
	why      purpose
	problems []Problem
	bad      map[string]bool // paths at, below or above which there is a problem
	warnings []Problem
	advice   []Problem
	names    map[string]int // names of clients, and the entry that each is from
	rules    []delay.Rule
}

// check returns everything that is wrong with the tree, and the warnings that need no complete scenario.
func check(root *node, dir directory, why purpose) (*checker, error) {
	c := &checker{root: root, dir: dir, why: why, bad: map[string]bool{}, names: map[string]int{}}
	found, err := validate(root)
	if err != nil {
		return nil, err
	}
	for _, p := range found {
		c.problems = append(c.problems, p.Problem)
		c.mark(p.path)
	}
	c.duration(path{"until"})
	c.duration(path{"start_timeout"})
	c.publicLCM()
	c.clients()
	c.links()
	return c, nil
}

// mark remembers that nothing at, or above, a path can be relied on.
func (c *checker) mark(p path) {
	for i := 1; i <= len(p); i++ {
		c.bad[p[:i].String()] = true
	}
}

// fail adds a problem at a path; the place is that of the deepest value there is.
func (c *checker) fail(p path, format string, args ...any) {
	c.problems = append(c.problems, c.at(p, format, args...))
	c.mark(p)
}

// warn adds a warning.
func (c *checker) warn(p path, format string, args ...any) {
	c.warnings = append(c.warnings, c.at(p, format, args...))
}

// warnOf adds a warning that is one of the kinds of advice.
func (c *checker) warnOf(kind string, p path, format string, args ...any) {
	c.warn(p, format, args...)
	c.warnings[len(c.warnings)-1].Kind = kind
}

func (c *checker) at(p path, format string, args ...any) Problem {
	_, at := c.root.find(p, false)
	return at.problem(p, fmt.Sprintf(format, args...))
}

// sound returns the value at a path where it exists and nothing is wrong with it.
func (c *checker) sound(p path) *node {
	if c.bad[p.String()] {
		return nil
	}
	n := c.root
	for _, step := range p {
		if list := n.items(); list != nil {
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(list) {
				return nil
			}
			n = list[i]
			continue
		}
		if n = n.child(step); n == nil {
			return nil
		}
	}
	return n
}

// duration checks a duration that the schema found to look like one.
func (c *checker) duration(p path) {
	text, ok := c.sound(p).text()
	if !ok {
		return
	}
	d, err := delay.ParseDuration(text)
	if err != nil {
		c.fail(p, "%s", bare(err))
	} else if d == 0 {
		c.fail(p, "is %s; write a duration above zero, or leave it out", text)
	}
}

// bare takes the name of a package off an error: the place is told already.
func bare(err error) string {
	text := err.Error()
	for _, prefix := range []string{"delay: ", "metasim: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}
