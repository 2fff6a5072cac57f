package metasim

import (
	"errors"
	"regexp"
	"regexp/syntax"
)

// A Pattern is a subscription that was compiled: a channel name, or an LCM regular expression that matches a whole name. An
// expression also matches the channel that is called as it is written: "A+" is a name too.
type Pattern struct {
	text string
	expr *regexp.Regexp // nil for a plain name
}

// CompilePattern compiles a subscription. Its error is that of a Go regular expression.
func CompilePattern(s string) (Pattern, error) {
	if regexp.QuoteMeta(s) == s {
		return Pattern{text: s}, nil
	}
	if _, err := syntax.Parse(s, syntax.Perl); err != nil { // as it stands: "X)|(Y" is none
		return Pattern{}, err
	}
	expr, err := regexp.Compile("^(?:" + s + ")$")
	return Pattern{text: s, expr: expr}, err
}

// Match reports whether the subscription is for a channel.
func (p Pattern) Match(channel string) bool {
	return p.text == channel || p.expr != nil && p.expr.MatchString(channel)
}

// Text is the subscription as it was written.
func (p Pattern) Text() string { return p.text }

// IsName reports that the subscription is for one channel alone, which is called Text.
func (p Pattern) IsName() bool { return p.expr == nil }

// errEmpty refuses a subscription of no text. CompilePattern takes it, because old journals hold such subscriptions.
var errEmpty = errors.New("it is empty; write the name of a channel, or .* for all")

// CheckSubscription reports why s cannot be a subscription of a client that joins, or nil.
func CheckSubscription(s string) error {
	if s == "" {
		return errEmpty
	}
	_, err := CompilePattern(s)
	return err
}

// MaxSubscriptionCost is what the subscriptions of one client may cost together: see SubscriptionCost.
const MaxSubscriptionCost = 1 << 15

// SubscriptionCost estimates how many states a subscription has when it is compiled. The memory of compiling and the time of matching
// grow in proportion. It is about the number of characters of the expression; a part that is repeated {n} times counts n times. A
// plain name costs nothing, and neither does a text that is no regular expression.
func SubscriptionCost(s string) int {
	if regexp.QuoteMeta(s) == s {
		return 0
	}
	e, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return 0
	}
	return states(e)
}

func states(e *syntax.Regexp) int {
	n := 1 + len(e.Rune)/8 // a literal, or the ranges of a class
	for _, sub := range e.Sub {
		n += states(sub)
	}
	if e.Op == syntax.OpRepeat {
		n *= max(1, e.Min, e.Max)
	}
	return min(n, MaxSubscriptionCost+1)
}

// MatchSubscription reports whether a subscription is for a channel. One that cannot be compiled is for none.
func MatchSubscription(s, channel string) bool {
	p, err := CompilePattern(s)
	return err == nil && p.Match(channel)
}

// Impossible reports that no name at all matches the expression, as with "A$B". Package regexp/syntax compiles an expression to a
// graph of instructions: all that can be reached is looked at, with what is known there of the runes before and behind.
func (p Pattern) Impossible() bool {
	if p.IsName() {
		return false
	}
	tree, err := syntax.Parse(p.expr.String(), syntax.Perl)
	if err != nil {
		return false
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return false
	}
	s := search{prog: prog, seen: map[place]bool{}}
	return !s.matches(place{pc: uint32(prog.Start), before: edge, behind: anyKind})
}

// A kind is a set of classes of runes that may stand beside a place in a name. Assertions such as ^ and \b distinguish just these
// classes.
type kind uint8

const (
	edge    kind = 1 << iota // the beginning of the name, or its end
	newline                  //
	word                     // a letter, a digit or _, of ASCII
	other                    // any other rune
	anyKind = edge | newline | word | other
)

// A place is an instruction, with the kind of the rune before it and the kinds that may follow.
type place struct {
	pc             uint32
	before, behind kind
}

type search struct {
	prog *syntax.Prog
	seen map[place]bool
}

// matches reports whether the end of a match can be reached from a place.
func (s *search) matches(at place) bool {
	if at.behind == 0 || s.seen[at] {
		return false
	}
	s.seen[at] = true
	in := &s.prog.Inst[at.pc]
	next := place{in.Out, at.before, at.behind}
	switch in.Op {
	case syntax.InstMatch:
		return at.behind&edge != 0
	case syntax.InstAlt, syntax.InstAltMatch:
		return s.matches(next) || s.matches(place{in.Arg, at.before, at.behind})
	case syntax.InstCapture, syntax.InstNop:
		return s.matches(next)
	case syntax.InstEmptyWidth:
		next.behind = assert(syntax.EmptyOp(in.Arg), at)
		return s.matches(next)
	}
	for _, k := range []kind{newline, word, other} {
		if at.behind&k != 0 && takes(in, k) && s.matches(place{in.Out, k, anyKind}) {
			return true
		}
	}
	return false
}

// assert returns what may stand behind a place where an assertion holds.
func assert(op syntax.EmptyOp, at place) kind {
	behind := at.behind
	if op&syntax.EmptyBeginText != 0 && at.before != edge || op&syntax.EmptyBeginLine != 0 && at.before&(edge|newline) == 0 {
		return 0
	}
	if op&syntax.EmptyEndText != 0 {
		behind &= edge
	}
	if op&syntax.EmptyEndLine != 0 {
		behind &= edge | newline
	}
	same, different := word, anyKind&^word
	if at.before != word {
		same, different = different, same
	}
	if op&syntax.EmptyWordBoundary != 0 {
		behind &= different
	}
	if op&syntax.EmptyNoWordBoundary != 0 {
		behind &= same
	}
	return behind
}

// takes reports whether an instruction takes some rune of a kind. For an instruction that ignores case it may report true though it
// takes none.
func takes(in *syntax.Inst, k kind) bool {
	switch {
	case k == newline:
		return in.MatchRune('\n')
	case len(in.Rune) == 1:
		return syntax.IsWordChar(in.Rune[0]) == (k == word) || syntax.Flags(in.Arg)&syntax.FoldCase != 0
	}
	const longest = 27 // of word runes in a row there are at most 26
	for i := 0; i+1 < len(in.Rune); i += 2 {
		for r := in.Rune[i]; r <= min(in.Rune[i+1], in.Rune[i]+longest); r++ {
			if r != '\n' && syntax.IsWordChar(r) == (k == word) {
				return true
			}
		}
		if k == word && in.Rune[i] < '0' && in.Rune[i+1] >= '0' {
			return true
		}
	}
	return false
}
