package delay

import "strings"

// MatchesAll reports whether a pattern certainly matches every name.
func MatchesAll(pattern string) bool { return strings.Trim(pattern, "*") == "" }

// Match reports whether a name matches a pattern of a Rule as a whole. The text between two stars is
// searched from the left: the first match leaves the most text for the rest of the pattern.
func Match(pattern, name string) bool {
	head, rest, stars := strings.Cut(pattern, "*")
	if pattern == "" || !stars {
		return pattern == "" || pattern == name
	}
	name, ok := strings.CutPrefix(name, head)
	for ok && stars {
		head, rest, stars = strings.Cut(rest, "*")
		if !stars {
			return strings.HasSuffix(name, head)
		}
		_, name, ok = strings.Cut(name, head)
	}
	return false
}
