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

// bridgeResult is the result of a bridge. It depends on real time.
type bridgeResult struct {
	In      uint64 `json:"in"`      // published in the run
	Out     uint64 `json:"out"`     // went out to the network
	Dropped uint64 `json:"dropped"` // came in while there was no room for them, or went out to a program that does not read
	Lost    uint64 `json:"lost"`    // were sent by others and did not come, as far as the network tells
	Refused uint64 `json:"refused"` // came in and were no LCM
	Failed  uint64 `json:"failed"`  // could not go out
	// Overflow counts datagrams that programs of this host, the bridge included, lost because their receive buffers were
	// full. Remedy says what helps.
	Overflow uint64 `json:"overflow,omitempty"`
	Remedy   string `json:"remedy,omitempty"`
}

// bridge is the model of that name: it joins an LCM network to a run whose simulated time does not go ahead of real time.
// What comes in is published at the next multiple of its period and never in between, so that the other clients know when to
// expect it. Which multiple that is depends on the network; from there on it is a message like any other.
func bridge(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
	url, serve := catalog.Get[string](in, "url"), catalog.Get[bool](in, "serve")
	network, inbound, err := join(url, serve, in.Ports.Publications)
	if err != nil {
		return fmt.Errorf("the LCM network of the bridge cannot be joined: %w%s", err, remedy(url, serve))
	}
	defer func() { _ = network.Close() }() // the result is set by then; an error of Close changes nothing
	period, pubs := catalog.Get[metasim.Time](in, "period"), byChannel(out)
	var result bridgeResult
	for tick := period; ; tick = tick.Add(period) {
		err := exchange(ctx, c, tick, network)
		if errors.Is(err, client.ErrEnd) {
			break
		}
		if err != nil {
			return err
		}
		messages, err := inbound.Take()
		if err != nil {
			return fmt.Errorf("the LCM network %s of the bridge is gone: %w", url, err)
		}
		for _, msg := range messages {
			if err := pubs[msg.Channel].PublishOwned(msg.Payload); err != nil {
				return err
			}
			result.In++
		}
	}
	st := network.Stats()
	result.Out, result.Dropped, result.Lost, result.Refused = st.Sent, st.Dropped, st.Lost, st.Refused
	result.Failed, result.Overflow = st.Failed, st.Overflow
	if st.Overflow > 0 {
		result.Remedy = "receive buffers were full; " + bus.OverflowRemedy
	}
	return loop.Finish(ctx, c, result)
}

// join opens the network and subscribes to the channels that come in. Run calls it once all clients have joined the run;
// simulated time does not begin before it returns.
func join(url string, serve bool, channels []string) (bus.Bus, *bus.Subscription, error) {
	network, err := bus.Open(url, bus.Options{Serve: serve, OthersOnly: true})
	if err != nil {
		return nil, nil, err
	}
	patterns := make([]string, len(channels))
	for i, name := range channels {
		patterns[i] = regexp.QuoteMeta(name)
	}
	inbound, err := network.Subscribe(patterns...) // one subscription for all: it keeps their order, and ends with the network
	if err != nil {
		return nil, nil, errors.Join(err, network.Close())
	}
	return network, inbound, nil
}

// remedy says what to do where the network cannot be joined.
func remedy(url string, serve bool) string {
	switch {
	case strings.HasPrefix(url, "udpm:"):
		return "" // the error has one
	case serve:
		return "; choose a free port, or leave serve out to join the server that listens there"
	}
	return "; start its server before the run, or let the bridge be the server with serve: true"
}

// exchange puts out what is delivered, at once, until the time tick. It promises to publish nothing before tick.
func exchange(ctx context.Context, c *client.Client, tick metasim.Time, network bus.Bus) error {
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
