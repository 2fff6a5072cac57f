package mirror_test

import (
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/lcm"
	"metasim/run"
	"metasim/scenarios"
)

// shownPlain runs ping-pong on a network for one program that listens, under the names that its own programs expect.
func shownPlain(t *testing.T, url, timeout string) (*run.Outcome, error) {
	sc, _, err := scenarios.Load("../../scenarios/ping-pong.metasim.yaml", scenarios.Overrides{
		PublicLCM: url, LCMNames: "plain", LCMSubscribers: "1", Set: []string{"start_timeout=" + timeout},
	})
	require.NoError(t, err)
	return run.Scenario(t.Context(), sc, run.Options{Out: filepath.Join(t.TempDir(), "run")})
}

// The stock logger, which is started when the run waits for it, has the run from its first message on: what was received is on
// the channels of the clients.
func TestARunWaitsForTheStockLogger(t *testing.T) {
	needsLogger(t)
	for _, url := range []string{"tcpq://127.0.0.1:7704", "udpm://239.255.76.78:7678"} {
		var evs []lcm.Event
		at := -1
		for pause := 50 * time.Millisecond; at < 0 && pause < patience/2; pause *= 2 { // it does not say when it has written
			var out *run.Outcome
			out, evs = recorded(t, url, pause)
			assert.Zero(t, out.LCM.Unread+out.LCM.Failed+out.LCM.Dropped)
			at = first(evs)
		}
		require.GreaterOrEqual(t, at, 0, url)
		assert.Zero(t, binary.LittleEndian.Uint64(evs[at].Payload), "the first that the pinger sent")
		assert.False(t, slices.ContainsFunc(evs, func(ev lcm.Event) bool { return ev.Channel == "PING@pinger" }))
	}
}

// first is where the first message of the pinger is among the events; -1 if there is none.
func first(evs []lcm.Event) int {
	return slices.IndexFunc(evs, func(ev lcm.Event) bool { return ev.Channel == "PING" })
}

// recorded runs ping-pong for the logger, and returns what that has when it has the first message, or after a pause.
func recorded(t *testing.T, url string, pause time.Duration) (*run.Outcome, []lcm.Event) {
	out, path, stop := logged(t, url)
	enough := time.After(pause)
	for first(events(t, path)) < 0 {
		select {
		case <-time.After(time.Millisecond):
			continue
		case <-enough:
		}
		break
	}
	stop()
	return out, events(t, path)
}

// logged runs ping-pong for the stock logger, to the end.
func logged(t *testing.T, url string) (out *run.Outcome, path string, stop func()) {
	ended := make(chan *run.Outcome, 1)
	go func() {
		out, err := shownPlain(t, url, "20s")
		assert.NoError(t, err)
		ended <- out
	}()
	if address, ok := strings.CutPrefix(url, "tcpq://"); ok { // the logger does not try again
		require.Eventually(t, func() bool {
			conn, err := net.Dial("tcp", address)
			return err == nil && conn.Close() == nil
		}, patience, 10*time.Millisecond)
	}
	path, stop = logger(t, url)
	out = <-ended
	require.NoError(t, out.Err)
	return out, path, stop
}

// The logger ends with its connection, and drops what it has not written by then: it has the run to its last message.
func TestTheStockLoggerHasTheWholeRun(t *testing.T) {
	needsLogger(t)
	out, path, _ := logged(t, "tcpq://127.0.0.1:7706")
	require.Eventually(t, func() bool { return len(events(t, path)) == int(out.LCM.Sent) }, patience, time.Millisecond)
	require.EqualValues(t, 80, out.LCM.Sent)
}

func TestARunThatNobodyListensToEndsWithTheReason(t *testing.T) {
	for _, url := range []string{"tcpq://127.0.0.1:7705", "udpm://239.255.76.79:7679"} {
		_, err := shownPlain(t, url, "100ms")
		require.ErrorContains(t, err, "0 of 1 programs listen to "+url+" after 100ms")
		require.ErrorContains(t, err, "start the others, or lower lcm_subscribers")
	}
	_, _, err := scenarios.Load("../../scenarios/ping-pong.metasim.yaml", scenarios.Overrides{PublicLCM: "file://x.lcmlog", LCMSubscribers: "1"})
	require.ErrorContains(t, err, "nobody listens to an event log; leave it out")
	_, _, err = scenarios.Load("../../scenarios/ping-pong.metasim.yaml", scenarios.Overrides{LCMNames: "short"})
	require.ErrorContains(t, err, "lcm_names")
}

// An event log that cannot be written is an error: before the run where that is known, else after it.
func TestALogThatCannotBeWritten(t *testing.T) {
	_, err := shownPlain(t, "off", "1s")
	require.NoError(t, err)
	show := func(path string) (*run.Outcome, error) {
		sc, _, err := scenarios.Load("../../scenarios/ping-pong.metasim.yaml", scenarios.Overrides{PublicLCM: "file://" + path})
		require.NoError(t, err)
		return run.Scenario(t.Context(), sc, run.Options{Out: filepath.Join(t.TempDir(), "run")})
	}
	_, err = show(filepath.Join(t.TempDir(), "no/such/file"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "choose a place for the log that can be written")
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("SKIPPED LOUDLY: this system has no /dev/full")
	}
	out, err := show("/dev/full")
	require.NoError(t, err)
	require.False(t, out.OK)
	require.ErrorIs(t, out.Err, syscall.ENOSPC)
	require.ErrorContains(t, out.Err, "the event log of the run is not whole")
	require.NotEmpty(t, out.Digest)
}
