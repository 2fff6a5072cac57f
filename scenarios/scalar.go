package scenarios

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

var (
	integerText = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*|0x[0-9a-fA-F]+)$`)
	floatText   = regexp.MustCompile(`^[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$`)
)

// scalar reads an unquoted word: null, true, false, a number in decimal or 0x..., else a text. A number that does not
// fit stays a text, and is refused as one.
func scalar(word string) any {
	switch word {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	if integerText.MatchString(word) {
		if i, err := strconv.ParseInt(word, 0, 64); err == nil {
			return i
		}
		if u, err := strconv.ParseUint(strings.TrimPrefix(word, "+"), 0, 64); err == nil {
			return u
		}
		return word
	}
	if floatText.MatchString(word) {
		if f, err := strconv.ParseFloat(word, 64); err == nil && !math.IsInf(f, 0) {
			return f
		}
	}
	return word
}
