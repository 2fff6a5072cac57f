package bus

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"metasim/lcm/names"
)

// A network opens two buses on one network.
type network struct {
	name string
	open func(t *testing.T, o Options) (one, other Bus)
	mute bool // it can only be written to
}

func networks() []network {
	return []network{
		{name: "udpm", open: func(t *testing.T, o Options) (Bus, Bus) {
			const url = "udpm://239.255.76.68:7668?ttl=0&recv_buf_size=4194304"
			one, err := Open(url, o)
			require.NoError(t, err)
			o.Serve = true // a network without a server does not care
			other, err := Open(url, o)
			require.NoError(t, err)
			return one, other
		}},
		{name: "tcpq from the server", open: func(t *testing.T, o Options) (Bus, Bus) { return tcpq(t, o) }},
		{name: "tcpq to the server", open: func(t *testing.T, o Options) (Bus, Bus) {
			server, client := tcpq(t, o)
			return client, server
		}},
		{name: "file", mute: true, open: func(t *testing.T, o Options) (Bus, Bus) {
			one, err := Open("file://"+filepath.Join(t.TempDir(), "one.lcmlog"), o)
			require.NoError(t, err)
			o.Serve = true
			other, err := Open("file://"+filepath.Join(t.TempDir(), "other.lcmlog"), o)
			require.NoError(t, err)
			return one, other
		}},
		{name: "missing", mute: true, open: func(t *testing.T, o Options) (Bus, Bus) {
			return Missing("udpm://", assert.AnError, o), Missing("udpm://", assert.AnError, o)
		}},
	}
}

func tcpq(t testing.TB, o Options) (server, client Bus) {
	serving := o
	serving.Serve = true
	server, err := Open("tcpq://127.0.0.1:0", serving)
	require.NoError(t, err)
	client, err = Open(server.(*tcpqServer).url, o)
	require.NoError(t, err)
	return server, client
}

// each runs a test on every bus.
func each(t *testing.T, o Options, test func(t *testing.T, one, other Bus), but ...string) {
	for _, n := range networks() {
		t.Run(n.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			one, other := n.open(t, o)
			defer shut(t, one)
			defer shut(t, other)
			for _, name := range but {
				if name == "mute" && n.mute {
					return
				}
			}
			test(t, one, other)
		})
	}
}

// subscribe subscribes, and waits until a message arrives.
func subscribe(t testing.TB, from, to Bus, pattern string) *Subscription {
	t.Helper()
	s, err := to.Subscribe(pattern)
	require.NoError(t, err)
	if server, ok := from.(*tcpqServer); ok && from != to {
		eventually(t, "the server knows the subscription", func() bool {
			server.mu.Lock()
			defer server.mu.Unlock()
			for _, p := range server.peers {
				if len(p.patterns) > 0 {
					return true
				}
			}
			return false
		})
	}
	return s
}

func TestWhatIsPublishedIsHeard(t *testing.T) {
	each(t, Options{}, func(t *testing.T, one, other Bus) {
		sub := subscribe(t, one, other, ".*")
		own, err := one.Subscribe("SIZE_.*")
		require.NoError(t, err)
		sizes := []int{0, 1, 100, 1000, 65490, 65491, 65492, 65493, 65494, 200_000, 1_000_000}
		for _, n := range sizes {
			channel := fmt.Sprintf("SIZE_%d", n)
			require.NoError(t, one.Publish(Message{Channel: channel, Payload: payload(n)}))
			for _, s := range []*Subscription{sub, own} { // one at a time: UDP may lose what comes too fast
				got := hear(t, s, 1)[0]
				assert.Equal(t, channel, got.Channel)
				require.Len(t, got.Payload, n)
				assert.Equal(t, string(payload(n)), string(got.Payload))
			}
		}
		st := one.Stats()
		assert.EqualValues(t, len(sizes), st.Sent)
		assert.Zero(t, st.Failed+st.Dropped+st.Lost+st.Refused)
		assert.EqualValues(t, len(sizes), other.Stats().Received)
	}, "mute")
}

func TestMessagesOfOneCallKeepTheirOrder(t *testing.T) {
	each(t, Options{}, func(t *testing.T, one, other Bus) {
		sub := subscribe(t, one, other, ".*")
		var ms []Message
		for i := range 1000 { // sizes that can be sent together, and sizes that cannot
			ms = append(ms, Message{Channel: "C", Payload: append(payload(100+i/100*(i%7)), byte(i), byte(i>>8))})
		}
		for _, part := range [][]Message{ms[:1], ms[1:300], ms[300:]} {
			require.NoError(t, one.Publish(part...))
			for i, got := range hear(t, sub, len(part)) {
				require.Equal(t, part[i].Payload, got.Payload, "message %d", i)
			}
		}
		assert.EqualValues(t, 1000, one.Stats().Sent)
	}, "mute")
}

func TestAPatternMatchesWholeNames(t *testing.T) {
	each(t, Options{}, func(t *testing.T, one, other Bus) {
		sub := subscribe(t, one, other, "AB|B.*")
		for _, channel := range []string{"A", "AB", "ABC", "CAB", "B", "BCD", "XB", "AB@c>d"} {
			require.NoError(t, one.Publish(Message{Channel: channel}))
		}
		var names []string
		for _, m := range hear(t, sub, 3) {
			names = append(names, m.Channel)
		}
		assert.Equal(t, []string{"AB", "B", "BCD"}, names)
		_, err := other.Subscribe("A)|(B")
		require.ErrorContains(t, err, `the subscription "A)|(B" is no regular expression`)
		_, err = other.Subscribe(strings.Repeat("A", maxPattern+1))
		require.ErrorContains(t, err, "1025 bytes; use at most 1024")
	}, "mute")
}

func TestNamesThatLCMHasNoFormForAreRefused(t *testing.T) {
	each(t, Options{}, func(t *testing.T, one, _ Bus) {
		if _, ok := one.(*missing); ok {
			return
		}
		for name, what := range map[string]string{
			"":                      "has no name; give it 1 to 63 bytes",
			strings.Repeat("N", 64): "has 64 bytes, and LCM allows 63; shorten it",
			"A\x00B":                "has a zero byte",
		} {
			err := one.Publish(Message{Channel: "GOOD", Payload: payload(1)}, Message{Channel: name}, Message{Channel: "GOOD", Payload: payload(2)})
			var wrong *names.ChannelError
			require.ErrorAs(t, err, &wrong)
			assert.Equal(t, name, wrong.Channel)
			assert.ErrorContains(t, err, what)
		}
		assert.NoError(t, one.Publish(Message{Channel: strings.Repeat("N", 63), Payload: payload(1)}))
		assert.EqualValues(t, 7, one.Stats().Sent)
		assert.EqualValues(t, 3, one.Stats().Failed)
	})
}

// A subscriber that does not read delays no other: messages without room are dropped and counted, the others arrive.
func TestWhoDoesNotReceiveHoldsUpNobody(t *testing.T) {
	each(t, Options{Queue: 100_000}, func(t *testing.T, one, other Bus) {
		idle, busy := subscribe(t, one, other, "C"), subscribe(t, one, other, "C.*")
		for range 100 {
			require.NoError(t, one.Publish(Message{Channel: "C", Payload: payload(10_000)}))
			hear(t, busy, 1)
		}
		waits := len(hear(t, idle, 9))
		eventually(t, "the rest is counted", func() bool { return other.Stats().Dropped == uint64(100-waits) }) // after it is received
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := receive(ctx, idle)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	}, "mute")
}

func TestManyMayPublishAtOnce(t *testing.T) {
	each(t, Options{}, func(t *testing.T, one, other Bus) {
		sub := subscribe(t, one, other, ".*")
		var work sync.WaitGroup
		for w := range 4 {
			work.Go(func() {
				for range 50 {
					assert.NoError(t, one.Publish(Message{Channel: fmt.Sprint("W", w), Payload: payload(100)}))
				}
			})
		}
		work.Wait()
		count := map[string]int{}
		for _, m := range hear(t, sub, 200) {
			count[m.Channel]++
		}
		assert.Equal(t, map[string]int{"W0": 50, "W1": 50, "W2": 50, "W3": 50}, count)
	}, "mute")
}

func TestClosingEndsAllThatWaits(t *testing.T) {
	each(t, Options{}, func(t *testing.T, one, other Bus) {
		sub, err := one.Subscribe(".*")
		require.NoError(t, err)
		ended := make(chan error)
		go func() {
			_, err := receive(t.Context(), sub)
			ended <- err
		}()
		shut(t, one)
		assert.ErrorIs(t, <-ended, ErrClosed)
		_, err = sub.Take()
		require.ErrorIs(t, err, ErrClosed)
		_, err = one.Subscribe("A")
		assert.ErrorIs(t, err, ErrClosed)
		assert.ErrorIs(t, one.Publish(Message{Channel: "A"}), ErrClosed)
		shut(t, one)
	}, "mute")
}

func TestABusThatIsMissingCounts(t *testing.T) {
	b := Missing("udpm://", assert.AnError, Options{})
	require.NoError(t, b.Publish(Message{Channel: "A"}, Message{Channel: "B"}))
	assert.Equal(t, Stats{Failed: 2}, b.Stats())
	_, err := b.Subscribe("A")
	require.ErrorIs(t, err, assert.AnError)
}
