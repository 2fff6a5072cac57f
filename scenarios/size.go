package scenarios

import (
	"fmt"
	"strconv"
	"strings"
)

// A size is a number of bytes as files write it: "64MiB".
type size int64

const (
	// defaultOutputLimit is how much is kept of the output of a client where a scenario does not say.
	defaultOutputLimit = 64 << 20
	// minOutputLimit leaves room for the last words of a client.
	minOutputLimit size = 64 << 10
)

// sizeUnits are the units of a size, the largest first.
var sizeUnits = []struct {
	name  string
	bytes size
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// MarshalText writes "64MiB".
func (s size) MarshalText() ([]byte, error) {
	for _, u := range sizeUnits {
		if s%u.bytes == 0 {
			return []byte(strconv.FormatInt(int64(s/u.bytes), 10) + u.name), nil
		}
	}
	return nil, fmt.Errorf("%d bytes are no whole number of KiB", s)
}

// UnmarshalText reads it.
func (s *size) UnmarshalText(text []byte) error {
	for _, u := range sizeUnits {
		if digits, ok := strings.CutSuffix(string(text), u.name); ok {
			n, err := strconv.ParseUint(digits, 10, 32)
			*s = size(n) * u.bytes
			return err
		}
	}
	return fmt.Errorf("%s is no size; write a whole number and a unit, such as 64MiB", quote(string(text)))
}
