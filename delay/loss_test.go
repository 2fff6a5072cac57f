package delay

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func count(lost []bool) (n int) {
	for _, gone := range lost {
		if gone {
			n++
		}
	}
	return n
}

// Bernoulli loses as many as it says, within 3 sigma.
func TestBernoulliRate(t *testing.T) {
	const n = 100_000
	for _, p := range []float64{0, 0.001, 0.01, 0.5, 0.99, 1} {
		lost := count(losses(single(t, 1, Spec{Loss: Bernoulli(p)}), n))
		require.InDelta(t, n*p, lost, 3*math.Sqrt(n*p*(1-p)), "p = %v", p)
	}
}

// A greater loss loses more messages, and all that were lost before: a parameter sweep compares like with like.
func TestLossesAreNested(t *testing.T) {
	few := losses(single(t, 1, Spec{Loss: Bernoulli(0.1)}), 1000)
	many := losses(single(t, 1, Spec{Loss: Bernoulli(0.3)}), 1000)
	for i := range few {
		require.False(t, few[i] && !many[i], "message %d", i)
	}
	require.Greater(t, count(many), count(few))
}

// Bad spells of the Gilbert model (no loss while good, every message while bad) and the good ones between them are
// geometric: their mean lengths are the reciprocals of the probabilities, within 3 sigma.
func TestGilbertElliottBursts(t *testing.T) {
	const n = 200_000
	g := GilbertElliott{GoodToBad: 0.02, BadToGood: 0.25, LossBad: 1}
	lost := losses(single(t, 1, Spec{Loss: g}), n)
	require.False(t, lost[0], "a link begins good")
	var spells, lengths [2]float64 // good, bad
	for i, gone := range lost {
		kind := 0
		if gone {
			kind = 1
		}
		if i == 0 || lost[i-1] != gone {
			spells[kind]++
		}
		lengths[kind]++
	}
	for kind, p := range []float64{g.GoodToBad, g.BadToGood} {
		sigma := math.Sqrt(1-p) / p / math.Sqrt(spells[kind])
		require.InDelta(t, 1/p, lengths[kind]/spells[kind], 3*sigma, "kind %d", kind)
	}
}

// In the long run the loss is that of the two states, each in its share of the messages.
func TestGilbertElliottRate(t *testing.T) {
	const n = 200_000
	g := GilbertElliott{GoodToBad: 0.1, BadToGood: 0.3, LossGood: 0.05, LossBad: 0.6}
	bad := g.GoodToBad / (g.GoodToBad + g.BadToGood)
	want := (1-bad)*g.LossGood + bad*g.LossBad
	// The states of messages k apart correlate by rho^k, which widens the variance of the count.
	rho := 1 - g.GoodToBad - g.BadToGood
	spread := g.LossBad - g.LossGood
	variance := want*(1-want) + 2*bad*(1-bad)*spread*spread*rho/(1-rho)
	require.InDelta(t, n*want, count(losses(single(t, 1, Spec{Loss: g}), n)), 3*math.Sqrt(n*variance))
}

// Of the messages that arrive, as many arrive twice as Duplicate says, whatever the loss.
func TestDuplicateRate(t *testing.T) {
	const n = 100_000
	var arrived, twice float64
	for _, d := range delays(single(t, 1, Spec{Loss: Bernoulli(0.4), Duplicate: 0.1}), n) {
		if len(d) > 0 {
			arrived++
			twice += float64(len(d) - 1)
		}
	}
	require.InDelta(t, 0.1*arrived, twice, 3*math.Sqrt(arrived*0.1*0.9))
}
