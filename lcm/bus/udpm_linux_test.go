package bus

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/internal/netns"
)

// One write arrives as many datagrams. If the system refuses that, here because one is too large for the interface, they are
// sent one by one, and none is missing.
func TestWhatTheSystemWillNotCutGoesOutOneByOne(t *testing.T) {
	if !netns.Given() {
		t.Skip("SKIPPED LOUDLY: the host's interfaces are not the test's to change")
	}
	b, err := Open("udpm://239.255.76.74:7674", Options{})
	require.NoError(t, err)
	defer shut(t, b)
	sub, err := b.Subscribe("C")
	require.NoError(t, err)
	ms := make([]Message, 100)
	for i := range ms {
		ms[i] = Message{Channel: "C", Payload: append(payload(1000), byte(i))}
	}
	publish := func() {
		require.NoError(t, b.Publish(ms...))
		for i, m := range hear(t, sub, len(ms)) {
			require.Equal(t, ms[i].Payload, m.Payload)
		}
	}
	publish()
	s := b.(*udpm).sender
	assert.False(t, s.segments.off, "the system cuts")
	assert.Less(t, len(s.calls), 3)
	mtu(t, "700")
	defer mtu(t, "65536")
	publish()
	assert.True(t, s.segments.off)
	assert.Equal(t, Stats{Sent: 200, Received: 200}, b.Stats())
}

func mtu(t *testing.T, size string) {
	require.NoError(t, exec.Command("ip", "link", "set", "lo", "mtu", size).Run())
}

// Two networks may share a port: each receives its own group, although the system gives a socket the datagrams of both.
func TestAnotherGroupOnThePortIsNotHeard(t *testing.T) {
	if !netns.Given() {
		t.Skip("SKIPPED LOUDLY: no network namespace here, so multicast is not to be relied on")
	}
	one, err := Open("udpm://239.255.76.75:7675", Options{})
	require.NoError(t, err)
	defer shut(t, one)
	other, err := Open("udpm://239.255.76.76:7675", Options{})
	require.NoError(t, err)
	defer shut(t, other)
	ours, err := one.Subscribe(".*")
	require.NoError(t, err)
	theirs, err := other.Subscribe(".*")
	require.NoError(t, err)
	require.NoError(t, other.Publish(Message{Channel: "THEIRS"}))
	assert.Equal(t, "THEIRS", hear(t, theirs, 1)[0].Channel)
	require.NoError(t, one.Publish(Message{Channel: "OURS"}))
	assert.Equal(t, "OURS", hear(t, ours, 1)[0].Channel)
	assert.EqualValues(t, 1, one.Stats().Received)
}
