package live_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/browser"
	"metasim/live"
)

// A person opens the page, sees who holds everybody up, pauses the run, lets it go on and ends it.
func TestPage(t *testing.T) {
	b := browser.Open(t)
	cue := make(chan struct{})
	d := open(t, 12, cue)
	site := d.show()
	d.stuck()
	b.Show(1280, 900, false)
	b.Goto(site.URL + "/#token=" + d.token)
	b.Until(`document.querySelectorAll("#rows tr").length === 14`)
	b.Until(`document.querySelector("#rows tr .holds").textContent === "13.0"`)
	require.Equal(t, "running", b.Text("#state"))
	require.Equal(t, "camera", b.Text("#slowest"))
	require.Equal(t, "camera", b.Text("#rows tr.blamed td.name"))
	require.Contains(t, b.Text("#chain"), "waits for camera")
	require.Contains(t, b.Text("#chain li:last-child"), "camera at 1.1s is computing since")
	for _, dark := range []bool{false, true} {
		for _, width := range []int{1280, 390} {
			b.Show(width, 900, dark)
			b.Until(fmt.Sprintf("innerWidth === %d", width))
			require.NotEmpty(t, b.Picture(fmt.Sprintf("live-%d-%v", width, dark)))
			require.Zero(t, b.Overflows(), "at %d pixels", width)
		}
	}
	b.Show(1280, 900, false)

	b.Click("#pause")
	b.Until(`document.querySelector("#state").textContent === "pausing"`)
	require.True(t, d.Snapshot().Halt.Paused)
	require.Equal(t, "Resume", b.Text("#pause"))
	close(cue)
	b.Until(`document.querySelector("#state").textContent === "paused"`)
	at := d.Snapshot().Halt.Next
	b.Click("#step")
	b.Until(fmt.Sprintf(`document.querySelector("#now").title !== %q`, at))
	require.True(t, d.Snapshot().Halt.Paused)
	b.Click("#until-time")
	b.Type("soon")
	b.Click("#until button")
	b.Until(`!document.querySelector("#notice").hidden`)
	require.Contains(t, b.Text("#notice"), "not a duration")
	b.Eval(`document.querySelector("#until-time").value = "2.5s"`, nil)
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
	select {
	case <-d.ended:
	case <-time.After(time.Minute):
		require.Fail(t, "the run does not end")
	}
	require.ErrorIs(t, d.err, live.ErrQuit)
	require.Empty(t, b.Complaints(site.URL))
}
