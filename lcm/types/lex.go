package types

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

type tokenKind int

const (
	end    tokenKind = iota // of the file
	word                    // a name, with dots or without
	number                  // as it stands
	mark                    // one of { } [ ] , ; =
	alien                   // anything else; the lexer has complained
)

// A token is the least thing that has a meaning.
type token struct {
	kind tokenKind
	text string
	at   Position
}

// says is how a message quotes the token.
func (t token) says() string {
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
			l.problems.add(t.at, "%s is no name; put one dot between the parts of a package", t.says())
			t.kind = alien
		}
	case digit(c) || c == '-' || c == '.':
		t.kind, t.text = number, l.number()
	case strings.IndexByte("{}[],;=", c) >= 0:
		t.kind, t.text = mark, l.advance(1)
	default:
		_, size := utf8.DecodeRuneInString(l.rest)
		t.kind, t.text = alien, l.advance(size)
		l.problems.add(t.at, "%s means nothing here; remove it", t.says())
	}
	return t
}

// number takes a number with what sticks to it, so that 10abc is one wrong number.
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

// space passes over blanks and comments.
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

// take advances over the bytes that belong.
func (l *lexer) take(belongs func(byte) bool) string {
	n := 0
	for n < len(l.rest) && belongs(l.rest[n]) {
		n++
	}
	return l.advance(n)
}

// advance passes over n bytes and returns them.
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
