package main

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/browser"
	"metasim/internal/testprogram"
)

// A person opens the page of a world of four servers, and sees who owns each of its balls, who moves it, and that balls get other owners when a server joins.
func TestAuthorityOnAPage(t *testing.T) {
	b := browser.Open(t)
	s := newStage(t)
	s.program = testprogram.Shipped(t)
	p := s.start(nil, "authority", "show", "--until", "10m")
	address := regexp.MustCompile(`live: (http://\S+/)owners/#token=\S+`)
	require.Eventually(t, func() bool { return address.MatchString(p.err.String()) }, time.Minute, 10*time.Millisecond)
	found := address.FindStringSubmatch(p.err.String())
	b.Show(1000, 1150, false)
	b.Goto(found[0][len("live: "):])
	b.Until(`document.querySelector("#state").textContent === "live" && document.querySelectorAll(".server").length === 4`)
	b.Until(`document.querySelector("#entities").textContent === "100" && Number(document.querySelector("#moved").textContent) > 0`)
	require.Contains(t, b.Text(".server[data-server=west]"), "owns")
	require.NotEmpty(t, b.Picture("authority"))
	require.Zero(t, b.Overflows())
	b.Show(390, 900, true)
	require.Zero(t, b.Overflows())
	require.Empty(t, b.Complaints(found[1]))
	require.Zero(t, s.metasim("ctl", "quit", "--http", found[1][:len(found[1])-1]+"/#"+regexp.MustCompile(`token=\S+`).FindString(found[0])).status)
	e := p.wait()
	require.Equal(t, 1, e.status)
	require.Contains(t, e.err, "it was ended by")
}
