package delay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// A hop is a message on its way, and when it arrives; missing: lost.
type hop struct {
	sent metasim.Instant
	size int
	due  metasim.Instant
}

func at2(t metasim.Time, step uint32) metasim.Instant { return metasim.Instant{Time: t, Step: step} }

// The arithmetic of links without chance, by hand.
func TestLinkByHand(t *testing.T) {
	at := metasim.At
	for _, test := range []struct {
		name string
		spec Spec
		hops []hop
	}{
		{"nothing: one step", Spec{}, []hop{
			{at(0), 1 << 30, at2(0, 1)},
			{at2(0, 1), 0, at2(0, 2)},
			{at2(7, 41), 0, at2(7, 42)},
		}},
		{"a delay of 0 is one step, too", Spec{Delay: Constant(0)}, []hop{{at2(7, 41), 0, at2(7, 42)}}},
		{"a delay begins a time", Spec{Delay: Constant(5)}, []hop{
			{at(0), 0, at(5)},
			{at2(7, 41), 0, at(12)},
		}},
		// 8 Mbit/s is a byte a microsecond.
		{"the line is a queue", Spec{Bandwidth: 8e6, Delay: Constant(100)}, []hop{
			{at(0), 3, at(3100)},
			{at(0), 2, at(5100)},
			{at2(0, 9), 0, at(5100)}, // an empty message waits as well
			{at(4999), 1, at(6100)},
			{at(9000), 1, at(10_100)},
			{at(12_000), 0, at(12_100)},
		}},
		{"nothing to transmit takes a step", Spec{Bandwidth: 8e6}, []hop{
			{at2(0, 3), 0, at2(0, 4)},
			{at2(0, 4), 1, at(1000)},
			{at2(1000, 2), 0, at2(1000, 3)}, // the line is free again at that very time
		}},
		{"a byte at 3 bit/s is rounded up", Spec{Bandwidth: 3}, []hop{
			{at(0), 1, at(2_666_666_667)},
			{at(0), 1, at(5_333_333_334)},
		}},
		{"a line for ever", Spec{Bandwidth: 1, Delay: Constant(metasim.Forever - 1)}, []hop{
			{at(0), 0, at(metasim.Forever - 1)},
			{at(1), 0, metasim.Infinity},
			{at(1), 1, metasim.Infinity},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := single(t, 0, test.spec)
			for n, h := range test.hops {
				require.Equal(t, []metasim.Instant{h.due}, l.Transit(nil, uint64(n), h.sent, h.size), "message %d", n)
			}
		})
	}
}

// Transit appends: what is in dues stays.
func TestTransitAppends(t *testing.T) {
	l := single(t, 0, Spec{Delay: Constant(5), Duplicate: 1})
	require.Equal(t, []metasim.Instant{metasim.At(1), metasim.At(5), metasim.At(5)},
		l.Transit([]metasim.Instant{metasim.At(1)}, 0, metasim.Start, 0))
}

// A lost message has occupied the line.
func TestLostMessageOccupiesTheLine(t *testing.T) {
	l := single(t, 0, Spec{Bandwidth: 8e6, Loss: Bernoulli(1)})
	require.Empty(t, l.Transit(nil, 0, metasim.Start, 3))
	require.Equal(t, metasim.At(3000), l.Earliest(metasim.Start))
}

// A lost message delays no other at the end of an ordered link, and a second copy delays those behind it.
func TestFIFO(t *testing.T) {
	spread := Uniform{Min: ms, Max: 100 * ms}
	const n = 1000
	lost := losses(single(t, 1, Spec{Loss: Bernoulli(0.5)}), n)
	own := delays(single(t, 1, Spec{Delay: spread, Duplicate: 1}), n)
	ordered := delays(single(t, 1, Spec{Delay: spread, Duplicate: 1, Loss: Bernoulli(0.5), Order: FIFO}), n)
	last := metasim.Time(0)
	for i := range n {
		if lost[i] {
			require.Empty(t, ordered[i])
			continue
		}
		first := max(last, own[i][0])
		last = max(first, own[i][1])
		require.Equal(t, []metasim.Time{first, last}, ordered[i], "message %d", i)
	}
}

// An ordered link knows when the next message will arrive that does, and that nothing arrives before it.
func TestFIFOForesees(t *testing.T) {
	spread := Uniform{Min: ms, Max: 100 * ms}
	own := delays(single(t, 1, Spec{Delay: spread}), 4)
	l := single(t, 1, Spec{Delay: spread, Order: FIFO})
	require.Equal(t, metasim.At(5*ms).Add(own[0][0]), l.Earliest(metasim.At(5*ms)))
	due := l.Transit(nil, 0, metasim.At(7*ms), 0)[0]
	require.Equal(t, metasim.At(7*ms).Add(own[0][0]), due)
	require.Equal(t, metasim.Later(due, metasim.At(8*ms).Add(own[1][0])), l.Earliest(metasim.At(8*ms)))
	require.Equal(t, due, l.Earliest(metasim.Start), "it waits for the last one")
}

// It looks past messages that will be lost, but not for ever.
func TestFIFOLooksPastLostMessages(t *testing.T) {
	spread := Uniform{Min: ms, Max: 100 * ms}
	spec := Spec{Delay: spread, Order: FIFO, Loss: GilbertElliott{GoodToBad: 0.5, BadToGood: 0.2, LossBad: 1}}
	l, own := single(t, 3, spec), delays(single(t, 3, Spec{Delay: spread}), 100)
	lost := losses(single(t, 3, Spec{Loss: spec.Loss}), 100)
	past, last := 0, metasim.Start
	for n := range 90 {
		next, at := n, metasim.At(metasim.Time(n)*ms)
		for lost[next] {
			next++
			past++
		}
		bound := metasim.Later(last, at.Add(own[next][0]))
		require.Equal(t, bound, l.Earliest(at))
		dues := l.Transit(nil, uint64(n), at, 0)
		require.Equal(t, lost[n], len(dues) == 0)
		if !lost[n] {
			require.Equal(t, []metasim.Instant{bound}, dues)
			last = bound
		}
	}
	require.Greater(t, past, 20, "too few are lost to show anything")
	never := single(t, 1, Spec{Delay: spread, Order: FIFO, Loss: Bernoulli(1)})
	require.Equal(t, metasim.At(ms), never.Earliest(metasim.Start))
	require.Empty(t, never.Transit(nil, 0, metasim.Start, 0))
	require.Equal(t, metasim.At(ms), never.Earliest(metasim.Start))
}

// A link whose Earliest is asked gives the same delays as one that is not asked.
func TestForesightChangesNothing(t *testing.T) {
	for _, kind := range kinds {
		asked, plain := single(t, 1, busy(kind.dist)), single(t, 1, busy(kind.dist))
		for n := range uint64(2000) {
			at := metasim.At(metasim.Time(n) * us)
			if n%3 > 0 {
				asked.Earliest(at)
			}
			require.Equal(t, plain.Transit(nil, n, at, 100), asked.Transit(nil, n, at, 100), "%s: message %d", kind.name, n)
		}
	}
}

// Every link that a table returns begins anew: no state is shared.
func TestLinksShareNoState(t *testing.T) {
	table, err := NewTable(1, []Rule{{Spec: Spec{
		Bandwidth: 8e6, Order: FIFO, Loss: GilbertElliott{GoodToBad: 1, LossBad: 1}, Delay: Uniform{Max: ms},
	}}})
	require.NoError(t, err)
	one, other := table.Link("a", "b", "C"), table.Link("a", "b", "C")
	first := one.Transit(nil, 0, metasim.Start, 100)
	require.Empty(t, one.Transit(nil, 1, metasim.Start, 100), "bad from the second message on")
	require.Equal(t, first, other.Transit(nil, 0, metasim.Start, 100))
}

// Messages are sent without garbage, whatever the link.
func TestTransitDoesNotAllocate(t *testing.T) {
	for _, kind := range kinds {
		l := single(t, 1, busy(kind.dist))
		dues := make([]metasim.Instant, 0, 2)
		n := uint64(0)
		require.Zero(t, testing.AllocsPerRun(1000, func() {
			dues = l.Transit(dues[:0], n, metasim.At(metasim.Time(n)), 100)
			n++
		}), kind.name)
	}
}

// busy is a spec that draws for every purpose.
func busy(d Distribution) Spec {
	return Spec{
		Delay: d, Loss: GilbertElliott{GoodToBad: 0.01, BadToGood: 0.3, LossBad: 1},
		Order: FIFO, Bandwidth: 1e9, Duplicate: 0.01,
	}
}

func BenchmarkTransit(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind.name, func(b *testing.B) {
			l := single(b, 1, busy(kind.dist))
			dues := make([]metasim.Instant, 0, 2)
			b.ReportAllocs()
			for n := uint64(0); b.Loop(); n++ {
				dues = l.Transit(dues[:0], n, metasim.At(metasim.Time(n)), 100)
			}
		})
	}
}

func BenchmarkEarliest(b *testing.B) {
	l := single(b, 1, busy(Constant(5*ms)))
	b.ReportAllocs()
	for n := metasim.Time(0); b.Loop(); n++ {
		l.Earliest(metasim.At(n))
	}
}
