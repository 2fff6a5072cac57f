package raster

import (
	"cmp"
	"fmt"
	"image/color"
	"strconv"
	"strings"
)

// A sheet is a style sheet, as far as drawings have one: rules for a class, or for an element, below the class of the whole drawing. What is for dark screens is left out.
type sheet struct {
	root  map[string]string
	rules []rule
}

type rule struct {
	tag, class string // one is empty
	set        map[string]string
}

// parse reads a style sheet.
func parse(text string) *sheet {
	s := &sheet{root: map[string]string{}}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		selector, rest, _ := strings.Cut(text, "{")
		if strings.HasPrefix(selector, "@") {
			_, text, _ = strings.Cut(rest, "}\n}")
			continue
		}
		body, after, _ := strings.Cut(rest, "}")
		text = after
		words := strings.Fields(selector)
		r := rule{set: declarations(body)}
		if last := words[len(words)-1]; len(words) == 1 {
			s.root = r.set
			continue
		} else if class, is := strings.CutPrefix(last, "."); is {
			r.class = class
		} else {
			r.tag = last
		}
		s.rules = append(s.rules, r)
	}
	return s
}

func declarations(body string) map[string]string {
	set := map[string]string{}
	for _, one := range strings.Split(body, ";") {
		if name, value, found := strings.Cut(one, ":"); found {
			set[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return set
}

// A look is the style of one element.
type look struct {
	sheet *sheet
	set   map[string]string
}

// of returns the look of an element. A rule for a class counts more than one for an element, and a later one more than an earlier one.
func (s *sheet) of(tag string, classes []string) look {
	l := look{s, map[string]string{}}
	for _, byClass := range []bool{false, true} {
		for _, r := range s.rules {
			if matches := r.tag == tag; byClass {
				matches = false
				for _, c := range classes {
					matches = matches || r.class != "" && c == r.class
				}
				l.take(r, matches)
			} else {
				l.take(r, matches)
			}
		}
	}
	return l
}

func (l look) take(r rule, matches bool) {
	if !matches {
		return
	}
	for name, value := range r.set {
		if l.set[name] = value; name == "font" { // its size is its first word
			l.set["font-size"], _, _ = strings.Cut(value, " ")
		}
	}
}

// get returns a property, with the variables in it.
func (l look) get(name string) string {
	value := cmp.Or(l.set[name], l.sheet.root[name])
	for strings.HasPrefix(value, "var(") {
		of := strings.TrimSuffix(strings.TrimPrefix(value, "var("), ")")
		value = cmp.Or(l.set[of], l.sheet.root[of])
	}
	return value
}

// number returns a property that is one, in pixels.
func (l look) number(name string, otherwise float64) float64 {
	if n, err := strconv.ParseFloat(strings.TrimSuffix(l.get(name), "px"), 64); err == nil {
		return n
	}
	return otherwise
}

// paint returns the colour of fill or stroke; false: there is none.
func (l look) paint(name string) (c color.NRGBA, ok bool) {
	n, err := fmt.Sscanf(l.get(name), "#%02x%02x%02x", &c.R, &c.G, &c.B)
	c.A = uint8(255*l.number(name+"-opacity", 1) + 0.5)
	return c, err == nil && n == 3
}

// dashes returns how long a dash and a gap are; 0: the line is whole.
func (l look) dashes() (dash, gap float64) {
	a, b, _ := strings.Cut(l.get("stroke-dasharray"), " ")
	dash, _ = strconv.ParseFloat(a, 64) // none: 0
	gap, _ = strconv.ParseFloat(b, 64)
	return dash, gap
}
