package worlds

import (
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/levels/worldmap"
	"metasim/internal/browser"
	"metasim/metasim"
)

// The page shows each map as it comes, in both styles and on small screens, and says when the run is over. It asks nobody but the run.
func TestThePageInABrowser(t *testing.T) {
	p := New([]string{"w/map"})
	server := httptest.NewServer(p.Handler())
	defer server.Close()
	l := &worldmap.Layout{World: "yard", Owners: []string{"a"}, Levels: []worldmap.Level{{Name: "l", Outer: worldmap.Box{0, 0, 9, 9}}}, Bodies: []worldmap.Body{{Name: "<robot>", Performer: true, Size: [2]float64{2, 2}}}}
	publish := func(iteration int) {
		b, err := worldmap.Encode(moving(l, iteration), nil)
		require.NoError(t, err)
		require.NoError(t, p.Observe(0, &metasim.Send{Channel: "w/map", Payload: b}, nil))
	}
	b := browser.Open(t)
	b.Show(1280, 1000, false)
	b.Goto(server.URL + "/")
	b.Until(`document.getElementById("state").textContent === "waiting"`)
	for i := range 3 {
		publish(i)
		b.Until(`document.querySelector(".map .head")?.textContent.endsWith("iteration ` + string(rune('0'+i)) + `")`)
	}
	require.Equal(t, "<robot>", browser.Eval[string](b, `document.querySelector(".map .who").textContent`))
	axe, err := os.ReadFile(os.Getenv("METASIM_AXE"))
	if err != nil {
		t.Log("SKIPPED LOUDLY: METASIM_AXE names no axe.min.js (npm install axe-core), so the page is not checked by it")
	}
	for _, dark := range []bool{false, true} {
		b.Show(390, 900, dark)
		require.Zero(t, b.Overflows())
		if len(axe) > 0 {
			b.Do("(() => {" + string(axe) + "\n})()")
			found := browser.Eval[[]string](b, `axe.run(document).then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html.slice(0, 160) + " " + n.failureSummary)))`)
			require.Empty(t, found, "dark: %v", dark)
		}
	}
	p.End()
	b.Until(`document.getElementById("state").textContent === "over"`)
	require.Empty(t, b.Complaints(server.URL))
}
