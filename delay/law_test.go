package delay

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
)

// someTime draws lengths of time of every size.
func someTime(t *rapid.T, name string) metasim.Time {
	most := rapid.SampledFrom([]metasim.Time{0, 3, us, ms, metasim.Second, metasim.Forever / 3}).Draw(t, name+" up to")
	return metasim.Time(rapid.Int64Range(0, int64(most)).Draw(t, name))
}

func someDelay(t *rapid.T) Distribution {
	least := someTime(t, "min")
	mean := least.Add(1).Add(someTime(t, "mean beyond"))
	stdDev := someTime(t, "stddev").Add(1)
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return Constant(least)
	case 2:
		return Uniform{Min: least, Max: mean}
	case 3:
		return Normal{Mean: mean, StdDev: stdDev, Min: &least}
	case 4:
		return Exponential{Mean: mean, Min: &least}
	case 5:
		return LogNormal{Mean: mean, StdDev: stdDev, Min: &least}
	case 6:
		return Gamma{Mean: mean, StdDev: stdDev, Min: &least}
	}
	return Empirical{mean, least, stdDev.Add(least)}
}

func someSpec(t *rapid.T) Spec {
	chance := rapid.SampledFrom([]float64{0, 0.1, 0.5, 1})
	spec := Spec{
		Delay:     someDelay(t),
		Order:     rapid.SampledFrom([]Order{AnyOrder, FIFO}).Draw(t, "order"),
		Bandwidth: rapid.SampledFrom([]Bandwidth{0, 1, 9600, 1e6, 3e9}).Draw(t, "bandwidth"),
		Duplicate: chance.Draw(t, "duplicate"),
	}
	switch rapid.IntRange(0, 2).Draw(t, "loss") {
	case 1:
		spec.Loss = Bernoulli(chance.Draw(t, "p"))
	case 2:
		spec.Loss = GilbertElliott{
			GoodToBad: chance.Draw(t, "p_good_to_bad"), BadToGood: chance.Draw(t, "p_bad_to_good"),
			LossGood: chance.Draw(t, "loss_good"), LossBad: chance.Draw(t, "loss_bad"),
		}
	}
	return spec
}

// send is one message of a random sequence.
type send struct {
	sent metasim.Instant
	size int
}

// someSends draws messages in order of time: bursts at one instant, steps at one time, and pauses.
func someSends(t *rapid.T) []send {
	sends := make([]send, rapid.IntRange(1, 30).Draw(t, "sends"))
	at := metasim.Start
	for i := range sends {
		switch rapid.IntRange(0, 2).Draw(t, "pause") {
		case 1:
			at = at.Add(0)
		case 2:
			at = at.Add(someTime(t, "pause"))
		}
		sends[i] = send{at, rapid.SampledFrom([]int{0, 1, 100, 1 << 20}).Draw(t, "size")}
	}
	return sends
}

// The contract of metasim.Link, for every kind of link: Earliest lies after its argument, never falls with it nor as
// messages are sent at or after it, and bounds what Transit answers; so does Min; and an ordered link keeps the order.
func TestLinkLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := someSpec(t)
		require.NoError(t, spec.Validate())
		sends := someSends(t)
		l := newLink(spec, streams(rapid.Uint64().Draw(t, "seed"), "a", "b", "C"))
		probes := []metasim.Instant{metasim.Start}
		for _, s := range sends {
			probes = append(probes, s.sent, s.sent.Add(0), s.sent.Add(someTime(t, "probe")))
		}
		slices.SortFunc(probes, metasim.Instant.Compare)
		bounds := make([]metasim.Instant, len(probes))
		last := metasim.Start
		for n, s := range sends {
			for i, x := range probes {
				bound := l.Earliest(x)
				require.True(t, x.Before(bound) || x == metasim.Infinity, "Earliest(%v) = %v is not after it", x, bound)
				require.False(t, bound.Before(x.Add(l.Min())), "Earliest(%v) = %v is less than Min, %v, later", x, bound, l.Min())
				require.False(t, bound.Before(bounds[i]), "Earliest(%v) fell as message %d was sent", x, n)
				require.True(t, i == 0 || !bound.Before(bounds[i-1]), "Earliest fell at %v", x)
				if bounds[i] = bound; s.sent.Before(x) {
					bounds[i] = metasim.Start // it may fall
				}
				require.True(t, !l.Steady() || bound == x.Add(l.Min()), "Earliest(%v) = %v is not steady", x, bound)
			}
			bound := l.Earliest(s.sent)
			dues := l.Transit(nil, uint64(n), s.sent, s.size)
			require.LessOrEqual(t, len(dues), 2)
			for _, due := range dues {
				require.False(t, due.Before(bound), "message %d is due at %v, before %v", n, due, bound)
				if spec.Order == FIFO {
					require.True(t, spec.Bandwidth > 0 || due == bound || due != dues[0], "%v was known, not %v", due, bound)
					require.False(t, due.Before(last), "message %d overtakes", n)
					last = due
				}
			}
		}
	})
}

// A dumb twin: what a link with everything does follows from links that have one thing each, as each draw is made for
// itself. Raising the loss leaves the delays alone, ordering a link leaves the draws alone, and so on.
func TestLinkTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := someSpec(t)
		sends := someSends(t)
		keys := streams(rapid.Uint64().Draw(t, "seed"), "a", "b", "C")
		l := newLink(spec, keys)
		travel := newLink(Spec{Delay: spec.Delay, Duplicate: 1}, keys)
		lost := losses(newLink(Spec{Loss: spec.Loss}, keys), len(sends))
		twice := delays(newLink(Spec{Duplicate: spec.Duplicate}, keys), len(sends))
		own := delays(travel, len(sends))
		free, last := metasim.Time(0), metasim.Start
		for n, s := range sends {
			begun := s.sent.Time
			if spec.Bandwidth > 0 {
				begun = max(free, begun)
				free = begun.Add(spec.Bandwidth.Transmission(s.size))
				begun = free
			}
			var want []metasim.Instant
			for i := range twice[n] {
				if lost[n] {
					break
				}
				due := s.sent.Add((begun - s.sent.Time).Add(own[n][i]))
				if spec.Order == FIFO {
					due = metasim.Later(due, last)
					last = due
				}
				want = append(want, due)
			}
			require.Equal(t, want, l.Transit(nil, uint64(n), s.sent, s.size), "message %d", n)
		}
	})
}

// Min is a lower bound of every draw, and the draws come near it.
func TestMinIsALowerBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := Spec{Delay: someDelay(t)}
		l := newLink(spec, streams(rapid.Uint64().Draw(t, "seed"), "a", "b", "C"))
		for n, d := range delays(l, 100) {
			require.GreaterOrEqual(t, d[0], l.Min(), "message %d", n)
			if uniform, ok := spec.Delay.(Uniform); ok {
				require.LessOrEqual(t, d[0], uniform.Max, "message %d", n)
			}
		}
	})
	for _, kind := range kinds {
		if kind.name == "normal" || kind.name == "gamma" || kind.name == "lognormal" {
			continue // thin there
		}
		l := single(t, 1, Spec{Delay: kind.dist})
		least := slices.Min(floats(l, 10_000))
		require.InDelta(t, float64(l.Min()), least, float64(1500*us), kind.name)
	}
}

// What a message draws does not depend on when its link was made, nor on what other links carried meanwhile.
func TestDrawsDoNotDependOnOrder(t *testing.T) {
	spec := Spec{
		Delay: Gamma{Mean: 20 * ms, StdDev: 8 * ms, Min: new(5 * ms)}, Duplicate: 0.3,
		Loss: GilbertElliott{GoodToBad: 0.2, BadToGood: 0.4, LossBad: 1},
	}
	table, err := NewTable(7, []Rule{{Spec: spec}})
	require.NoError(t, err)
	names := []string{"a", "b", "c", "d"}
	const n = 50
	alone := map[string][][]metasim.Time{}
	for _, to := range names {
		alone[to] = delays(table.Link("x", to, "C"), n)
	}
	rapid.Check(t, func(t *rapid.T) {
		links := map[string]metasim.Link{}
		for _, to := range rapid.Permutation(names).Draw(t, "order of links") {
			links[to] = table.Link("x", to, "C")
		}
		got := map[string][][]metasim.Time{}
		for range n {
			for _, to := range rapid.Permutation(names).Draw(t, "order of messages") {
				var took []metasim.Time
				for _, due := range links[to].Transit(nil, uint64(len(got[to])), metasim.Start, 0) {
					took = append(took, due.Time)
				}
				got[to] = append(got[to], took)
			}
		}
		require.Equal(t, alone, got)
	})
}
