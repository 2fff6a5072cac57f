package types

import "fmt"

// An Error tells why a message and its type, or a text and its type, do not go together.
type Error struct {
	Path   string // the value: "probe.grid_t.readings[1].label"
	Offset int    // of the byte at which it begins in the payload; -1 where a text is encoded
	What   string
}

func (e *Error) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("%s: %s", e.Path, e.What)
	}
	return fmt.Sprintf("%s at byte %d: %s", e.Path, e.Offset, e.What)
}

// within puts where the value is before the path of an error. It is called on the way out, so that good messages do not
// pay for it.
func (e *Error) within(format string, args ...any) *Error {
	e.Path = fmt.Sprintf(format, args...) + e.Path
	return e
}
