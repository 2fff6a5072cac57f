package federates_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/federates"
	"metasim/federates/catalog"
	"metasim/internal/netns"
	"metasim/lcm/bus"
	"metasim/lcm/names"
	"metasim/metasim"
	"metasim/server"
	"metasim/wire/transport/mem"
)

const patience = 20 * time.Second

// A drive is a run with one bridge whose time the test drives, in the place of the clock.
type drive struct {
	t        *testing.T
	server   *server.Server
	sent     chan []byte      // what the simulation is to publish on OUT, at the next millisecond
	got      []client.Message // what it was given on IN
	promises int              // of the bridge
	now      metasim.Time
	ended    chan error
	served   chan error
}

// drives begins a run: a client that publishes on OUT and IN and subscribes to IN, and a bridge that takes IN in and puts OUT and IN
// out, every 10 ms.
func drives(t *testing.T, url string) *drive {
	d := &drive{t: t, sent: make(chan []byte, 10), ended: make(chan error, 2), served: make(chan error, 1)}
	var err error
	d.server, err = server.New(server.Config{
		Core:   metasim.Config{Clients: []string{"bridge", "sim"}, Until: 300 * metasim.Second},
		Driven: true, Live: true, Scenario: "test", Observers: []server.Observer{d},
	})
	require.NoError(t, err)
	network := mem.NewNet()
	ctx := t.Context()
	go func() { d.served <- d.server.Serve(ctx) }()
	go func() { _ = d.server.Accept(network) }() // until the run is over
	m, err := federates.New("bridge", map[string]any{"url": url, "in": []any{"IN"}, "out": []any{".*"}}, catalog.Env{Name: "bridge"})
	require.NoError(t, err)
	dial := func() client.Option {
		conn, err := network.Dial(ctx)
		require.NoError(t, err)
		return client.WithConn(conn)
	}
	forBridge, forSim := dial(), dial()
	go func() { d.ended <- federates.TakePart(ctx, m, "bridge", forBridge) }()
	go func() { d.ended <- d.simulate(ctx, forSim) }()
	require.NoError(t, d.server.Initialize(ctx))
	return d
}

// Observe sees to it that the bridge promises not to send before its next period: nobody else need wait for it.
func (d *drive) Observe(_ int64, ev metasim.Event, _ []metasim.Effect) error {
	if p, ok := ev.(*metasim.Promise); ok && p.Client == 0 {
		d.promises++
		if want := metasim.At(metasim.Time(d.promises) * 10 * metasim.Millisecond); p.NoSendBefore != want {
			return fmt.Errorf("promise %d is %v, not %v", d.promises, p.NoSendBefore, want)
		}
	}
	return nil
}

// simulate is the rest of the run: each millisecond it publishes what the test wants it to.
func (d *drive) simulate(ctx context.Context, conn client.Option) error {
	b := client.NewBuilder("sim")
	out, in, long := b.Publication("OUT"), b.Publication("IN"), b.Publication(strings.Repeat("x", names.MaxChannel+1))
	if err := b.Subscribe("IN", nil); err != nil {
		return err
	}
	c, err := b.Complete(ctx, conn)
	if err != nil {
		return err
	}
	for t := metasim.Millisecond; ; t = t.Add(metasim.Millisecond) {
		msgs, err := c.Step(ctx, t)
		d.got = append(d.got, msgs...)
		if errors.Is(err, client.ErrEnd) {
			return c.Leave(ctx)
		}
		if err != nil {
			return err
		}
		for len(d.sent) > 0 {
			p := <-d.sent
			switch {
			case p == nil:
				return c.Leave(ctx)
			case len(p) == 0:
				err = long.Publish(p)
			default:
				err = errors.Join(out.Publish(p), in.Publish(p))
			}
			if err != nil {
				return err
			}
		}
	}
}

// pass lets simulated time pass.
func (d *drive) pass(by metasim.Time) {
	d.now += by
	_, err := d.server.AdvanceTo(d.t.Context(), d.now.Add(1))
	require.NoError(d.t, err)
}

// over ends the run, and returns what the bridge says.
func (d *drive) over() map[string]uint64 {
	_, err := d.server.AdvanceTo(d.t.Context(), metasim.Forever)
	require.NoError(d.t, err)
	require.NoError(d.t, errors.Join(<-d.ended, <-d.ended, <-d.served))
	require.Equal(d.t, 300*100, d.promises)
	r := d.server.Result()
	require.False(d.t, r.Deterministic)
	var said map[string]uint64
	require.NoError(d.t, json.Unmarshal(r.Clients[0].Result, &said))
	return said
}

// heard waits for at least n messages of a subscription.
func heard(t *testing.T, s *bus.Subscription, n int) []string {
	var out []string
	require.Eventually(t, func() bool {
		messages, err := s.Take()
		assert.NoError(t, err)
		for _, m := range messages {
			out = append(out, m.Channel+" "+string(m.Payload))
		}
		return len(out) >= n
	}, patience, time.Millisecond)
	return out
}

// networks are those that a bridge can join, each with another program on it.
func networks(t *testing.T, test func(t *testing.T, url string, other bus.Bus)) {
	t.Run("udpm", func(t *testing.T) {
		if !netns.Given() {
			t.Skip("SKIPPED LOUDLY: no network namespace here, so multicast is not to be relied on")
		}
		const url = "udpm://239.255.76.80:7680"
		other, err := bus.Open(url, bus.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, other.Close()) }()
		test(t, url, other)
	})
	t.Run("tcpq", func(t *testing.T) {
		other, url := tcpq(t)
		defer func() { require.NoError(t, other.Close()) }()
		test(t, url, other)
	})
}

func tcpq(t testing.TB) (b bus.Bus, url string) {
	b, err := bus.Open("tcpq://127.0.0.1:0", bus.Options{Serve: true})
	require.NoError(t, err)
	at, ok := b.(interface{ URL() string })
	require.True(t, ok)
	return b, at.URL()
}

func TestABridgeGoesBothWays(t *testing.T) {
	networks(t, func(t *testing.T, url string, other bus.Bus) {
		sub, err := other.Subscribe("IN", "OUT")
		require.NoError(t, err)
		d := drives(t, url)

		// Out: as soon as it is delivered, not with the next period.
		d.pass(3 * metasim.Millisecond)
		d.sent <- []byte("a")
		d.pass(metasim.Millisecond)
		got := heard(t, sub, 2)
		slices.Sort(got) // udpm: in any order
		assert.Equal(t, []string{"IN a", "OUT a"}, got)

		// In: with the next period. What it has put out does not come back, though it is on a channel that it takes in;
		// what is equal to it, and another's, does come in.
		for _, text := range []string{"b", "a", ""} {
			require.NoError(t, other.Publish(bus.Message{Channel: "IN", Payload: []byte(text)}))
		}
		var in []client.Message
		require.Eventually(t, func() bool {
			d.pass(10 * metasim.Millisecond)
			in = slices.DeleteFunc(slices.Clone(d.got), func(m client.Message) bool { return m.From != "bridge" })
			return len(in) >= 3
		}, patience, time.Millisecond)
		for i, text := range []string{"b", "a", ""} {
			assert.Equal(t, text, string(in[i].Payload))
			assert.Zero(t, in[i].Sent.Time%(10*metasim.Millisecond), "%v", in[i].Sent)
			assert.Zero(t, in[i].Sent.Step)
		}

		// What it brought in does not go back: the next that goes out is what the simulation says next.
		d.sent <- []byte("c")
		d.pass(metasim.Millisecond)
		got = heard(t, sub, 5)
		assert.Equal(t, []string{"IN b", "IN a", "IN "}, got[:3])
		slices.Sort(got[3:])
		assert.Equal(t, []string{"IN c", "OUT c"}, got[3:])

		d.sent <- nil
		assert.Equal(t, map[string]uint64{"in": 3, "out": 4, "dropped": 0, "lost": 0, "refused": 0, "failed": 0}, d.over())
		last := d.got[len(d.got)-1]
		assert.Equal(t, "c", string(last.Payload), "nothing came back")
	})
}

// What LCM has no form for does not go out, and is counted.
func TestABridgeCountsWhatCannotGoOut(t *testing.T) {
	other, url := tcpq(t)
	defer func() { require.NoError(t, other.Close()) }()
	d := drives(t, url)
	d.sent <- []byte{}
	d.pass(metasim.Millisecond)
	d.sent <- nil
	said := d.over()
	assert.EqualValues(t, 1, said["failed"])
	assert.Zero(t, said["out"])
}
