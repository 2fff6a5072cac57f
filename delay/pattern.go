package delay

import "strings"

// matchesAll reports whether a pattern certainly matches every name.
func matchesAll(pattern string) bool { return strings.Trim(pattern, "*") == "" }

// Match reports whether a name matches a pattern of a Rule as a whole. What lies between two stars is looked for from
// the left: if it can be found at all, the first place leaves the most to the rest.
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
