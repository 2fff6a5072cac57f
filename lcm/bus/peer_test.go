package bus

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/internal/netns"
	"metasim/lcm"
	"metasim/metasim"
)

// These tests run the buses with the programs of LCM. In CI (.ci/run) all of these are installed.

// need skips a test, loudly, if a program is missing.
func need(t testing.TB, programs ...string) {
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("SKIPPED LOUDLY: no %s here; apt-get install liblcm-bin liblcm-dev gcc libc6-dev", p)
		}
	}
	if !netns.Given() {
		t.Skip("SKIPPED LOUDLY: no network namespace here, so multicast is not to be relied on")
	}
}

// build compiles a program of testdata against liblcm.
func build(t testing.TB, name string) string {
	need(t, "gcc", "lcm-logger")
	if _, err := os.Stat("/usr/include/lcm/lcm.h"); err != nil {
		t.Skip("SKIPPED LOUDLY: no <lcm/lcm.h> here; apt-get install liblcm-dev")
	}
	bin := filepath.Join(t.TempDir(), name)
	out, err := exec.Command("gcc", "-o", bin, "testdata/"+name+".c", "-llcm").CombinedOutput()
	require.NoError(t, err, string(out))
	return bin
}

// A peer is a program that runs beside the test.
type peer struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func start(t testing.TB, program string, args ...string) *peer {
	p := &peer{t: t, cmd: exec.Command(program, args...)}
	var err error
	p.in, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewScanner(out)
	require.NoError(t, p.cmd.Start())
	stop := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() }) // it may have ended
	t.Cleanup(func() {
		stop.Stop()
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.cmd.Wait()         // it was killed
	})
	return p
}

// line returns the next line that the peer prints.
func (p *peer) line() string {
	p.t.Helper()
	require.True(p.t, p.out.Scan(), "%s ended, or said nothing", p.cmd.Path)
	return p.out.Text()
}

func sum(b []byte) string {
	h := fnv.New64a()
	h.Write(b)
	return fmt.Sprintf("%016x", h.Sum64())
}

// serveFor opens a bus for a test with other programs, and returns the URL for them.
func serveFor(t testing.TB, scheme string) (b Bus, url string) {
	url = "udpm://239.255.76.69:7669?ttl=0&recv_buf_size=2097152"
	if scheme == "tcpq" {
		url = "tcpq://127.0.0.1:0"
	}
	b, err := Open(url, Options{Serve: true})
	require.NoError(t, err)
	t.Cleanup(func() { shut(t, b) })
	if s, ok := b.(*tcpqServer); ok {
		return b, s.url
	}
	return b, url
}

// audience waits until a peer that was started receives from the bus.
func audience(t testing.TB, b Bus, heard func() bool) {
	t.Helper()
	if s, ok := b.(*tcpqServer); ok {
		subscribe(t, s, nobody{}, "")
		return
	}
	eventually(t, "somebody hears", func() bool {
		require.NoError(t, b.Publish(Message{Channel: "ANYBODY"}))
		return heard()
	})
}

func TestAProgramOfLiblcmHearsUs(t *testing.T) {
	listen := build(t, "listen")
	for _, scheme := range []string{"udpm", "tcpq"} {
		t.Run(scheme, func(t *testing.T) {
			b, url := serveFor(t, scheme)
			sizes := []int{0, 1, 100, 65_497, 65_498, 200_000, 1_000_000}
			small := 3000 // in one call, and ten times what a program's receive buffer holds by default
			url = strings.ReplaceAll(url, "&recv_buf_size=2097152", "")
			p := start(t, listen, url, "SIZE_.*", fmt.Sprint(len(sizes)+small))
			require.Equal(t, "ready", p.line())
			audience(t, b, func() bool { return true })
			for _, n := range sizes {
				require.NoError(t, b.Publish(Message{Channel: "SIZE_" + fmt.Sprint(n), Payload: payload(n)}))
				require.Equal(t, fmt.Sprintf("SIZE_%d %d %s", n, n, sum(payload(n))), p.line())
			}
			var ms []Message
			for i := range small {
				ms = append(ms, Message{Channel: "SIZE_X", Payload: append(payload(100-i/2000), byte(i))})
			}
			require.NoError(t, b.Publish(ms...))
			for i, m := range ms {
				require.Equal(t, fmt.Sprintf("SIZE_X %d %s", len(m.Payload), sum(m.Payload)), p.line(), "message %d, %+v", i, b.Stats())
			}
			require.NoError(t, p.cmd.Wait())
		})
	}
}

func TestWeHearAProgramOfLiblcm(t *testing.T) {
	publish := build(t, "publish")
	for _, scheme := range []string{"udpm", "tcpq"} {
		t.Run(scheme, func(t *testing.T) {
			b, url := serveFor(t, scheme)
			sub, err := b.Subscribe(".*")
			require.NoError(t, err)
			sizes := []int{0, 1, 126, 65_493, 65_494, 200_000, 1_000_000}
			p := start(t, publish, append([]string{url, "HELLO"}, strings.Fields(strings.Trim(fmt.Sprint(sizes), "[]"))...)...)
			for _, n := range sizes {
				_, err := io.WriteString(p.in, "\n")
				require.NoError(t, err)
				if n > 200_000 && lostToTheBuffer(t, b, sub) {
					continue
				}
				m := hear(t, sub, 1)[0]
				assert.Equal(t, "HELLO", m.Channel)
				assert.True(t, bytes.Equal(payload(n), m.Payload), "%d bytes", n)
			}
			require.NoError(t, p.in.Close())
			require.NoError(t, p.cmd.Wait())
			assert.Zero(t, b.Stats().Lost+b.Stats().Refused+b.Stats().Dropped)
		})
	}
}

// lostToTheBuffer waits for a message of a program that does not pace its datagrams, as liblcm's do not. A system's default
// receive buffer, which only root can go beyond, holds six of them: LCM's own programs lose such a message as we do. But
// then the loss is counted.
func lostToTheBuffer(t testing.TB, b Bus, sub *Subscription) (lost bool) {
	eventually(t, "the message came, or its loss is counted", func() bool {
		sub.queue.mu.Lock()
		defer sub.queue.mu.Unlock()
		lost = b.Stats().Overflow > 0
		return lost || sub.queue.items.Len() > 0
	})
	if lost {
		t.Log("the receive buffer was too small for a large message: sysctl -w net.core.rmem_max=4194304")
	}
	return lost
}

func TestTheStockLoggerRecordsUs(t *testing.T) {
	need(t, "lcm-logger")
	for _, scheme := range []string{"udpm", "tcpq"} {
		t.Run(scheme, func(t *testing.T) {
			b, url := serveFor(t, scheme)
			path := filepath.Join(t.TempDir(), "stock.lcmlog")
			p := start(t, "lcm-logger", "--lcm-url="+url, "--flush-interval=1", path)
			audience(t, b, func() bool { return len(logged(t, path)) > 0 })
			sizes := []int{0, 3, 100, 100_000}
			for _, n := range sizes {
				require.NoError(t, b.Publish(Message{Channel: "REC", Payload: payload(n)}))
			}
			ours := func() (evs []lcm.Event) {
				for _, ev := range logged(t, path) {
					if ev.Channel == "REC" {
						evs = append(evs, ev)
					}
				}
				return evs
			}
			eventually(t, "all is logged", func() bool {
				if scheme == "tcpq" && len(ours()) < len(sizes) { // it flushes when a message comes
					require.NoError(t, b.Publish(Message{Channel: "ANYBODY"}))
				}
				require.NoError(t, b.Publish(Message{Channel: "ANYBODY", Payload: payload(10_000)}))
				return len(ours()) == len(sizes)
			})
			for i, ev := range ours() {
				assert.True(t, bytes.Equal(payload(sizes[i]), ev.Payload))
			}
			require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
		})
	}
}

// logged returns the events that the logger has written so far.
func logged(t testing.TB, path string) (evs []lcm.Event) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	r := lcm.NewReader(bytes.NewReader(b))
	for {
		ev, err := r.Next()
		if err != nil { // the end, or an event that is half written
			return evs
		}
		evs = append(evs, ev)
	}
}

func TestTheStockLogplayerPlaysOurLogToUs(t *testing.T) {
	need(t, "lcm-logplayer")
	path := filepath.Join(t.TempDir(), "ours.lcmlog")
	file, err := Open("file://"+path, Options{})
	require.NoError(t, err)
	var ms []Message
	for i, n := range []int{1, 100, 70_000} {
		ms = append(ms, Message{Channel: "PLAYED", Payload: payload(n), At: metasim.Time(i) * metasim.Millisecond})
	}
	require.NoError(t, file.Publish(ms...))
	shut(t, file)
	for _, scheme := range []string{"udpm", "tcpq"} {
		t.Run(scheme, func(t *testing.T) {
			b, url := serveFor(t, scheme)
			sub, err := b.Subscribe("PLAYED")
			require.NoError(t, err)
			p := start(t, "lcm-logplayer", "--lcm-url="+url, path)
			for i, m := range hear(t, sub, len(ms)) {
				assert.True(t, bytes.Equal(ms[i].Payload, m.Payload))
			}
			require.NoError(t, p.cmd.Wait())
		})
	}
}

// A program of liblcm receives messages of our client and sends its own, through a third program as the server: one of
// ours, because Debian has only a server in Java.
func TestOurClientAndAProgramOfLiblcmShareAServer(t *testing.T) {
	listen := build(t, "listen")
	server, url := serveFor(t, "tcpq")
	p := start(t, listen, url, "HELLO", "1")
	require.Equal(t, "ready", p.line())
	subscribe(t, server, nobody{}, "")
	client, err := Open(url, Options{})
	require.NoError(t, err)
	require.NoError(t, client.Publish(Message{Channel: "HELLO", Payload: payload(10)}))
	require.Equal(t, "HELLO 10 "+sum(payload(10)), p.line())
	shut(t, client)
}
