package delay

import (
	"math/big"
	"strconv"
	"strings"
)

// maxDigits bounds what is taken for a number: exact arithmetic on more costs time, and tells nothing.
const maxDigits = 64

// cut splits "1.5ms" into its number and its unit.
func cut(s string) (number, unit string) {
	i := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i:]
}

// decimal reads digits with at most one point among them, exactly. It reports whether that is what s is.
func decimal(s string) (*big.Rat, bool) {
	if len(s) > maxDigits || strings.Trim(s, ".0123456789") != "" {
		return nil, false // signs, fractions, exponents and prefixes, which SetString would take
	}
	return new(big.Rat).SetString(s)
}

// quote writes a text of a user in quotation marks, cut where it is long.
func quote(s string) string {
	const most = 40
	if len(s) > most {
		return strconv.Quote(s[:most]) + "..."
	}
	return strconv.Quote(s)
}
