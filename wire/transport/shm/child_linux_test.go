package shm

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The variables that make the test binary another program.
const (
	playVariable = "METASIM_SHM_TEST_PLAY"
	urlVariable  = "METASIM_SHM_TEST_URL"
)

var plays = map[string]func(url string){
	"mute":               playMute,
	"bench-echo":         playEcho,
	"bench-echo-handoff": playEchoHandoff,
	"bench-echo-ring":    playEchoRing,
	"bench-echo-socket":  playEchoSocket,
	"bench-echo-eventfd": playEchoEventfd,
	"bench-flood-1":      playFlood(1),
	"bench-flood-64":     playFlood(64),
}

// newEventfd returns a counter that the netpoller can wait for, as a child can too.
func newEventfd(t testing.TB) *os.File {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	require.NoError(t, err)
	return os.NewFile(uintptr(fd), "eventfd")
}

// child starts this binary as another program. It is killed at the end of the test at the latest.
func child(t testing.TB, play, url string, files ...*os.File) *exec.Cmd {
	t.Helper()
	require.Contains(t, plays, play)
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), playVariable+"="+play, urlVariable+"="+url)
	c.Stderr, c.ExtraFiles = os.Stderr, files
	require.NoError(t, c.Start())
	return c
}
