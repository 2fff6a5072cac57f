package types

import (
	"errors"
	"fmt"
	"math"
	"regexp"
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

// float skips a number that fits into this kind.
func (p *parser) float(kind Kind) bool {
	t := p.tok
	f, err := strconv.ParseFloat(t.text, int(8*leastBytes[kind]))
	switch {
	case t.kind != number || err != nil && !errors.Is(err, strconv.ErrRange) || strings.Contains(t.text, "_"):
		p.wrong("%s comes where a number is expected; write it as 1.5 or 1e-3", t.quote())
		return false
	case err != nil || math.IsInf(f, 0):
		p.wrong("%s is more than a %s holds; use a smaller number", t.quote(), kind)
		return false
	}
	p.next()
	return true
}

// wholeNumber matches a number like those of C: 0x1f is hexadecimal, 017 octal.
var wholeNumber = regexp.MustCompile(`^-?(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$`)

// parseInteger reads a whole number that fits into this kind. A hexadecimal int64_t may have all 64 bits, for a mask.
func parseInteger(text string, kind Kind) (int64, error) {
	if !wholeNumber.MatchString(text) {
		return 0, errors.New("is no whole number; write it as 10, -10 or 0xa")
	}
	bits := int(8 * leastBytes[kind])
	n, err := strconv.ParseInt(text, 0, bits)
	if err != nil && kind == Int64 && strings.ContainsAny(text, "xX") {
		var mask uint64
		mask, err = strconv.ParseUint(text, 0, bits)
		n = int64(mask)
	}
	if err != nil {
		return 0, fmt.Errorf("does not fit into %s; use %d to %d", kind, -1<<(bits-1), int64(1)<<(bits-1)-1)
	}
	return n, nil
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

// forms have what each kind of token looks like; the first that matches is it. The letters behind a number belong to it, so
// that 10abc is one wrong number.
var forms = []struct {
	kind tokenKind
	expr *regexp.Regexp
}{
	{word, regexp.MustCompile(`^[a-zA-Z_][\w.]*`)},
	{number, regexp.MustCompile(`^[-.0-9]([eE][-+]|[\w.])*`)},
	{mark, regexp.MustCompile(`^[{}\[\],;=]`)},
	{invalid, regexp.MustCompile(`^(?s:.)`)},
}

var (
	space       = regexp.MustCompile(`^([ \t-\r]|//[^\n]*|(?s:/\*.*?\*/))*`) // blanks and comments
	openComment = regexp.MustCompile(`^(?s:/\*.*)`)
)

// next returns the next token; at the end, and from then on, one of kind end.
func (l *lexer) next() token {
	l.take(space)
	if at := l.at; l.take(openComment) != "" {
		l.problems.add(at, "this comment does not end; close it with */")
	}
	t := token{at: l.at}
	for _, form := range forms {
		if t.text = l.take(form.expr); t.text != "" {
			t.kind = form.kind
			break
		}
	}
	switch {
	case t.kind == word && (strings.HasSuffix(t.text, ".") || strings.Contains(t.text, "..")):
		l.problems.add(t.at, "%s is no name; put one dot between the parts of a package", t.quote())
		t.kind = invalid
	case t.kind == invalid:
		l.problems.add(t.at, "%s means nothing here; remove it", t.quote())
	}
	return t
}

// take skips what an expression matches at the start of the rest, and returns it.
func (l *lexer) take(expr *regexp.Regexp) string {
	text := expr.FindString(l.rest)
	l.rest = l.rest[len(text):]
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		l.at.Line += strings.Count(text, "\n")
		l.at.Column = 1 + utf8.RuneCountInString(text[i+1:])
	} else {
		l.at.Column += utf8.RuneCountInString(text)
	}
	return text
}
