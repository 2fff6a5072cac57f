package delay

import "strings"

// matchesAll reports whether a pattern certainly matches every name.
func matchesAll(pattern string) bool { return strings.Trim(pattern, "*") == "" }

// match reports whether a name matches a pattern as a whole. What lies between two stars is looked for from the left:
// if it can be found at all, the first place leaves the most to the rest.
func match(pattern, name string) bool {
	if pattern == "" {
		return true
	}
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1:last] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return strings.HasSuffix(name, parts[last])
}
