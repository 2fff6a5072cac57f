package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
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

// The page of servers that are programs of their own shows what they own while they work, one that begins later as soon as it is there, and that one has left.
func TestLiveServersOnAPage(t *testing.T) {
	b := browser.Open(t)
	s := newStage(t)
	s.program = testprogram.Shipped(t)
	world := balanced{s, "10"}
	one := world.run("a")
	world.run("b")
	for _, name := range []string{"a", "b"} {
		s.eventually(name+" is there", func() bool { _, err := os.Stat(filepath.Join(s.dir, name+".url")); return err == nil })
	}
	p := s.start([]string{"METASIM_TOKEN=sesame"}, "authority", "show", "--peer", "a=a.url", "--peer", "b=b.url", "--peer", "c=c.url")
	address := regexp.MustCompile(`live: (http://\S+/)`)
	s.eventually("it says where the page is", func() bool { return address.MatchString(p.err.String()) })
	url := address.FindStringSubmatch(p.err.String())[1]
	b.Show(1000, 1150, false)
	b.Goto(url)
	owns := func(name, what string) string {
		return `(document.querySelector(".server[data-server=` + name + `]")?.textContent ?? "").match(/` + what + `/) !== null`
	}
	b.Until(`document.querySelector("#state").textContent === "live" && document.querySelector("#entities").textContent === "20" && document.querySelectorAll(".server").length === 2`)
	s.eventually("it says who is not there", func() bool { return strings.Contains(p.err.String(), "c cannot be shown now") })
	world.balls = "0"
	world.run("c")
	b.Until(owns("c", "owns [1-9]") + ` && Number(document.querySelector("#moved").textContent) > 0`)
	one.tell("leave")
	b.Until(owns("a", "has left, owns 0") + ` && document.querySelector("#entities").textContent === "20"`)
	require.NotEmpty(t, b.Picture("authority-live"))
	require.Zero(t, b.Overflows())
	require.Empty(t, b.Complaints(url))
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	require.Zero(t, p.wait().status)
}
