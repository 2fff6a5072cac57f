package metasim

import (
	"errors"
	"regexp"
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
	if _, err := regexp.Compile(s); err != nil { // as it stands: "X)|(Y" is none
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

// MatchSubscription reports whether a subscription is for a channel. One that cannot be compiled is for none.
func MatchSubscription(s, channel string) bool {
	p, err := CompilePattern(s)
	return err == nil && p.Match(channel)
}
