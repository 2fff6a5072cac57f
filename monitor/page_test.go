package monitor_test

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/browser"
	"metasim/monitor"
)

// A person opens the page, sees which client holds up the others, pauses the run, resumes it and ends it.
func TestPage(t *testing.T) {
	b := browser.Open(t)
	cue := make(chan struct{})
	d := open(t, 12, cue)
	site := d.show()
	d.stuck()
	b.Show(1280, 900, false)
	b.Goto(site.URL + "/#token=" + d.token)
	seesSlowest(t, b)
	seesWarnings(t, d, b)
	const places = `JSON.stringify([...document.querySelectorAll("th")].map(e => e.getBoundingClientRect().x))`
	before := browser.Eval[string](b, places)
	b.Do(`window.kept = document.querySelector("#rows tr"), 0`)
	asksWhy(t, b)
	arranges(t, b)
	comesBack(t, b, site)

	b.Click("#pause")
	b.Until(`document.querySelector("#state").textContent === "pausing"`)
	require.True(t, d.Snapshot().Halt.Paused)
	require.Equal(t, "Resume", b.Text("#pause"))
	close(cue)
	b.Until(`document.querySelector("#state").textContent === "paused"`)
	require.Equal(t, "What the run waits for:", b.Text("#why-title"))
	require.Contains(t, b.Text("#chain"), "the run is paused at ")
	b.Until(`document.querySelector("#rows .waits").textContent === "the pause"`)
	require.Equal(t, before, browser.Eval[string](b, places), "the columns stay where they are")
	require.True(t, browser.Eval[bool](b, `window.kept.isConnected`), "the rows stay what they are: they may be selected")
	at := d.Snapshot().Halt.Next
	b.Click("#step")
	b.Until(fmt.Sprintf(`document.querySelector("#now").title !== %q`, at))
	require.True(t, d.Snapshot().Halt.Paused)
	b.Click("#until-time")
	b.Type("soon")
	b.Click("#until button")
	b.Until(`!document.querySelector("#notice").hidden`)
	require.Contains(t, b.Text("#notice"), "not a duration")
	b.Do(`document.querySelector("#until-time").value = "2.5s"`)
	b.Click("#until button")
	b.Until(`document.querySelector("#now").textContent === "2.500 s" && document.querySelector("#state").textContent === "paused"`)
	require.Contains(t, b.Complaints(site.URL), "error: Failed to load resource: the server responded with a status of 409 (Conflict) "+site.URL+"/ctl/until?t=soon")

	b.Click("#filter")
	b.Type("robot-1 wait")
	b.Until(`document.querySelectorAll("#rows tr").length === 3`) // 1, 10 and 11
	b.Picture("live-filtered")
	b.Click("#quit")
	b.Click(`#sure button[value=no]`)
	b.Click("#quit")
	b.Click(`#sure button[value=quit]`)
	b.Until(`document.querySelector("#state").textContent === "failed"`)
	require.Contains(t, b.Text("#notice"), "it was ended by")
	select {
	case <-d.ended:
	case <-time.After(time.Minute):
		require.Fail(t, "the run does not end")
	}
	require.ErrorIs(t, d.err, monitor.ErrQuit)
	require.Empty(t, b.Complaints(site.URL))
}

// seesWarnings looks at what is probably not meant.
func seesWarnings(t *testing.T, d *depot, b *browser.Browser) {
	d.monitor.Warn([]string{"plant subscribes to STAET, which nobody publishes; did you mean STATE?", "a second <b>one</b>"})
	b.Until(`!document.querySelector("#warnings").hidden && document.querySelectorAll("#warned li").length === 2`)
	require.Contains(t, b.Text("#warned"), "a second <b>one</b>")
}

// seesSlowest looks at the client that holds up the others, on a screen and on a phone, light and dark.
func seesSlowest(t *testing.T, b *browser.Browser) {
	b.Until(`document.querySelectorAll("#rows tr").length === 14`)
	b.Until(`document.querySelector("#rows tr .holds").textContent === "13.0"`)
	require.Equal(t, "running", b.Text("#state"))
	require.Equal(t, "camera", b.Text("#slowest"))
	require.Equal(t, "camera", b.Text("#rows tr.blamed td.name"))
	require.Contains(t, b.Text("#chain"), "waits for camera")
	require.Contains(t, b.Text("#chain li:last-child"), "camera at 1.1s has been computing for")
	for _, dark := range []bool{false, true} {
		for _, width := range []int{1280, 390} {
			b.Show(width, 900, dark)
			b.Until(fmt.Sprintf("innerWidth === %d", width))
			require.NotEmpty(t, b.Picture(fmt.Sprintf("live-%d-%v", width, dark)))
			require.Zero(t, b.Overflows(), "at %d pixels", width)
		}
	}
	b.Show(1280, 900, false)
}

// asksWhy clicks on a client that waits.
func asksWhy(t *testing.T, b *browser.Browser) {
	b.ClickUntil("#rows tr:nth-child(5) .ask", `!document.querySelector("#asked").hidden`)
	require.Contains(t, b.Text("#answer li"), b.Text("#rows tr:nth-child(5) .ask")+" at 1.2s waits for planner: ")
	require.Contains(t, b.Text("#answer li:last-child"), "camera at 1.1s has been computing for ")
	b.Click("#close")
	b.Until(`document.activeElement.dataset.client === "robot-2"`) // the focus returns, for users of the keyboard
}

// arranges sorts rows, puts alike ones together, selects one by keys, and looks at the help and at who held up the others before.
func arranges(t *testing.T, b *browser.Browser) {
	first := func(want string) {
		b.Until(fmt.Sprintf(`document.querySelector("#rows .ask").textContent === %q`, want))
	}
	b.Click(`th button[data-sort=client]`)
	b.Until(`document.querySelector("th.name").getAttribute("aria-sort") === "ascending"`)
	first("camera")
	b.Click(`th button[data-sort=client]`)
	first("robot-11")
	b.Click(`th button[data-sort=client]`)
	first("camera")
	require.Zero(t, browser.Eval[int](b, `document.querySelectorAll("th[aria-sort]").length`))
	press := func(key string) {
		b.Do(fmt.Sprintf(`(document.activeElement || document.body).dispatchEvent(new KeyboardEvent("keydown", {key: %q, bubbles: true})), 0`, key))
	}
	press("a")
	b.Until(`[...document.querySelectorAll("#rows .ask")].map(e => e.textContent).join() === "camera,planner,robot-* × 12"`)
	require.Equal(t, "12 waiting", b.Text("#rows tr:nth-child(3) .word"))
	require.Empty(t, b.Text("#more"), "no client is left out")
	b.Until(`!document.querySelector("#past").hidden`)
	b.Until(`document.querySelector("#past-legend").textContent.includes("camera")`)
	b.Until(`Math.abs([...document.querySelectorAll("#past-legend span")].reduce((sum, e) => sum + Number(e.textContent.match(/(\d+).%/)[1]), 0) - 100) < 3`)
	b.Until(`[...document.querySelectorAll("#past-strip div")].every((e) => e.scrollHeight <= e.clientHeight + 1) && document.querySelector("#past-strip div i").clientHeight > 9`)
	for _, width := range []int{1280, 390} {
		b.Show(width, 900, width == 390)
		require.NotEmpty(t, b.Picture(fmt.Sprintf("live-groups-%d", width)))
		require.Zero(t, b.Overflows(), "at %d pixels", width)
	}
	b.Show(1280, 900, false)
	press("a")
	b.Until(`document.querySelectorAll("#rows tr").length === 14`)
	press("j")
	press("j")
	b.Until(`document.activeElement.dataset.client === "planner"`)
	press("?")
	b.Until(`document.querySelector("#help").open`)
	require.NotEmpty(t, b.Picture("live-help"))
	press("p")
	b.Do(`document.querySelector("#help").close(), 0`)
	require.Equal(t, "running", b.Text("#state"), "in the help p is no command")
	require.Regexp(t, ` so far$`, b.Text("#elapsed"))
	require.Regexp(t, ` to go$`, b.Text("#eta"))
}

// comesBack breaks the connection: the page says so, and goes on asking.
func comesBack(t *testing.T, b *browser.Browser, site *httptest.Server) {
	require.Empty(t, b.Complaints(site.URL))
	site.CloseClientConnections()
	b.Until(`document.querySelector("#state").textContent === "lost"`)
	require.Contains(t, b.Text("#notice"), "The run has not answered since ")
	b.Until(`document.querySelector("#state").textContent === "running" && document.querySelector("#notice").hidden`)
	for _, c := range b.Complaints(site.URL) {
		require.Contains(t, c, site.URL+"/events", "of a connection that broke the browser itself complains")
	}
}
