package types

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A parser reads one file. After a problem it goes on at the next member or type.
type parser struct {
	lex  lexer
	tok  token // the current one
	pack string
	out  []*Type
}

func (p *parser) next() { p.tok = p.lex.next() }

// wrong adds a problem of the current token. An invalid token has one already.
func (p *parser) wrong(format string, args ...any) {
	if p.tok.kind != invalid {
		p.wrongAt(p.tok.at, format, args...)
	}
}

func (p *parser) wrongAt(at Position, format string, args ...any) {
	p.lex.problems.add(at, format, args...)
}

// accept skips the mark or word if it is the current token.
func (p *parser) accept(text string) bool {
	ok := p.tok.text == text && p.tok.kind != invalid
	if ok {
		p.next()
	}
	return ok
}

// expect skips the mark that has to come here.
func (p *parser) expect(text string) bool {
	ok := p.accept(text)
	if !ok {
		p.wrong("%s comes where %s is expected; put %s before it", p.tok.quote(), text, text)
	}
	return ok
}

// name reads a name that has to come here.
func (p *parser) name(of string) (token, bool) {
	t := p.tok
	if t.kind != word {
		p.wrong("%s comes where the name of %s is expected; it begins with a letter or _", t.quote(), of)
		return t, false
	}
	p.next()
	return t, true
}

// plain reads a name without dots.
func (p *parser) plain(of string) (token, bool) {
	t, ok := p.name(of)
	if ok && strings.Contains(t.text, ".") {
		p.wrongAt(t.at, "the name of %s has a dot in it: %s; use letters, digits and _", of, t.quote())
		return t, false
	}
	return t, ok
}

// skip skips what cannot be parsed, until one of the marks comes or the next type begins.
func (p *parser) skip(marks ...string) {
	marks = append(marks, "struct", "enum", "package")
	for p.tok.kind != end && !slices.Contains(marks, p.tok.text) {
		p.next()
	}
}

// integer reads a whole number that fits into this kind.
func (p *parser) integer(kind Kind) (int64, bool) {
	t := p.tok
	if t.kind != number {
		p.wrong("%s comes where a whole number is expected; write it in digits", t.quote())
		return 0, false
	}
	n, err := parseInteger(t.text, kind)
	if err != nil {
		p.wrong("%s %s", t.quote(), err)
		return 0, false
	}
	p.next()
	return n, true
}

// float reads a number that fits into this kind.
func (p *parser) float(kind Kind) (float64, bool) {
	t := p.tok
	bits := 64
	if kind == Float {
		bits = 32
	}
	f, err := strconv.ParseFloat(t.text, bits)
	switch {
	case t.kind != number || err != nil && !errors.Is(err, strconv.ErrRange) || strings.Contains(t.text, "_"):
		p.wrong("%s comes where a number is expected; write it as 1.5 or 1e-3", t.quote())
		return 0, false
	case err != nil || math.IsInf(f, 0):
		p.wrong("%s is more than a %s holds; use a smaller number", t.quote(), kind)
		return 0, false
	}
	p.next()
	return f, true
}

// parseInteger reads a number like C: 0x1f is hexadecimal, 017 octal. A hexadecimal int64_t may have all 64 bits, for a mask.
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
	bits := 8 * leastBytes[kind]
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

type tokenKind int

const (
	end     tokenKind = iota // of the file
	word                     // a name, with dots or without
	number                   // as in the file
	mark                     // one of { } [ ] , ; =
	invalid                  // anything else; the lexer has added a problem
)

// A token is a word, a number or a mark.
type token struct {
	kind tokenKind
	text string
	at   Position
}

// quote returns the token for a problem.
func (t token) quote() string {
	if t.kind == end {
		return "the end of the file"
	}
	const most = 40
	if len(t.text) > most {
		return strconv.Quote(t.text[:most]) + "..."
	}
	return strconv.Quote(t.text)
}

// A lexer cuts a file into tokens.
type lexer struct {
	rest     string
	at       Position
	problems *problems
}

// next returns the next token; at the end, and from then on, one of kind end.
func (l *lexer) next() token {
	l.space()
	t := token{at: l.at}
	if l.rest == "" {
		return t
	}
	c := l.rest[0]
	switch {
	case letter(c):
		t.kind, t.text = word, l.take(func(c byte) bool { return letter(c) || digit(c) || c == '.' })
		if strings.HasSuffix(t.text, ".") || strings.Contains(t.text, "..") {
			l.problems.add(t.at, "%s is no name; put one dot between the parts of a package", t.quote())
			t.kind = invalid
		}
	case digit(c) || c == '-' || c == '.':
		t.kind, t.text = number, l.number()
	case strings.IndexByte("{}[],;=", c) >= 0:
		t.kind, t.text = mark, l.advance(1)
	default:
		_, size := utf8.DecodeRuneInString(l.rest)
		t.kind, t.text = invalid, l.advance(size)
		l.problems.add(t.at, "%s means nothing here; remove it", t.quote())
	}
	return t
}

// number reads a number and the letters behind it, so that 10abc is one wrong number.
func (l *lexer) number() string {
	n := 1
	for n < len(l.rest) {
		c, before := l.rest[n], l.rest[n-1]
		exponent := (c == '-' || c == '+') && (before == 'e' || before == 'E')
		if !letter(c) && !digit(c) && c != '.' && !exponent {
			break
		}
		n++
	}
	return l.advance(n)
}

// space skips blanks and comments.
func (l *lexer) space() {
	for {
		l.take(func(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' })
		switch {
		case strings.HasPrefix(l.rest, "//"):
			l.take(func(c byte) bool { return c != '\n' })
		case strings.HasPrefix(l.rest, "/*"):
			n := strings.Index(l.rest[2:], "*/")
			if n < 0 {
				l.problems.add(l.at, "this comment does not end; close it with */")
				l.advance(len(l.rest))
				return
			}
			l.advance(n + 4)
		default:
			return
		}
	}
}

// take skips the bytes that belong, and returns them.
func (l *lexer) take(belongs func(byte) bool) string {
	n := 0
	for n < len(l.rest) && belongs(l.rest[n]) {
		n++
	}
	return l.advance(n)
}

// advance skips n bytes, and returns them.
func (l *lexer) advance(n int) string {
	text := l.rest[:n]
	l.rest = l.rest[n:]
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		l.at.Line += strings.Count(text, "\n")
		l.at.Column = 1 + utf8.RuneCountInString(text[i+1:])
	} else {
		l.at.Column += utf8.RuneCountInString(text)
	}
	return text
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }
