package metasim

import "regexp"

// A pattern is a subscription: a channel name, or an LCM regular expression that matches a whole name.
type pattern struct {
	name string
	expr *regexp.Regexp // nil for a plain name
}

func (p pattern) match(channel string) bool {
	return p.name == channel || p.expr != nil && p.expr.MatchString(channel)
}

func compilePattern(s string) (pattern, error) {
	if regexp.QuoteMeta(s) == s {
		return pattern{name: s}, nil
	}
	if _, err := regexp.Compile(s); err != nil { // as it stands: "X)|(Y" is none
		return pattern{}, err
	}
	expr, err := regexp.Compile("^(?:" + s + ")$")
	return pattern{name: s, expr: expr}, err
}

// CheckSubscription reports why s cannot be a subscription, as a Go regular expression error, or nil.
func CheckSubscription(s string) error {
	_, err := compilePattern(s)
	return err
}

// MatchSubscription reports whether a subscription is for a channel. One that CheckSubscription refuses is for none.
func MatchSubscription(s, channel string) bool {
	p, err := compilePattern(s)
	return err == nil && p.match(channel)
}
