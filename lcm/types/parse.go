package types

import (
	"math"
	"slices"
	"strings"
)

// A parser reads one file. It goes on after a problem where the next member or type begins.
type parser struct {
	lex  lexer
	tok  token // the one that is looked at
	pack string
	out  []*Type
}

// parse returns the types of a file. The types that members name are not looked up yet.
func parse(file, text string, ps *problems) []*Type {
	p := parser{lex: lexer{rest: text, at: Position{file, 1, 1}, problems: ps}}
	p.next()
	for p.tok.kind != end {
		switch p.tok.text {
		case "package":
			p.next()
			if name, ok := p.name("a package"); ok && p.expect(";") {
				p.pack = name.text
			}
		case "struct":
			p.structure()
		case "enum":
			p.enum()
		case ";":
			p.wrong("nothing ends with ; here; leave it out")
			p.next()
		default:
			if p.tok.kind != alien {
				p.wrong("%s is out of place; a file has package, struct and enum", p.tok.says())
			}
			p.next()
			p.skip(func() bool { return false })
		}
	}
	return p.out
}

func (p *parser) next() { p.tok = p.lex.next() }

func (p *parser) wrong(format string, args ...any) { p.wrongAt(p.tok.at, format, args...) }

func (p *parser) wrongAt(at Position, format string, args ...any) {
	p.lex.problems.add(at, format, args...)
}

// accept takes the mark or word if it comes next.
func (p *parser) accept(text string) bool {
	ok := p.tok.text == text && p.tok.kind != alien
	if ok {
		p.next()
	}
	return ok
}

// expect takes the mark that has to come next.
func (p *parser) expect(text string) bool {
	ok := p.accept(text)
	if !ok && p.tok.kind != alien {
		p.wrong("%s comes where %s is due; put %s before it", p.tok.says(), text, text)
	}
	return ok
}

// name takes a name that has to come next.
func (p *parser) name(of string) (token, bool) {
	t := p.tok
	if t.kind != word {
		if t.kind != alien {
			p.wrong("%s comes where the name of %s is due; it begins with a letter or _", t.says(), of)
		}
		return t, false
	}
	p.next()
	return t, true
}

// plain takes a name without dots.
func (p *parser) plain(of string) (token, bool) {
	t, ok := p.name(of)
	if ok && strings.Contains(t.text, ".") {
		p.wrongAt(t.at, "the name of %s has a dot in it: %s; use letters, digits and _", of, t.says())
		return t, false
	}
	return t, ok
}

// skip passes over what cannot be understood, up to where stop says, or to the next type.
func (p *parser) skip(stop func() bool) {
	for p.tok.kind != end && p.tok.text != "struct" && p.tok.text != "enum" && p.tok.text != "package" && !stop() {
		p.next()
	}
}

// open takes the name of a type and the { behind it.
func (p *parser) open(of string) (*Type, bool) {
	p.next()
	name, ok := p.name(of)
	if !ok || !p.expect("{") {
		p.skip(func() bool { return false })
		return nil, false
	}
	if kindOf(name.text) != Nested {
		p.wrongAt(name.at, "%s is a primitive type; choose another name", name.says())
	}
	t := &Type{Position: name.at, Name: p.qualified(name.text)}
	p.out = append(p.out, t)
	return t, true
}

// qualified is the full name of a type that is called name here.
func (p *parser) qualified(name string) string {
	if p.pack == "" || strings.Contains(name, ".") {
		return name
	}
	return p.pack + "." + name
}

func (p *parser) structure() {
	t, ok := p.open("a struct")
	if !ok {
		return
	}
	s := structParser{parser: p, t: t, taken: map[string]int{}}
	for !p.accept("}") {
		if p.tok.kind == end {
			p.wrong("the file ends inside %s; close it with }", t.Name)
			return
		}
		if !s.line() {
			p.skip(func() bool { return p.tok.text == ";" || p.tok.text == "}" })
			if !p.accept(";") && p.tok.text != "}" {
				return
			}
		}
	}
}

func (p *parser) enum() {
	t, ok := p.open("an enum")
	if !ok {
		return
	}
	t.Enum = true
	for !p.accept("}") {
		if !p.enumValue(t) {
			p.skip(func() bool { return p.tok.text == "}" })
			p.accept("}")
			return
		}
		if p.accept(",") {
			continue
		}
		p.accept(";")
	}
}

// enumValue takes NAME or NAME = NUMBER. Without a number it is one more than the greatest so far, from 1.
func (p *parser) enumValue(t *Type) bool {
	name, ok := p.plain("an enum's value")
	if !ok {
		return false
	}
	v := Value{Name: name.text, Value: 1}
	if p.accept("=") {
		n, ok := p.integer(Int32)
		if !ok {
			return false
		}
		v.Value = int32(n)
	} else {
		greatest := int32(0)
		for _, other := range t.Values {
			greatest = max(greatest, other.Value)
		}
		if greatest == math.MaxInt32 {
			p.wrongAt(name.at, "no value is left for %s; give it one", name.text)
			return true
		}
		v.Value = greatest + 1
	}
	if i := slices.IndexFunc(t.Values, func(o Value) bool { return o.Name == v.Name || o.Value == v.Value }); i >= 0 {
		p.wrongAt(name.at, "%s = %d is taken by %s = %d; change it", v.Name, v.Value, t.Values[i].Name, t.Values[i].Value)
		return true
	}
	t.Values = append(t.Values, v)
	return true
}

// integer takes a whole number that a constant or value of this kind can have.
func (p *parser) integer(kind Kind) (int64, bool) {
	t := p.tok
	if t.kind != number {
		if t.kind != alien {
			p.wrong("%s comes where a whole number is due; write it in digits", t.says())
		}
		return 0, false
	}
	n, err := parseInteger(t.text, kind)
	if err != nil {
		p.wrong("%s %s", t.says(), err)
		return 0, false
	}
	p.next()
	return n, true
}
