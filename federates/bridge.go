package federates

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"metasim/client"
	"metasim/lcm/bus"
	"metasim/metasim"
)

// bridge is the model of that name. In a run whose simulated time does not go ahead of real time, it publishes at each
// multiple of its period what came in since: never in between, so that everybody else knows when to expect it. When
// that is in real time is the network's doing; from there on it is a message as any other, with an instant of its own.
type bridge struct {
	url    string
	serve  bool
	period metasim.Time
	in     []string
	out    []string
	pubs   map[string]*client.Publication
}

// bridged is what a bridge says of itself. It depends on real time.
type bridged struct {
	In      uint64 `json:"in"`      // published in the run
	Out     uint64 `json:"out"`     // went out to the network
	Dropped uint64 `json:"dropped"` // came in, and there was no room for them; or went out to a program that does not read
	Lost    uint64 `json:"lost"`    // others sent, and did not come; as far as the network tells
	Refused uint64 `json:"refused"` // came in, and were no LCM
	Failed  uint64 `json:"failed"`  // could not go out
}

func (m *bridge) Declare(b *client.Builder) error {
	m.pubs = map[string]*client.Publication{}
	for _, channel := range m.in {
		m.pubs[channel] = b.Publication(channel)
	}
	return subscribe(b, m.out...)
}

func (m *bridge) Run(ctx context.Context, c *client.Client) error {
	network, heard, err := m.join()
	if err != nil {
		return fmt.Errorf("federates: its LCM network cannot be had: %w; %s", err, m.remedy())
	}
	defer func() { _ = network.Close() }() // its part is over, and its result told
	var result bridged
	for tick := m.period; ; tick = tick.Add(m.period) {
		err := m.until(ctx, c, tick, network)
		if errors.Is(err, client.ErrEnd) {
			break
		}
		if err != nil {
			return err
		}
		came, err := heard.Take()
		if err != nil {
			return fmt.Errorf("federates: its LCM network %s is gone: %w", m.url, err)
		}
		for _, msg := range came {
			if err := m.pubs[msg.Channel].Publish(msg.Payload); err != nil {
				return err
			}
			result.In++
		}
	}
	st := network.Stats()
	result.Out, result.Dropped, result.Lost, result.Refused = st.Sent, st.Dropped, st.Lost, st.Refused
	result.Failed = st.Failed
	return finish(ctx, c, result)
}

// join opens the network. It is done when everybody has joined the run: simulated time does not begin before.
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
	heard, err := network.Subscribe(patterns...) // one for all: it keeps their order, and tells when the network is gone
	if err != nil {
		return nil, nil, errors.Join(err, network.Close())
	}
	return network, heard, nil
}

// remedy says what to do where the network cannot be had.
func (m *bridge) remedy() string {
	switch {
	case strings.HasPrefix(m.url, "udpm:"):
		return "give the host a route for multicast"
	case m.serve:
		return "choose a free port, or leave serve out to join who serves there"
	}
	return "start its server before the run, or let the bridge be it with serve: true"
}

// until puts out what is delivered, at once, until it is time to take in.
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
			if msg.From != c.Name() { // what it brought in does not go back
				out = append(out, bus.Message{Channel: msg.Channel, Payload: msg.Payload})
			}
		}
		_ = network.Publish(out...) // what LCM has no form for is counted
	}
	return nil
}
