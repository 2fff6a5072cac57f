package federates

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"metasim/metasim"
)

// parseDuration reads "5ms".
func parseDuration(s string) (metasim.Time, error) {
	units := []struct {
		name string
		ns   float64
	}{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 6e10}, {"h", 3.6e12}}
	for _, u := range units {
		if n, ok := strings.CutSuffix(s, u.name); ok {
			if x, err := strconv.ParseFloat(n, 64); err == nil && math.Abs(x*u.ns) < 1e18 {
				return metasim.Time(math.Round(x * u.ns)), nil
			}
		}
	}
	return 0, fmt.Errorf("federates: %q is no duration; write 5ms", s)
}
