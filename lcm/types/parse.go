package types

import (
	"errors"
	"math"
	"slices"
	"strings"

	"metasim/internal/suggest"
)

// parse returns the types of a file. It does not look up the types of members.
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
			p.wrong("%s is out of place; a file has package, struct and enum", p.tok.quote())
			p.next()
			p.skip()
		}
	}
	return p.out
}

// open reads the name of a type and the { behind it.
func (p *parser) open(of string) (*Type, bool) {
	p.next()
	name, ok := p.name(of)
	if !ok || !p.expect("{") {
		p.skip()
		return nil, false
	}
	if kindOf(name.text) != Nested {
		p.wrongAt(name.at, "%s is a primitive type; choose another name", name.quote())
	}
	t := &Type{Position: name.at, Name: p.qualified(name.text)}
	p.out = append(p.out, t)
	return t, true
}

// qualified returns the full name of a type that is called name here.
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
			p.skip(";", "}")
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
			p.skip("}")
			p.accept("}")
			return
		}
		if !p.accept(",") {
			p.accept(";")
		}
	}
}

// enumValue reads NAME or NAME = NUMBER. Without a number the value is one more than the greatest so far, from 1.
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

// maxDims is how many dimensions an array may have.
const maxDims = 64

// A structParser reads the lines between { and }.
type structParser struct {
	*parser
	t     *Type
	taken map[string]int // names of members and constants; a member's is its number, a constant's is -1
}

// line reads one declaration with its semicolon. It returns false if it cannot be parsed.
func (p *structParser) line() bool {
	if p.tok.text == "struct" || p.tok.text == "enum" || p.tok.text == "package" {
		p.wrong("%s inside of %s; close that with }, and declare types beside one another", p.tok.quote(), p.t.Name)
		return false
	}
	if p.accept("const") {
		return p.constants()
	}
	name, ok := p.name("a type")
	if !ok {
		return false
	}
	ref := reference{name.at, name.text}
	kind := kindOf(name.text)
	if kind == Nested {
		ref.Name = p.qualified(name.text)
	}
	for {
		name, ok := p.plain("a member")
		if !ok {
			return false
		}
		m := Member{Position: name.at, Name: name.text, Kind: kind, ref: ref}
		for p.accept("[") {
			d, ok := p.dim()
			if !ok || !p.expect("]") {
				return false
			}
			m.Dims = append(m.Dims, d)
		}
		if len(m.Dims) > maxDims {
			p.wrongAt(m.Position, "%s has %d dimensions; use at most %d", m.Name, len(m.Dims), maxDims)
		}
		p.take(name, len(p.t.Members))
		p.t.Members = append(p.t.Members, m)
		if !p.accept(",") {
			return p.expect(";")
		}
	}
}

// take marks a name as taken.
func (p *structParser) take(name token, i int) {
	if _, twice := p.taken[name.text]; twice {
		p.wrongAt(name.at, "%s has two members or constants called %s; rename one", p.t.Name, name.quote())
		return
	}
	p.taken[name.text] = i
}

// dim reads the size between [ and ].
func (p *structParser) dim() (Dim, bool) {
	t := p.tok
	switch t.kind {
	case number:
		n, err := parseInteger(t.text, Int32)
		if err == nil && n <= 0 {
			err = errors.New("is no size; use 1 or more")
		}
		if err != nil {
			p.wrong("%s %s", t.quote(), err)
		}
		p.next()
		return Dim{Text: t.text, Size: n}, true
	case word:
		p.next()
		return p.sizedBy(t), true
	}
	p.wrong("%s comes where the size of an array is expected; write a number, or an integer member that comes before", t.quote())
	return Dim{}, false
}

// sizedBy returns the dimension whose size is the member of that name.
func (p *structParser) sizedBy(name token) Dim {
	d := Dim{Text: name.text, Variable: true}
	i, known := p.taken[name.text]
	switch {
	case !known:
		p.wrongAt(name.at, "%s is no member that comes before; %s", name.quote(), suggest.Word(name.text, p.sizes()))
	case i < 0:
		p.wrongAt(name.at, "%s is a constant, which cannot size an array; write the number", name.quote())
	case !p.t.Members[i].Kind.integer() || len(p.t.Members[i].Dims) > 0:
		p.wrongAt(name.at, "%s is no integer, so it cannot size an array; use a member of int8_t, int16_t, int32_t or int64_t",
			name.quote())
	default:
		d.SizedBy = i
	}
	return d
}

// sizes returns the members that could be the size of an array.
func (p *structParser) sizes() (names []string) {
	for _, m := range p.t.Members {
		if m.Kind.integer() && len(m.Dims) == 0 {
			names = append(names, m.Name)
		}
	}
	return append(names, "a number")
}

// constants reads what comes behind const.
func (p *structParser) constants() bool {
	name, ok := p.name("a constant's type")
	if !ok {
		return false
	}
	kind := kindOf(name.text)
	if !kind.integer() && kind != Float && kind != Double {
		p.wrongAt(name.at, "a constant cannot be of type %s; use int8_t, int16_t, int32_t, int64_t, float or double", name.quote())
		return false
	}
	for {
		name, ok := p.plain("a constant")
		if !ok || !p.expect("=") {
			return false
		}
		c := Constant{Position: name.at, Name: name.text, Kind: kind, Text: p.tok.text}
		if kind.integer() {
			_, ok = p.integer(kind)
		} else {
			ok = p.float(kind)
		}
		if !ok {
			return false
		}
		p.take(name, -1)
		p.t.Constants = append(p.t.Constants, c)
		if !p.accept(",") {
			return p.expect(";")
		}
	}
}
