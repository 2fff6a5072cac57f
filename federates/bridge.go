package federates

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/loop"
	"metasim/lcm/bus"
	"metasim/metasim"
)

// bridge is the model of that name: it joins an LCM network to a run whose simulated time does not go ahead of real time.
// What comes in is published at the next multiple of its period and never in between, so that the other clients know when to
// expect it. Which multiple that is depends on the network; from there on it is a message like any other.
type bridge struct {
	url    string
	serve  bool
	period metasim.Time
	in     []string // channels that come in
	out    []string // patterns of what goes out
	pubs   map[string]*client.Publication
}

// bridgeResult is the result of a bridge. It depends on real time.
type bridgeResult struct {
	In      uint64 `json:"in"`      // published in the run
	Out     uint64 `json:"out"`     // went out to the network
	Dropped uint64 `json:"dropped"` // came in while there was no room for them, or went out to a program that does not read
	Lost    uint64 `json:"lost"`    // were sent by others and did not come, as far as the network tells
	Refused uint64 `json:"refused"` // came in and were no LCM
	Failed  uint64 `json:"failed"`  // could not go out
}

func newBridge(in *catalog.Instance) *bridge {
	return &bridge{
		url: catalog.Get[string](in, "url"), serve: catalog.Get[bool](in, "serve"),
		period: catalog.Get[metasim.Time](in, "period"), in: in.Ports.Publications, out: in.Ports.Subscriptions,
		pubs: map[string]*client.Publication{},
	}
}

func (m *bridge) Declare(b *client.Builder) error {
	for _, channel := range m.in {
		m.pubs[channel] = b.Publication(channel)
	}
	return loop.Subscribe(b, m.out)
}

func (m *bridge) Run(ctx context.Context, c *client.Client) error {
	network, inbound, err := m.join()
	if err != nil {
		return fmt.Errorf("the LCM network of the bridge cannot be joined: %w; %s", err, m.remedy())
	}
	defer func() { _ = network.Close() }() // the result is set by then; an error of Close changes nothing
	var result bridgeResult
	for tick := m.period; ; tick = tick.Add(m.period) {
		err := m.until(ctx, c, tick, network)
		if errors.Is(err, client.ErrEnd) {
			break
		}
		if err != nil {
			return err
		}
		messages, err := inbound.Take()
		if err != nil {
			return fmt.Errorf("the LCM network %s of the bridge is gone: %w", m.url, err)
		}
		for _, msg := range messages {
			if err := m.pubs[msg.Channel].Publish(msg.Payload); err != nil {
				return err
			}
			result.In++
		}
	}
	st := network.Stats()
	result.Out, result.Dropped, result.Lost, result.Refused = st.Sent, st.Dropped, st.Lost, st.Refused
	result.Failed = st.Failed
	return loop.Finish(ctx, c, result)
}

// join opens the network and subscribes to the channels that come in. Run calls it once all clients have joined the run;
// simulated time does not begin before it returns.
func (m *bridge) join() (bus.Bus, *bus.Subscription, error) {
	open := bus.Open
	if m.serve {
		open = bus.Serve
	}
	network, err := open(m.url, bus.Options{OthersOnly: true})
	if err != nil {
		return nil, nil, err
	}
	patterns := make([]string, len(m.in))
	for i, name := range m.in {
		patterns[i] = regexp.QuoteMeta(name)
	}
	inbound, err := network.Subscribe(patterns...) // one subscription for all: it keeps their order, and ends with the network
	if err != nil {
		return nil, nil, errors.Join(err, network.Close())
	}
	return network, inbound, nil
}

// remedy says what to do where the network cannot be joined.
func (m *bridge) remedy() string {
	switch {
	case strings.HasPrefix(m.url, "udpm:"):
		return "give the host a route for multicast"
	case m.serve:
		return "choose a free port, or leave serve out to join the server that listens there"
	}
	return "start its server before the run, or let the bridge be the server with serve: true"
}

// until puts out what is delivered, at once, until the time tick. It promises to publish nothing before tick.
func (m *bridge) until(ctx context.Context, c *client.Client, tick metasim.Time, network bus.Bus) error {
	if err := c.Promise(tick); err != nil {
		return err
	}
	for c.Now().Before(metasim.At(tick)) {
		delivered, err := c.Next(ctx, tick)
		if err != nil {
			return err
		}
		var out []bus.Message
		for _, msg := range delivered {
			if msg.From != c.Name() { // what the bridge brought in does not go back
				out = append(out, bus.Message{Channel: msg.Channel, Payload: msg.Payload})
			}
		}
		_ = network.Publish(out...) // the network counts the messages that LCM has no form for
	}
	return nil
}
