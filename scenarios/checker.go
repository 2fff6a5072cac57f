package scenarios

import (
	"fmt"

	"metasim/delay"
	"metasim/internal/problem"
	"metasim/metasim"
)

// mark records that the values at and above a path are not sound.
func (c *checker) mark(p path) {
	for i := 1; i <= len(p); i++ {
		c.bad[p[:i].String()] = true
	}
}

// fail adds a problem at a path. It points at the deepest value on the path that the file has.
func (c *checker) fail(p path, format string, args ...any) {
	c.problems = append(c.problems, c.at(p, format, args...))
	c.mark(p)
}

// warn adds a warning.
func (c *checker) warn(p path, format string, args ...any) { c.warnOf("", p, format, args...) }

// warnOf adds a warning of one of the kinds of advice.
func (c *checker) warnOf(kind string, p path, format string, args ...any) {
	w := c.at(p, format, args...)
	w.Kind = kind
	c.warnings = append(c.warnings, w)
}

func (c *checker) at(p path, format string, args ...any) problem.Problem {
	_, at := c.root.find(p, false)
	return at.problem(c.origins.in(p), fmt.Sprintf(format, args...))
}

// sound returns the value at a path where it exists and nothing is wrong with it.
func (c *checker) sound(p path) *node {
	if c.bad[p.String()] {
		return nil
	}
	n := c.root
	for _, step := range p {
		n = n.child(step)
	}
	return n
}

// duration checks a text that matches the pattern of a duration, where there is one.
func (c *checker) duration(p path) {
	if c.sound(p) == nil {
		return
	}
	if c.time(p) == 0 && c.sound(p) != nil {
		c.fail(p, "is %s; write a duration above zero, or leave it out", c.word(p))
	}
}

// time reads a duration; a wrong one is 0.
func (c *checker) time(p path) metasim.Time {
	d, err := delay.ParseDuration(c.word(p))
	if err != nil {
		c.fail(p, "%s", err)
	}
	return d
}

// word returns a text, or "" where there is none.
func (c *checker) word(p path) string { return c.sound(p).word() }

// number returns a number; none where there is no number.
func (c *checker) number(p path, none float64) float64 { return c.sound(p).number(none) }

// dirOf is what the paths of a client are relative to.
func (c *checker) dirOf(client string) directory {
	d := c.dir
	if s := c.scopes.Of(client); s != nil {
		d.path = c.dirs[s.Name()]
	}
	return d
}

// dirOfLink is what the paths of a rule are relative to.
func (c *checker) dirOfLink(i int) directory {
	d := c.dir
	if at := c.origins["links"]; i < len(at) {
		d.path = at[i].dir
	}
	return d
}
