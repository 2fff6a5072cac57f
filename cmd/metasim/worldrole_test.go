package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// apart is a stage with a world in two copies that differ in a blank, and the hashes of its states.
func apart(t *testing.T) (s *stage, hashes string) {
	s = newStage(t)
	world := strings.ReplaceAll(roomy, "SHAPE", "<box><size>8 8 8</size></box>")
	s.file("w.sdf", world)
	s.file("other.sdf", world+" ")
	e := s.metasim("world", "run", "w.sdf", "--iterations", "60", "--hashes", "alone")
	require.Zero(t, e.status, e.err)
	return s, string(s.read("alone"))
}

// primary starts one that waits for two secondaries.
func (s *stage) primary(args ...string) *running {
	s.Helper()
	return s.start([]string{"METASIM_TOKEN=sesame"}, append([]string{"world", "run", "w.sdf", "--network-role", "primary", "--network-secondaries", "2"}, args...)...)
}

func (s *stage) secondary(token, file, address string, args ...string) *running {
	s.Helper()
	return s.start([]string{"METASIM_TOKEN=" + token}, append([]string{"world", "run", file, "--network-role", "secondary", "--connect", address}, args...)...)
}

// Secondaries that are started elsewhere move the models of a primary, and its states are those of a world that is alone. The name of each is the first that nobody has.
func TestWorldOverQUIC(t *testing.T) {
	s, want := apart(t)
	p := s.primary("--iterations", "60", "--hashes", "hashes", "--ready-file", "ready")
	address := p.readyURL("ready")
	require.True(t, strings.HasPrefix(address, "quic://"))
	stranger := s.secondary("guess", "w.sdf", address).wait()
	assert.Equal(t, 1, stranger.status)
	assert.Contains(t, stranger.err, "quic://")
	first, second := s.secondary("sesame", "w.sdf", address), s.secondary("sesame", "w.sdf", address, "--json")
	a, b := first.wait(), second.wait()
	require.Zero(t, a.status, a.err)
	require.Zero(t, b.status, b.err)
	assert.Regexp(t, "^secondary-[12] has moved models until the run ended\n$", a.out)
	assert.Regexp(t, `^{"ok":true,"error":"","name":"secondary-[12]"}\n$`, b.out)
	e := p.wait()
	require.Zero(t, e.status, e.err)
	assert.Contains(t, e.err, "waiting for 2 secondaries: metasim world run w.sdf --network-role secondary --connect '"+address+"'")
	assert.Equal(t, want, string(s.read("hashes")))
}

// Secondaries may be there before their primary. One with another file is told so, and so is the primary, which ends.
func TestWorldOfAnotherFile(t *testing.T) {
	s, _ := apart(t)
	socket := filepath.Join(s.temp, "door")
	first, second := s.secondary("sesame", "other.sdf", "unix://"+socket), s.secondary("sesame", "w.sdf", "unix://"+socket)
	p := s.primary("--iterations", "60", "--runtimes", "unix", "--listen", socket)
	e := p.wait()
	assert.Equal(t, 1, e.status)
	assert.Contains(t, e.err, "other.sdf is not the world of the primary: its SHA-256 is ")
	other := first.wait()
	assert.Equal(t, 1, other.status)
	assert.Contains(t, other.err, "copy the file from the primary's host")
	assert.Equal(t, 1, second.wait().status)
}

// A primary says who is missing, and a secondary that nobody waited for it.
func TestWorldWithoutOthers(t *testing.T) {
	s, _ := apart(t)
	socket := filepath.Join(s.temp, "door")
	nobody := s.secondary("sesame", "w.sdf", "unix://"+socket, "--start-timeout", "50ms").wait()
	assert.Equal(t, 1, nobody.status)
	assert.Contains(t, nobody.err, "no primary waits for secondaries at unix://"+socket)
	p := s.primary("--iterations", "60", "--runtimes", "unix", "--listen", socket, "--start-timeout", "1s", "--ready-file", "ready")
	p.readyURL("ready")
	one := s.secondary("sesame", "w.sdf", "unix://"+socket)
	e := p.wait()
	assert.Equal(t, 1, e.status)
	assert.Regexp(t, "secondary-[12].* not joined after 1s", e.err)
	assert.Equal(t, 1, one.wait().status)
}

// A secondary that is killed ends the world, as in Gazebo, and the error names it.
func TestWorldWhoseSecondaryIsKilled(t *testing.T) {
	s, _ := apart(t)
	socket := filepath.Join(s.temp, "door")
	p := s.primary("--until", "1h", "--rate", "4", "--runtimes", "unix", "--listen", socket, "--out", "killed")
	guess := s.secondary("guess", "w.sdf", "unix://"+socket).wait()
	assert.Contains(t, guess.err, "the token fits no secondary of the primary at unix://")
	first, second := s.secondary("sesame", "w.sdf", "unix://"+socket), s.secondary("sesame", "w.sdf", "unix://"+socket)
	require.Eventually(t, func() bool { // its steps are in the journal
		journal, err := os.Stat(filepath.Join(s.dir, "killed", "journal"))
		return err == nil && journal.Size() > 1<<16
	}, patience, 10*time.Millisecond, "it has not begun")
	require.NoError(t, first.cmd.Process.Kill())
	first.wait()
	e := p.wait()
	assert.Equal(t, 1, e.status)
	assert.Regexp(t, `client "secondary-[12]" was lost`, e.err)
	assert.Equal(t, 1, second.wait().status)
}

// Roles that contradict other flags are refused, each with what to write instead.
func TestWorldRolesThatCannotBe(t *testing.T) {
	s, _ := apart(t)
	s.file("two.sdf", `<sdf version="1.9"><world name="a"/><world name="b"/></sdf>`)
	for want, args := range map[string]string{
		`--network-role is "observer"; write primary or secondary`:           "w.sdf --network-role observer",
		"--network-secondaries is 0; write for how many":                     "w.sdf --network-role primary --iterations 5",
		"--network-secondaries is 65; write for how many":                    "w.sdf --network-role primary --network-secondaries 65",
		"--network-secondaries is for the primary":                           "w.sdf --network-secondaries 2 --iterations 5",
		"--listen is for the primary":                                        "w.sdf --listen :1 --iterations 5",
		"--connect is for a secondary":                                       "w.sdf --connect tcp://a:1 --iterations 5",
		"--iterations is for the primary to say":                             "w.sdf --network-role secondary --connect tcp://a:1 --iterations 5",
		"no primary to join; use --connect":                                  "w.sdf --network-role SECONDARY",
		"--secondaries starts secondaries here":                              "w.sdf --network-role primary --network-secondaries 2 --secondaries 2 --iterations 5",
		"nobody reaches --runtimes mem from elsewhere":                       "w.sdf --network-role primary --network-secondaries 2 --runtimes mem --iterations 5",
		"--start-timeout is 1s; write a time above 0, and --network-role":    "w.sdf --start-timeout 1s --iterations 5",
		"two.sdf has 2 worlds, and a primary runs one; name it with --world": "two.sdf --network-role primary --network-secondaries 2 --iterations 5",
		"no such file": "none.sdf --network-role secondary --connect tcp://a:1",
	} {
		e := s.metasim(append([]string{"world", "run"}, strings.Fields(args)...)...)
		assert.Equal(t, 2, e.status, args)
		assert.Contains(t, e.err, want)
	}
}
