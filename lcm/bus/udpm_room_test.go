package bus

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/internal/netns"
)

// sockets are those of somebody else: another port, another group, and two that listen to 239.255.76.67:7667.
const sockets = `   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops            
 1005: 434CFFEF:1DF4 00000000:0000 07 00000000:000F0000 00:00000000 00000000     0        0 11 2 0000000000000000 50        
 1005: 444CFFEF:1DF3 00000000:0000 07 00000000:000F0000 00:00000000 00000000     0        0 12 2 0000000000000000 60        
 1005: 434CFFEF:1DF3 00000000:0000 07 00000000:%08X 00:00000000 00000000     0        0 13 2 0000000000000000 %d         
 1005: 00000000:1DF3 00000000:0000 07 00000000:00000340 00:00000000 00000000     0        0 14 2 0000000000000000 0         
`

// The room of a network is that of its listeners alone. One that does not read is waited for once, until it reads again.
func TestRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "udp")
	say := func(queued, drops int) {
		require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, sockets, queued, drops), 0o600))
	}
	say(0x1000, 7)
	r := newRoom(netip.MustParseAddrPort("239.255.76.67:7667"), path)
	assert.Equal(t, 0x1000, r.filled)
	assert.Zero(t, r.dropped, "that was before us")
	say(defaultRoom, 10)
	r.look()
	wait := func() time.Duration { began := time.Now(); r.wait(defaultRoom/2 + 1); return time.Since(began) }
	assert.GreaterOrEqual(t, wait(), waitForRoom)
	assert.EqualValues(t, 3, r.dropped)
	assert.Less(t, wait(), waitForRoom, "it is deaf")
	say(0, 10)
	wait()
	assert.False(t, r.known[13].deaf)
	say(defaultRoom, 11)
	r.look()
	assert.GreaterOrEqual(t, wait(), waitForRoom)
	require.NoError(t, os.Remove(path))
	r.wait(defaultRoom)
	assert.False(t, r.fits(1))
	r.wait(defaultRoom)
	assert.EqualValues(t, 4, r.dropped)
	assert.False(t, new(room).fits(defaultRoom+1))
	assert.True(t, new(room).fits(defaultRoom))
}

// Somebody with the smallest buffer that a system gives unasked, who reads, hears every datagram of any burst. Who does not read loses
// what comes, and that is said, with what helps.
func TestABurstHasRoom(t *testing.T) {
	if !netns.Given() {
		t.Skip("SKIPPED LOUDLY: no network namespace here, so multicast is not to be relied on")
	}
	if _, err := os.Stat("/proc/net/udp"); err != nil {
		t.Skip("SKIPPED LOUDLY: no /proc/net/udp here, so the sender cannot know how full the receive buffers are")
	}
	var log bytes.Buffer
	b, err := Open("udpm://239.255.76.77:7677", Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	defer shut(t, b)
	conn, err := net.ListenMulticastUDP("udp4", nil, &net.UDPAddr{IP: net.IPv4(239, 255, 76, 77), Port: 7677})
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetReadBuffer(212992/2)) // the system doubles it
	heard := make(chan int)
	ms := make([]Message, 10_000)
	for i := range ms {
		ms[i] = Message{Channel: "SMALL", Payload: payload(100)}
	}
	ms = append(ms, Message{Channel: "LARGE", Payload: payload(2_000_000)})
	go func() {
		n := 0
		for buffer := make([]byte, maxDatagram); n < len(ms)-1+31; n++ {
			if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
				break
			}
			if _, _, err := conn.ReadFromUDP(buffer); err != nil {
				break
			}
		}
		heard <- n
	}()
	require.NoError(t, b.Publish(ms...))
	assert.Equal(t, len(ms)-1+31, <-heard)
	assert.Zero(t, b.Stats().Overflow)
	require.NoError(t, b.Publish(ms...)) // nobody reads now
	require.NoError(t, b.Publish(ms...))
	assert.Greater(t, b.Stats().Overflow, uint64(10_000))
	assert.Equal(t, 1, strings.Count(log.String(), OverflowRemedy))
}
