package delay

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"metasim/metasim"
)

// ParseDuration reads a duration as scenarios write it: a decimal number and one of ns, us, ms, s, m and h, as in "5ms"
// or "1.5s"; or "0". It is exact: what is finer than a nanosecond is refused, not rounded. It reads all that
// metasim.Time's String writes of times that are neither negative nor metasim.Forever.
func ParseDuration(s string) (metasim.Time, error) {
	if s == "" {
		return 0, errors.New("a duration is empty; write one such as 5ms")
	}
	number, name := cut(s)
	value, ok := decimal(number)
	if !ok {
		if strings.HasPrefix(s, "-") {
			return 0, fmt.Errorf("%s is negative; write a duration of 0 or more, such as 5ms", quote(s))
		}
		return 0, fmt.Errorf("%s is not a duration; write a number and a unit, such as 5ms", quote(s))
	}
	unit, known := timeUnits[name]
	switch {
	case name == "" && value.Sign() == 0:
		return 0, nil
	case name == "":
		return 0, fmt.Errorf("%s has no unit; write %sns, %[2]sus, %[2]sms, %[2]ss, %[2]sm or %[2]sh", quote(s), number)
	case !known:
		return 0, fmt.Errorf("%s has the unknown unit %s; write one number and one of ns, us, ms, s, m and h",
			quote(s), quote(name))
	}
	switch value.Mul(value, big.NewRat(int64(unit), 1)); {
	case !value.IsInt():
		return 0, fmt.Errorf("%s is finer than a nanosecond; round it to whole nanoseconds", quote(s))
	case !fits(value.Num()):
		return 0, fmt.Errorf("%s does not fit; the longest duration is 292 years, or 2562047h", quote(s))
	}
	return metasim.Time(value.Num().Int64()), nil
}

// timeUnits are the units of time, as scenarios write them.
var timeUnits = map[string]metasim.Time{
	"ns": metasim.Nanosecond, "us": metasim.Microsecond, "ms": metasim.Millisecond,
	"s": metasim.Second, "m": 60 * metasim.Second, "h": 3600 * metasim.Second,
}

// fits reports whether a number of nanoseconds is a time before metasim.Forever.
func fits(ns *big.Int) bool { return ns.IsInt64() && metasim.Time(ns.Int64()) < metasim.Forever }
