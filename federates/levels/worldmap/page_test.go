package worldmap

import (
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/internal/browser"
	"metasim/metasim"
)

// circling returns frames of models that go round in a circle.
func circling(models, n int) (all []*Frame) {
	l := &Layout{World: `the <yard> & "</script>"`, Owners: []string{"secondary-1", "secondary-2"},
		Levels: []Level{{"west", Box{-8, -4, 0, 4}, Box{-10, -6, 2, 6}}, {"east", Box{0, -4, 8, 4}, Box{-2, -6, 10, 6}}}}
	for i := range models {
		l.Bodies = append(l.Bodies, Body{Name: fmt.Sprintf("robot-%d", i), Performer: true, Size: [2]float64{2, 2}})
	}
	for k := range n {
		f := &Frame{Layout: l, Time: metasim.Time(k) * metasim.Second, Iteration: uint64(k + 1), Loaded: []Loaded{{0, 0}, {1, 1}}}
		for i := range models {
			angle := float64(k)/20 + float64(i)/float64(models)*2*math.Pi
			f.X, f.Y, f.Group = append(f.X, 6*math.Cos(angle)), append(f.Y, 3*math.Sin(angle)), append(f.Group, (i+1)/models)
			f.Owner = append(f.Owner, i%2)
		}
		all = append(all, f)
	}
	return all
}

func pageOf(t testing.TB, all []*Frame) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, Page(&b, all))
	return b.String()
}

// The page plays, steps and jumps, by the mouse and by keys, needs nothing else, and can be read on small and dark screens.
func TestThePagePlays(t *testing.T) {
	b := browser.Open(t)
	path := filepath.Join(t.TempDir(), "index.html")
	all := circling(4, 12)
	require.NoError(t, os.WriteFile(path, []byte(pageOf(t, all)), 0o644))
	address := (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
	b.Show(1280, 1000, false)
	b.Goto(address)
	at := func(i int) {
		t.Helper()
		b.Until(fmt.Sprintf(`document.documentElement.dataset.at === "%d" && document.getElementById("at").value === "%[1]d"`, i))
		require.Equal(t, all[i].Instant(), browser.Eval[string](b, `document.querySelector(".map .head").textContent`))
	}
	at(0)
	require.Equal(t, all[0].Layout.World, b.Text("h1"))
	require.Equal(t, 4+2, browser.Eval[int](b, `document.querySelectorAll(".map .body").length`))
	b.Click("#on")
	at(1)
	b.Type("\u0303\u0303") // right
	at(3)
	b.Type("\u0302") // left
	at(2)
	b.Type("\u0305") // end
	at(11)
	b.Click("#play")
	b.Until(`document.documentElement.dataset.at > 1`)
	b.Click("#play")
	require.Equal(t, "Play", b.Text("#play"))
	b.Do(`document.activeElement.blur()`)
	b.Type("\u0306") // home
	at(0)
	b.Type(" ")
	at(11)
	b.Until(`document.getElementById("play").textContent === "Play"`)
	axe, err := os.ReadFile(os.Getenv("METASIM_AXE"))
	if err != nil {
		t.Log("SKIPPED LOUDLY: METASIM_AXE names no axe.min.js (npm install axe-core), so the page is not checked by it")
	}
	for _, dark := range []bool{false, true} {
		for _, wide := range []int{1280, 390} {
			b.Show(wide, 1000, dark)
			b.Picture(fmt.Sprintf("map-%d-%v", wide, dark))
			require.Zero(t, b.Overflows())
			if len(axe) == 0 {
				continue
			}
			b.Do("(() => {" + string(axe) + "\n})()")
			found := browser.Eval[[]string](b, `axe.run(document).then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html.slice(0, 160) + " " + n.failureSummary)))`)
			require.Empty(t, found, "dark: %v, width: %d", dark, wide)
		}
	}
	require.Empty(t, b.Complaints(address))
}

// A page has a size that mail takes: of many instants it leaves some out, and says so.
func TestThePageIsBounded(t *testing.T) {
	short := pageOf(t, circling(3, 5))
	assert.Contains(t, short, "All 5 instants are here.")
	assert.NotContains(t, short[strings.Index(short, `id="data"`):], "<!--")
	many := circling(150, 100)
	long := pageOf(t, many)
	assert.Less(t, len(long), mostBytes+1_000_000)
	assert.Contains(t, long, "Of 100 instants ")
	assert.Equal(t, 2, strings.Count(long, "</script>"), "no name ends the element that has the data")
}
