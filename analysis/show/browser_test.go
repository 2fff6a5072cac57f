package show

import (
	"bytes"
	"fmt"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/internal/browser"
)

// open writes a page to a file and opens the file in a browser.
func open(t *testing.T, run func(testing.TB) (*trace.Timeline, *report.Report)) (b *browser.Browser, address string) {
	t.Helper()
	b = browser.Open(t)
	path := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(path, []byte(pageOf(t, run)), 0o644))
	address = (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
	b.Show(1280, 800, false)
	b.Goto(address)
	b.Until(`document.documentElement.dataset.drawn === "yes"`)
	return b, address
}

// inked counts how many different colours a canvas has: what nothing is drawn on has one.
const inked = `(() => { const c = document.querySelector("#lanes"), k = document.createElement("canvas");
	k.width = c.width; k.height = c.height; const x = k.getContext("2d", {willReadFrequently: true}); x.drawImage(c, 0, 0); const d = x.getImageData(0, 0, c.width, c.height).data;
	const s = new Set(); for (let i = 0; i < d.length; i += 4) s.add(d[i] + "," + d[i+1] + "," + d[i+2] + "," + d[i+3]); return s.size; })()`

// redOff is the greatest difference, in seconds, between what is drawn of the critical path in a lane and what the table of clients says.
const redOff = `(() => { const d = JSON.parse(document.querySelector("#data").textContent), red = d.lanes.map(() => 0);
	for (let i = 0; i < d.critical.length; i += 4) red[d.critical[i]] += d.critical[i + 3];
	return Math.max(...d.report.clients.map((c, i) => Math.abs(c.critical_s - red[d.names.indexOf(c.name)] / 1e9))); })()`

func TestThePageInABrowser(t *testing.T) {
	b, address := open(t, robot)
	require.Contains(t, b.Text("h1"), "robot")
	require.Contains(t, b.Text("#headline"), "computed at once")
	require.Contains(t, b.Text("#breakdown"), "needed by messages alone")
	for selector, least := range map[string]int{
		"#headline .figure": 4, "#breakdown .stack i": 1, "#blame .ribbon": 2, "#usage .stack": 4, "#whatif .if": 1, "#cores .stack": 2,
		"#advice li": 1, "#links tbody tr": 3, "#clients tbody tr": 4,
	} {
		n := browser.Eval[int](b, `document.querySelectorAll("`+selector+`").length`)
		require.GreaterOrEqual(t, n, least, selector)
	}
	b.Until(inked + " > 20")
	require.Less(t, browser.Eval[float64](b, redOff), 1e-9, "red adds up to the column of the table")
	for _, look := range []struct {
		name  string
		width int
		dark  bool
	}{{"laptop-light", 1280, false}, {"laptop-dark", 1280, true}, {"phone-light", 390, false}, {"phone-dark", 390, true}} {
		b.Show(look.width, 2400, look.dark)
		b.Until(inked + " > 20")
		require.LessOrEqual(t, b.Overflows(), 0, look.name)
		picture, err := png.Decode(bytes.NewReader(b.Picture("report-" + look.name)))
		require.NoError(t, err)
		require.Equal(t, look.width, picture.Bounds().Dx())
	}
	require.Empty(t, b.Complaints(address))
}

// What hands do: the other axis, messages, zoom, a look at a bar, a filter, a table sorted.
func TestThePageAnswers(t *testing.T) {
	b, address := open(t, robot)
	drawing := func() string {
		return browser.Eval[string](b, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(document.querySelector("#lanes").toDataURL()))))`)
	}
	before := drawing()
	for _, button := range []string{"#arrows", "#axis-sim", "#axis-wall", "#zoom-in", "#zoom-all", "#critical"} {
		b.Click(button)
		after := drawing()
		require.NotEqual(t, before, after, button)
		before = after
	}
	b.Click("#zoom-in")
	b.Click("#lanes")
	b.Until(`document.querySelector("#detail").innerText.includes("computed")`)
	b.Click("#filter")
	b.Type("plan")
	b.Until(`document.querySelector("#lanes").clientHeight < 150`)
	require.Equal(t, "camera", b.Text("#links tbody td"), "its link to the planner is the most critical one")
	b.Click("#links th button")
	require.Equal(t, "base", b.Text("#links tbody td"), "by name")
	require.Empty(t, b.Complaints(address))
}

func TestNamesAreNoMarkupInABrowser(t *testing.T) {
	b, address := open(t, rude)
	b.Until(`document.body.innerText.includes("window.broken = 1")`)
	b.Click("#lanes")
	b.Until(`document.querySelector("#detail").innerText.includes("computed")`)
	require.True(t, browser.Eval[bool](b, `window.broken === undefined && document.querySelectorAll("img").length === 0`))
	require.Empty(t, b.Complaints(address))
}

func TestALongRunInABrowser(t *testing.T) {
	b, address := open(t, func(testing.TB) (*trace.Timeline, *report.Report) { return long(300_000, 60) })
	b.Until(inked + " > 20")
	require.Less(t, browser.Eval[int](b, `document.querySelector("#lanes").clientHeight`), 200, "alike clients share a row")
	b.Click("#group")
	b.Click("#lanes-button")
	b.Until(`document.querySelector("#lanes").clientHeight > 60 * 20`)
	require.Empty(t, b.Complaints(address))
}

// What a mouse selects is summed up, keys move and zoom, and a name is marked wherever it is.
func TestTheTimelineIsWorkedWith(t *testing.T) {
	b, address := open(t, robot)
	drawing := func() string {
		return browser.Eval[string](b, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(document.querySelector("#lanes").toDataURL()))))`)
	}
	b.Drag("#lanes", 0.3, 0.6, 0.6, 0.6)
	b.Until(`document.querySelector("#detail").innerText.includes("wall clock from")`)
	require.Contains(t, b.Text("#detail"), "on the critical path")
	require.Contains(t, b.Text("#detail"), "planner computed")
	before := drawing()
	for _, key := range []string{"\r", "w", "d", "a", "s"} { // Enter zooms to what is selected
		b.Type(key)
		after := drawing()
		require.NotEqual(t, before, after, key)
		before = after
	}
	b.Click("#zoom-all")
	before = drawing()
	b.Click("#culprits")
	require.NotEqual(t, before, drawing())
	require.Contains(t, b.Text("#legend"), "waits for planner")
	b.Do(`document.querySelector('#clients td[data-name="planner"]').dispatchEvent(new PointerEvent("pointerover", {bubbles: true}))`)
	for _, part := range []string{"#clients td", "#links td", "#usage span", "#blame text"} {
		b.Until(`document.querySelector('` + part + `[data-name="planner"]').classList.contains("same")`)
		require.False(t, browser.Eval[bool](b, `Boolean(document.querySelector('`+part+`.same:not([data-name="planner"])'))`))
	}
	require.NotEmpty(t, browser.Eval[string](b, `document.querySelector("#clients th:nth-child(6)").title`))
	require.Empty(t, b.Complaints(address))
}

// The sums of a selection of everything are those of the tables; bars of the graph have the heights of their times.
func TestSumsOnThePage(t *testing.T) {
	b, _ := open(t, robot)
	b.Drag("#lanes", 0.998, 0.6, 0.05, 0.6)
	b.Until(`document.querySelector("#detail").innerText.includes("wall clock from 0 ")`)
	_, r := robot(t)
	require.Contains(t, b.Text("#detail"), "computed "+ofPage(r.WorkS)+",", "all that the clients computed")
	heights := browser.Eval[[]float64](b, `[...document.querySelectorAll("#blame rect")].map((e) => Number(e.getAttribute("height")))`)
	ribbons := browser.Eval[float64](b, `[...document.querySelectorAll("#blame path")].reduce((sum, e) => sum + Number(e.getAttribute("d").match(/V([0-9.e-]+)C/)[1]) -
		Number(e.getAttribute("d").match(/ [0-9.e-]+,([0-9.e-]+)V/)[1]), 0)`)
	sum := 0.0
	for _, h := range heights {
		sum += h
	}
	require.InDelta(t, 2*ribbons, sum, 3, "both sides, and nothing has a least height but a pixel")
}

// ofPage writes a time as the page does.
func ofPage(s float64) string { return fmt.Sprintf("%.1fms", 1000*s) }

// axeCore is a program that finds what keeps people from using a page. METASIM_AXE names it: axe.min.js of the npm package axe-core.
func axeCore(t *testing.T) string {
	text, err := os.ReadFile(os.Getenv("METASIM_AXE"))
	if err != nil {
		t.Skip("SKIPPED LOUDLY: METASIM_AXE names no axe.min.js (npm install axe-core), so the page is not checked by it")
	}
	return string(text)
}

func TestThePageIsAccessible(t *testing.T) {
	axe := axeCore(t)
	b, _ := open(t, robot)
	for _, dark := range []bool{false, true} {
		for _, width := range []int{1280, 390} {
			b.Show(width, 1600, dark)
			b.Do("(() => {" + axe + "\n})()")
			found := browser.Eval[[]string](b, `axe.run(document).then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html.slice(0, 160) + " " + n.failureSummary)))`)
			require.Empty(t, found, "dark: %v, width: %d", dark, width)
		}
	}
}
