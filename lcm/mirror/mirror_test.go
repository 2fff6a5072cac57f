package mirror

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"metasim/lcm/bus"
	"metasim/lcm/types"
	"metasim/metasim"
)

// A tape is a bus that keeps the messages. While it is held, Publish waits, unlike that of a real bus.
type tape struct {
	bus.Bus
	lossy bool
	held  sync.Mutex

	mu     sync.Mutex
	heard  []bus.Message
	most   int // messages at once
	closed bool
}

func (b *tape) Publish(ms ...bus.Message) error {
	b.held.Lock()
	defer b.held.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.most = max(b.most, len(ms))
	for _, m := range ms {
		m.Payload = append([]byte{}, m.Payload...)
		b.heard = append(b.heard, m)
	}
	return nil
}

func (b *tape) Stats() bus.Stats { return bus.Stats{Sent: uint64(len(b.heard))} }
func (b *tape) Lossy() bool      { return b.lossy }
func (b *tape) Close() error     { b.closed = true; return nil }

func instant(t metasim.Time, step uint32) metasim.Instant {
	return metasim.Instant{Time: t, Step: step}
}

func TestEveryMessageIsShownWithACompanion(t *testing.T) {
	defer goleak.VerifyNone(t)
	b := &tape{}
	m := New(Config{Bus: b, Clients: []string{"arm", "eye"}})
	send := metasim.Send{Client: 1, Channel: "SEEN", Sent: instant(5, 1), Payload: []byte("first")}
	require.NoError(t, m.Observe(0, &send, nil))
	send.Channel, send.Payload = "", nil // observed events are lent
	require.NoError(t, m.Observe(0, &metasim.Send{Client: 1, Channel: "SEEN", Sent: instant(6, 0)}, nil))
	require.NoError(t, m.Observe(0, &metasim.Send{Client: 0, Channel: "OWN", Sent: instant(6, 0)}, nil))
	deliver := metasim.Deliver{To: 0, Number: 1, Message: metasim.Message{From: 1, Seq: 1, Channel: "SEEN",
		Sent: instant(6, 0), Due: instant(9, 2), Payload: []byte("second")}}
	require.NoError(t, m.Observe(0, nil, []metasim.Effect{&metasim.Authorize{}, &deliver}))
	deliver.Message = metasim.Message{}
	require.NoError(t, m.Observe(0, &metasim.PollWait{}, nil))
	st, err := m.Close()
	require.NoError(t, err)
	assert.True(t, b.closed)
	assert.Equal(t, Stats{Shown: 4, Bus: bus.Stats{Sent: 8}}, st)

	set, err := types.Load("event_t.lcm")
	require.NoError(t, err)
	var shown, told []string
	for _, h := range b.heard {
		if h.Channel != eventChannel {
			shown = append(shown, fmt.Sprintf("%s %q at %d", h.Channel, h.Payload, h.At))
			continue
		}
		text, err := set.Lookup("metasim.event_t").AppendJSON(nil, h.Payload)
		require.NoError(t, err)
		var e struct {
			Kind                       int
			Sender, Recipient, Channel string
			Sequence                   int64
			SentTime                   int64 `json:"sent_time"`
			DueTime                    int64 `json:"due_time"`
			DueStep                    int64 `json:"due_step"`
			PayloadSize                int   `json:"payload_size"`
		}
		require.NoError(t, json.Unmarshal(text, &e))
		told = append(told, fmt.Sprint(e))
	}
	assert.Equal(t, []string{`SEEN@eye "first" at 5`, `SEEN@eye "" at 6`, `OWN@arm "" at 6`, `SEEN@eye>arm "second" at 9`}, shown)
	assert.Equal(t, []string{"{1 eye  SEEN 0 5 5 1 5}", "{1 eye  SEEN 1 6 6 0 0}", "{1 arm  OWN 0 6 6 0 0}", "{2 eye arm SEEN 1 6 9 2 6}"}, told)
}

// The run is never delayed: messages for which a slow network has no room are dropped and counted.
func TestASlowNetworkHoldsUpNobody(t *testing.T) {
	defer goleak.VerifyNone(t)
	b := &tape{}
	b.held.Lock()
	m := New(Config{Bus: b, Clients: []string{"a"}})
	began := time.Now()
	small, big := make([]byte, 10), make([]byte, maxQueueBytes/100)
	for range 2 * maxQueue {
		require.NoError(t, m.Observe(0, &metasim.Send{Channel: "C", Payload: small}, nil))
	}
	for range maxQueue {
		require.NoError(t, m.Observe(0, &metasim.Send{Channel: "BIG", Payload: big}, nil))
	}
	assert.Less(t, time.Since(began), 10*time.Second)
	b.held.Unlock()
	st, err := m.Close()
	require.NoError(t, err)
	assert.EqualValues(t, 3*maxQueue, st.Shown+st.Dropped)
	assert.LessOrEqual(t, st.Shown, uint64(2*maxQueue), "one batch is on its way, one waits")
	assert.GreaterOrEqual(t, st.Shown, uint64(maxQueue))
	assert.EqualValues(t, 2*st.Shown, len(b.heard))
}

func TestWhatWaitsIsBoundedInBytes(t *testing.T) {
	b := &tape{}
	b.held.Lock()
	m := New(Config{Bus: b, Clients: []string{"a"}})
	half := make([]byte, maxQueueBytes/2)
	for range 100 {
		require.NoError(t, m.Observe(0, &metasim.Send{Channel: "C", Payload: half}, nil))
	}
	b.held.Unlock()
	st, err := m.Close()
	require.NoError(t, err)
	assert.EqualValues(t, 100, st.Shown+st.Dropped)
	assert.LessOrEqual(t, st.Shown, uint64(4), "two are on their way, two wait")
}

// A program that receives over UDP has room for 30 messages: few messages are sent in small parts, and many in large ones.
func TestFewMessagesAreSpreadOverALossyNetwork(t *testing.T) {
	for _, c := range []struct{ messages, most int }{{100, 2 * slow}, {20_000, 2 * atOnce}} {
		b := &tape{lossy: true}
		b.held.Lock()
		m := New(Config{Bus: b, Clients: []string{"a"}})
		for range c.messages {
			require.NoError(t, m.Observe(0, &metasim.Send{Channel: "C"}, nil))
		}
		b.held.Unlock()
		st, err := m.Close()
		require.NoError(t, err)
		assert.EqualValues(t, c.messages, st.Shown)
		assert.Equal(t, c.most, b.most)
	}
}

// A message on a name that LCM cannot carry is not shown, but its companion is; the run is the same.
func TestANameThatDoesNotFitIsCounted(t *testing.T) {
	b := &tape{}
	m := New(Config{Bus: b, Clients: []string{"a"}})
	long := make([]byte, 62)
	for i := range long {
		long[i] = 'C'
	}
	for range 3 {
		require.NoError(t, m.Observe(0, &metasim.Send{Channel: string(long)}, nil))
	}
	st, err := m.Close()
	require.NoError(t, err)
	assert.EqualValues(t, 3, st.Refused)
	assert.Len(t, b.heard, 3)
	for _, h := range b.heard {
		assert.Equal(t, eventChannel, h.Channel)
	}
}
