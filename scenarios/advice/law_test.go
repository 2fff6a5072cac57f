package advice

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/delay"
	"metasim/federates/catalog"
	"metasim/metasim"
	"metasim/scenarios"
	"metasim/scenarios/flow"
)

// someScenario is one whose clients are few, and whose rules meet them and one another in every way.
func someScenario(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("name: x\nuntil: 1s\nclients:\n")
	channel := rapid.SampledFrom([]string{"A", "AB", "B"})
	for i, name := range []string{"r", "ra", "s"}[:rapid.IntRange(1, 3).Draw(t, "entries")] {
		fmt.Fprintf(&b, "  - {name: %s", name)
		if n := rapid.IntRange(0, 12).Draw(t, "count"); n > 0 {
			fmt.Fprintf(&b, ", count: %d", n)
		}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			fmt.Fprintf(&b, ", model: source, with: {channel: %s, period: 1ms}}\n", channel.Draw(t, "out"))
		case 1:
			subscribes := rapid.SampledFrom([]string{"A", "B, AB", "A.*", "A, A.*", ".*"}).Draw(t, "subscribes")
			fmt.Fprintf(&b, ", model: sink, with: {channels: [%s]}}\n", subscribes)
		case 2:
			fmt.Fprintf(&b, ", model: echo, with: {in: \"%s\", out: %s}}\n", channel.Draw(t, "in"), channel.Draw(t, "out"))
		default:
			fmt.Fprintf(&b, ", external: true} # %d\n", i)
		}
	}
	rules := rapid.IntRange(0, 5).Draw(t, "rules")
	if rules > 0 {
		b.WriteString("links:\n")
	}
	client := rapid.SampledFrom([]string{"*", "r*", "r-*", "r-1*", "*1", "ra", "ra-*", "r-2", "s", "s-*0"})
	for range rules {
		fmt.Fprintf(&b, "  - {from: %q, to: %q, channel: %q, %s}\n", client.Draw(t, "from"), client.Draw(t, "to"),
			rapid.SampledFrom([]string{"*", "A*", "*B", "A", "**"}).Draw(t, "channel"),
			rapid.SampledFrom([]string{
				"delay: 0s", "delay: 1ms", "loss: 0.5", "bandwidth: 1Mbit", "order: fifo",
				"delay: {exponential: {mean: 1h, min: 0s}}", "delay: {exponential: {mean: 1h, min: 0s}}, order: fifo",
				"delay: {uniform: {min: 1ms, max: 2ms}}",
			}).Draw(t, "spec"))
	}
	return b.String()
}

// The sums count what one finds by asking each link that there is, and each that there may be, what its recipient knows at the
// start.
func TestOneStepLinksAreThoseThatKnowNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _, err := scenarios.Parse("x.yaml", []byte(someScenario(t)), scenarios.Overrides{})
		require.NoError(t, err)
		r := newReview(s)
		sums, _ := r.zeroDelay()
		r.undeclared(sums)
		require.False(t, r.TooLarge())

		table, err := delay.NewTable(s.Seed, s.Rules)
		require.NoError(t, err)
		withoutDelay := func(from, to, channel string) bool {
			return table.Link(from, to, channel).Earliest(metasim.Start) == metasim.Start.Add(0)
		}
		ports := map[*scenarios.Client]catalog.Ports{}
		for i := range s.Clients {
			if c := &s.Clients[i]; c.Model != "" {
				in, err := catalog.Make(c.Model, c.With, s.Env(c))
				require.NoError(t, err)
				ports[c] = in.Ports
			}
		}
		links, undeclared := make([]int, len(sums)), 0
		for i := range s.Clients {
			for k := range s.Clients {
				from, to := &s.Clients[i], &s.Clients[k]
				if i == k {
					continue
				}
				channels, known := mayCarry(ports, from, to)
				all := len(channels) > 0
				for _, channel := range channels {
					is := withoutDelay(from.Name, to.Name, channel)
					all = all && is
					if known && is {
						links[decides(s, from.Name, to.Name, channel)+1]++
					}
				}
				if !known && all {
					undeclared++
				}
			}
		}
		for i, sum := range sums {
			require.Equal(t, links[i], sum.links, "rule %d", i-1)
			undeclared -= sum.undeclared
		}
		require.Zero(t, undeclared)
	})
}

// mayCarry returns the channels of links from one client to another, or some of every kind that there may be.
func mayCarry(ports map[*scenarios.Client]catalog.Ports, from, to *scenarios.Client) (channels []string, known bool) {
	kinds := []string{"A", "AB", "AC", "B", "OTHER"}
	pubs, subscribes := ports[from].Publications, ports[to].Subscriptions
	matched := func(channel string) bool {
		for _, sub := range subscribes {
			if metasim.MatchSubscription(sub, channel) {
				return true
			}
		}
		return false
	}
	switch {
	case !from.External && to.External:
		return pubs, false
	case !from.External:
		for _, channel := range pubs {
			if matched(channel) {
				channels = append(channels, channel)
			}
		}
		return channels, true
	case to.External:
		return kinds, false
	}
	for _, sub := range subscribes {
		if strings.Contains(sub, "*") {
			return kinds, false // the channels of a pattern are not told apart
		}
	}
	for _, channel := range kinds {
		published := false // by a model
		for _, p := range ports {
			published = published || slices.Contains(p.Publications, channel)
		}
		if matched(channel) && !published {
			channels = append(channels, channel)
		}
	}
	return channels, false
}

// decides is the rule that does.
func decides(s *scenarios.Scenario, from, to, channel string) int {
	last := flow.NoRule
	for i, r := range s.Rules {
		if delay.Match(r.From, from) && delay.Match(r.To, to) && delay.Match(r.Channel, channel) {
			last = i
		}
	}
	return last
}
