package show

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every text of the page can be read: its contrast with what it stands on is 4.5 to 1 at least, as WCAG 2 computes it, in the light and in
// the dark style. What is drawn has 3 to 1 where it stands for something by its colour alone.
func TestContrast(t *testing.T) {
	css, err := join("style.css")
	require.NoError(t, err)
	light, rest, ok := strings.Cut(css, "@media (prefers-color-scheme: dark)")
	require.True(t, ok)
	dark, _, _ := strings.Cut(rest, "* {")
	variable := regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`)
	for style, text := range map[string]string{"light": light, "dark": dark} {
		colors := map[string]string{}
		for _, m := range variable.FindAllStringSubmatch(text, -1) {
			colors[m[1]] = m[2]
		}
		for _, pair := range strings.Fields("ink/page ink/card soft/page soft/card accent/page accent/card accent/press critical/page critical/card wait-ink/wait ink/press soft/press") {
			front, back, _ := strings.Cut(pair, "/")
			require.Contains(t, colors, front)
			require.GreaterOrEqual(t, contrast(t, colors[front], colors[back]), 4.5, "%s in the %s style", pair, style)
		}
		for _, mark := range strings.Fields("work critical message gain") {
			require.GreaterOrEqual(t, contrast(t, colors[mark], colors["card"]), 3.0, "%s in the %s style", mark, style)
		}
	}
	script, err := join(scripts...)
	require.NoError(t, err)
	culprits := regexp.MustCompile(`culpritColors = \[(.*)\]`).FindStringSubmatch(script)
	require.NotNil(t, culprits)
	for _, color := range regexp.MustCompile(`#[0-9a-f]{6}`).FindAllString(culprits[1], -1) {
		require.GreaterOrEqual(t, contrast(t, "#18202c", color), 4.5, color)
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, color string) (sum float64) {
	t.Helper()
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(color[1+2*i:3+2*i], 16, 8)
		require.NoError(t, err, fmt.Sprint(color))
		if c := float64(n) / 255; c <= 0.04045 {
			sum += weight * c / 12.92
		} else {
			sum += weight * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return sum
}
