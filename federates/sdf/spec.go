package sdf

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"metasim/internal/suggest"
)

//go:embed spec.txt
var specText string

// A rule is what SDF says of one element.
type rule struct {
	name       string
	often      byte  // ? 1 * + -
	text       *kind // nil for an element that holds no value
	anything   bool  // whatever is inside is taken
	attributes []*rule
	children   []*rule
	ref        string // the children are those of the rule of this name
}

// rules returns the rules that begin at the margin of spec.txt, by name. They are read once.
var rules = sync.OnceValue(func() map[string]*rule {
	all := map[string]*rule{}
	var open []*rule // by indentation
	for line := range strings.Lines(specText) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		depth := len(line) - len(strings.TrimLeft(line, " "))
		r := newRule(strings.Fields(line))
		open = append(open[:depth], r)
		switch {
		case depth == 0:
			all[r.name] = r
		case r.name == "*":
			open[depth-1].anything = true
		case strings.HasPrefix(r.name, "@"):
			r.name = r.name[1:]
			open[depth-1].attributes = append(open[depth-1].attributes, r)
		default:
			open[depth-1].children = append(open[depth-1].children, r)
		}
	}
	return all
})

func newRule(fields []string) *rule {
	r := &rule{name: fields[0], often: '1'}
	for i, f := range fields[1:] {
		switch {
		case i == 0:
			r.often = f[0]
		case f == "any":
			r.anything = true
		case strings.HasPrefix(f, "="):
			r.ref = f[1:]
		default:
			r.text = newKind(f)
		}
	}
	return r
}

// resolved returns the rule that says what is inside of r.
func (r *rule) resolved() *rule {
	if r.ref != "" {
		return rules()[r.ref]
	}
	return r
}

// find returns the rule of that name in a list; nil if there is none.
func find(list []*rule, name string) *rule {
	for _, r := range list {
		if r.name == name {
			return r
		}
	}
	return nil
}

// conform notes how an element and all within it differ from what SDF says of them.
func (p *problems) conform(n *node, r *rule) {
	r = r.resolved()
	if r == nil {
		return
	}
	p.attributes(n, r)
	switch {
	case r.text == nil:
	case r.text.name == "pose":
		p.checkPose(n)
	default:
		p.value(n.Place, fmt.Sprintf("<%s>", n.Name), n.Text, r.text, r.required())
	}
	seen := map[string]bool{}
	for _, c := range n.children {
		known := find(r.children, c.Name)
		switch {
		case known != nil:
			if seen[c.Name] && strings.IndexByte("?1", known.often) >= 0 {
				p.warn(c.Place, "<%s> is there again in <%s>, and the first one counts; remove this one", c.Name, n.Name)
			}
			seen[c.Name] = true
			if !known.anything {
				p.conform(c, known)
			}
		case r.anything || strings.Contains(c.Name, ":"):
		default:
			p.warn(c.Place, "SDF has no <%s> in <%s>, so it is ignored; %s", c.Name, n.Name, meant(c.Name, r.children))
		}
	}
	p.missing(n, r, seen)
}

// required says whether a value may be empty: SDF's defaults stand in only for what need not be there.
func (r *rule) required() bool { return r.often == '1' || r.often == '+' }

// missing notes what a joint lacks. Everything else has defaults.
func (p *problems) missing(n *node, r *rule, seen map[string]bool) {
	if n.Name != "joint" {
		return
	}
	if kind, _ := n.Attribute("type"); kind == "ball" {
		return
	}
	for _, c := range r.children {
		if c.often == '1' && !seen[c.name] {
			p.wrong(n.Place, "the joint %q has no <%s>; add it, with the name of a link", n.name(), c.name)
		}
	}
}

func (p *problems) attributes(n *node, r *rule) {
	for _, a := range n.Attributes {
		known := find(r.attributes, a.Name)
		switch {
		case known != nil:
			p.value(n.Place, fmt.Sprintf("the attribute %s of <%s>", a.Name, n.Name), a.Value, known.text, known.often == '1')
			if a.Name == "name" && n.Name != "plugin" && !p.colons && strings.Contains(a.Value, "::") {
				p.wrong(n.Place, "the name %q of <%s> has \"::\" in it, which separates names; write another name", a.Value, n.Name)
			}
		case r.anything && n.Name != "plugin", strings.Contains(a.Name, ":"), a.Name == "xmlns":
		default:
			p.warn(n.Place, "SDF has no attribute %s of <%s>, so it is ignored; %s", a.Name, n.Name, meant(a.Name, r.attributes))
		}
	}
	for _, a := range r.attributes {
		if _, there := n.Attribute(a.name); a.often == '1' && !there {
			p.wrong(n.Place, "<%s> has no attribute %s; add %s=\"...\"", n.Name, a.name, a.name)
		}
	}
}

// meant says which name was probably meant.
func meant(name string, known []*rule) string {
	var names []string
	for _, r := range known {
		names = append(names, r.name)
	}
	if near := suggest.Near(name, names, (len(name)+2)/3); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "remove it, or correct its name"
}
