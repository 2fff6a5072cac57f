package types

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"metasim/internal/suggest"
)

// maxDims bounds the dimensions of an array.
const maxDims = 64

// A structParser reads the lines between { and }.
type structParser struct {
	*parser
	t     *Type
	taken map[string]int // names of members and constants; a member's is its number, a constant's is -1
}

// line takes one declaration with its semicolon. It returns false where it is not understood.
func (p *structParser) line() bool {
	if p.tok.text == "struct" || p.tok.text == "enum" || p.tok.text == "package" {
		p.wrong("%s inside of %s; close that with }, and declare types beside one another", p.tok.says(), p.t.Name)
		return false
	}
	if p.accept("const") {
		return p.constants()
	}
	name, ok := p.name("a type")
	if !ok {
		return false
	}
	ref := Reference{name.at, name.text}
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

// take marks a name as used.
func (p *structParser) take(name token, i int) {
	if _, twice := p.taken[name.text]; twice {
		p.wrongAt(name.at, "%s has two members or constants called %s; rename one", p.t.Name, name.says())
		return
	}
	p.taken[name.text] = i
}

// dim takes what stands between [ and ].
func (p *structParser) dim() (Dim, bool) {
	t := p.tok
	switch t.kind {
	case number:
		n, err := parseInteger(t.text, Int32)
		if err == nil && n <= 0 {
			err = errors.New("is no size; use 1 or more")
		}
		if err != nil {
			p.wrong("%s %s", t.says(), err)
		}
		p.next()
		return Dim{Text: t.text, Size: n}, true
	case word:
		p.next()
		return p.sizedBy(t), true
	case alien:
		return Dim{}, false
	}
	p.wrong("%s comes where the size of an array is due; write a number, or an integer member that comes before", t.says())
	return Dim{}, false
}

// sizedBy is the dimension whose size is the member of that name.
func (p *structParser) sizedBy(name token) Dim {
	d := Dim{Text: name.text, Variable: true}
	i, known := p.taken[name.text]
	switch {
	case !known:
		p.wrongAt(name.at, "%s is no member that comes before; %s", name.says(), suggest.Word(name.text, p.sizes()))
	case i < 0:
		p.wrongAt(name.at, "%s is a constant, which cannot size an array; write the number", name.says())
	case !p.t.Members[i].Kind.integer() || len(p.t.Members[i].Dims) > 0:
		p.wrongAt(name.at, "%s is no integer, so it cannot size an array; use a member of int8_t, int16_t, int32_t or int64_t",
			name.says())
	default:
		d.SizedBy = i
	}
	return d
}

// sizes are the members that could size an array.
func (p *structParser) sizes() (names []string) {
	for _, m := range p.t.Members {
		if m.Kind.integer() && len(m.Dims) == 0 {
			names = append(names, m.Name)
		}
	}
	return append(names, "a number")
}

// constants takes what comes behind const.
func (p *structParser) constants() bool {
	name, ok := p.name("a constant's type")
	if !ok {
		return false
	}
	kind := kindOf(name.text)
	if !kind.integer() && kind != Float && kind != Double {
		p.wrongAt(name.at, "a constant cannot be of type %s; use int8_t, int16_t, int32_t, int64_t, float or double", name.says())
		return false
	}
	for {
		name, ok := p.plain("a constant")
		if !ok || !p.expect("=") {
			return false
		}
		c := Constant{Position: name.at, Name: name.text, Kind: kind, Text: p.tok.text}
		if kind.integer() {
			c.Int, ok = p.integer(kind)
		} else {
			c.Float, ok = p.float(kind)
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

// float takes a number that a constant of this kind can have.
func (p *structParser) float(kind Kind) (float64, bool) {
	t := p.tok
	bits := 64
	if kind == Float {
		bits = 32
	}
	f, err := strconv.ParseFloat(t.text, bits)
	switch {
	case t.kind == alien:
		return 0, false
	case t.kind != number || err != nil && !errors.Is(err, strconv.ErrRange) || strings.Contains(t.text, "_"):
		p.wrong("%s comes where a number is due; write it as 1.5 or 1e-3", t.says())
		return 0, false
	case err != nil || math.IsInf(f, 0):
		p.wrong("%s is more than a %s holds; use a smaller number", t.says(), kind)
		return 0, false
	}
	p.next()
	return f, true
}

// parseInteger reads a number as C does: 0x1f is hexadecimal, 017 octal. A hexadecimal int64_t may have all 64 bits, as
// in a mask.
func parseInteger(text string, kind Kind) (int64, error) {
	digits, negative := strings.CutPrefix(text, "-")
	base := 10
	if hex, ok := strings.CutPrefix(strings.ToLower(digits), "0x"); ok {
		digits, base = hex, 16
	} else if len(digits) > 1 && digits[0] == '0' {
		digits, base = digits[1:], 8
	}
	u, err := strconv.ParseUint(digits, base, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, errors.New("is no whole number; write it as 10, -10 or 0xa")
	}
	bits := 8 * kind.least()
	greatest := uint64(1)<<(bits-1) - 1
	if negative {
		greatest++
	}
	mask := kind == Int64 && base == 16 && !negative
	if err != nil || u > greatest && !mask {
		return 0, fmt.Errorf("does not fit into %s; use %d to %d", kind, -1<<(bits-1), int64(1)<<(bits-1)-1)
	}
	if negative {
		return -int64(u), nil
	}
	return int64(u), nil
}
