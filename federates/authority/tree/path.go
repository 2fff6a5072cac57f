package tree

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Root is the path of the root.
const Root Path = "/"

const hex = "0123456789ABCDEF"

// At returns the path of a node by the names on the way to it. Names may hold any bytes: what a path cannot hold is written as %XX. A leading ":" of a name is
// an ordinary character here.
func At(names ...string) Path {
	if len(names) == 0 {
		return Root
	}
	var b strings.Builder
	for _, name := range names {
		b.WriteByte('/')
		for i := 0; i < len(name); {
			r, size := utf8.DecodeRuneInString(name[i:])
			whole := strings.Trim(name, ".") == ""
			if (r == utf8.RuneError && size == 1) || unicode.IsControl(r) || strings.ContainsRune("/%*", r) || r == ':' && i == 0 || whole {
				for _, c := range []byte(name[i : i+size]) {
					b.Write([]byte{'%', hex[c>>4], hex[c&15]})
				}
			} else {
				b.WriteString(name[i : i+size])
			}
			i += size
		}
	}
	return Path(b.String())
}

// Components returns the components of a path as they are written; none for the root.
func (p Path) Components() []string {
	if p == Root || p == "" {
		return nil
	}
	return strings.Split(strings.TrimPrefix(string(p), "/"), "/")
}

// Name returns the last name of a path, as it was given to At; "" for the root.
func (p Path) Name() string {
	all := p.Components()
	if len(all) == 0 {
		return ""
	}
	last := all[len(all)-1]
	var b strings.Builder
	for i := 0; i < len(last); i++ {
		if c, ok := unhex(last[i:]); ok {
			b.WriteByte(c)
			i += 2
		} else {
			b.WriteByte(last[i])
		}
	}
	return b.String()
}

// unhex reads the %XX at the beginning of a text.
func unhex(s string) (c byte, ok bool) {
	if len(s) < 3 || s[0] != '%' {
		return 0, false
	}
	high, low := strings.IndexByte(hex, s[1]), strings.IndexByte(hex, s[2])
	return byte(high<<4 | low), high >= 0 && low >= 0
}

// Parent returns the path above; the root is above itself.
func (p Path) Parent() Path {
	if at := strings.LastIndexByte(string(p), '/'); at > 0 {
		return p[:at]
	}
	return Root
}

// child returns the path of a child by a component as it is written.
func (p Path) child(component string) Path {
	if p == Root {
		return Path("/" + component)
	}
	return p + Path("/"+component)
}

// Check says what is wrong with a path.
func (p Path) Check() error {
	if !strings.HasPrefix(string(p), "/") {
		return fmt.Errorf("%w: %q does not begin with /", ErrPath, clip(string(p)))
	}
	for _, c := range p.Components() {
		if err := checkComponent(c); err != nil {
			return fmt.Errorf("%w, in %q", err, clip(string(p)))
		}
	}
	return nil
}

// checkComponent says what is wrong with a component. Each name has one way to be written, so that a path is one node.
func checkComponent(c string) error {
	switch {
	case c == "":
		return fmt.Errorf("%w: it has an empty component; begin with /, write one / between names and none at the end", ErrPath)
	case strings.Trim(c, ".") == "":
		return fmt.Errorf("%w: %q is not a name; name the node from the root, and write %%2E for a dot that is all of a name", ErrPath, clip(c))
	case len(c) > maxName:
		return fmt.Errorf("%w: a component has %d bytes, at most %d", ErrPath, len(c), maxName)
	case !utf8.ValidString(c):
		return fmt.Errorf("%w: component %q is not UTF-8; write other bytes as %%XX", ErrPath, clip(c))
	}
	for i, r := range c {
		switch {
		case unicode.IsControl(r) || r == '/' || r == '*':
			return fmt.Errorf("%w: component %q has %q; write %%%02X", ErrPath, clip(c), r, r)
		case r == '%':
			if _, ok := unhex(c[i:]); !ok {
				return fmt.Errorf("%w: component %q has a %% without two digits 0-9, A-F; write %%25 for it", ErrPath, clip(c))
			}
		}
	}
	if again := string(At((Path("/") + Path(c)).Name())); again != "/"+c && again != "/%3A"+c[1:] {
		return fmt.Errorf("%w: component %q is written %q", ErrPath, clip(c), again[1:])
	}
	return nil
}

// resolve returns the path that a relative one names at a base.
func resolve(base Path, text string) (Path, error) {
	if strings.HasPrefix(text, "/") {
		return Path(text), Path(text).Check()
	}
	at, rest := base, text
	for {
		first, next, more := strings.Cut(rest, "/")
		switch {
		case first == "." && rest == text:
		case first == ".." && at == Root:
			return "", fmt.Errorf("%w: %q leads above the root from %q", ErrPath, clip(text), clip(string(base)))
		case first == "..":
			at = at.Parent()
		case rest == text:
			return "", fmt.Errorf("%w: %q is relative; begin with /, with . or with the name .. of the parent", ErrPath, clip(text))
		default:
			at = at.child(first)
		}
		if !more {
			return at, at.Check()
		}
		rest = next
	}
}

// clip shortens what somebody else wrote for an error.
func clip(s string) string {
	if len(s) > 100 {
		return strings.ToValidUTF8(s[:100], "") + "..."
	}
	return s
}

// checkLabel says what is wrong with the name of something that is no node.
func checkLabel(what, name string) error {
	if name == "" || len(name) > maxLabel || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("%w: the name of a %s is %q; it has 1 to %d bytes of UTF-8 without control characters", ErrCommand, what, clip(name), maxLabel)
	}
	return nil
}
