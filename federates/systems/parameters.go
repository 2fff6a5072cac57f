package systems

import (
	"fmt"
	"strings"

	"metasim/federates/sdf"
	"metasim/federates/spatial"
)

// Parameters are read of what a plugin says inside. The first mistake stays.
type parameters struct {
	plugin *sdf.Plugin
	err    error
}

// numbers returns the numbers of an element; those given where there is none.
func (p *parameters) numbers(name string, otherwise ...float64) []float64 {
	e := sdf.Find(p.plugin.Content, name)
	if e == nil {
		return otherwise
	}
	xs, ok := sdf.Numbers(e.Text, len(otherwise))
	if ok {
		return xs
	}
	if p.err == nil {
		p.err = fmt.Errorf("%s:%d: <%s> is %q, not %d numbers; write for example <%s>%s</%s>", e.Place.File, e.Place.Line, name, e.Text,
			len(otherwise), name, strings.Trim(fmt.Sprint(otherwise), "[]"), name)
	}
	return otherwise
}

func (p *parameters) vector(name string) spatial.Vector {
	xs := p.numbers(name, 0, 0, 0)
	return spatial.Vector{X: xs[0], Y: xs[1], Z: xs[2]}
}

// color returns a color, without transparency; nil where there is none.
func (p *parameters) color(name string) *sdf.Color {
	if sdf.Find(p.plugin.Content, name) == nil {
		return nil
	}
	xs := p.numbers(name, 0, 0, 0)
	return &sdf.Color{R: xs[0], G: xs[1], B: xs[2], A: 1}
}

// whole returns a whole number that is at least 1.
func (p *parameters) whole(name string, otherwise int) uint64 {
	x := p.numbers(name, float64(otherwise))[0]
	if n := uint64(x); x >= 1 && x < 1<<53 && float64(n) == x {
		return n
	}
	if p.err == nil {
		p.err = fmt.Errorf("%s:%d: <%s> is no whole number above 0; write for example <%s>%d</%s>",
			p.plugin.Place.File, p.plugin.Place.Line, name, name, otherwise, name)
	}
	return uint64(otherwise)
}
