package delay

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
)

func TestTheLastRuleDecides(t *testing.T) {
	table, err := NewTable(1, []Rule{
		{Spec: Spec{Delay: Constant(5), Loss: Bernoulli(1)}},
		{From: "ponger", To: "pinger", Spec: Spec{Delay: Constant(50)}},
		{Channel: "VIDEO*", Spec: Spec{Delay: Constant(20)}},
		{From: "robot-*", To: "*", Channel: "VIDEO_1", Spec: Spec{Delay: Constant(7)}},
	})
	require.NoError(t, err)
	for _, test := range []struct {
		from, to, channel string
		min               metasim.Time
		arrives           bool
	}{
		{"a", "b", "C", 5, false},
		{"ponger", "pinger", "C", 50, true}, // without the loss of the first rule
		{"pinger", "ponger", "C", 5, false},
		{"ponger", "pinger", "VIDEO_9", 20, true},
		{"robot-1", "b", "VIDEO_1", 7, true},
		{"robot-1", "b", "VIDEO_10", 20, true},
		{"robot", "b", "VIDEO_1", 20, true},
	} {
		l := table.Link(test.from, test.to, test.channel)
		require.Equal(t, test.min, l.Min(), "%v", test)
		require.Equal(t, test.arrives, len(l.Transit(nil, 0, metasim.Start, 0)) > 0, "%v", test)
	}
}

func TestNoRuleIsOneStep(t *testing.T) {
	table, err := NewTable(1, []Rule{{From: "x", Spec: Spec{Delay: Constant(5)}}})
	require.NoError(t, err)
	l := table.Link("a", "b", "C")
	require.Zero(t, l.Min())
	require.Equal(t, metasim.Instant{Step: 1}, l.Earliest(metasim.Start))
	require.Equal(t, []metasim.Instant{{Step: 1}}, l.Transit(nil, 0, metasim.Start, 1<<30))
}

// A table keeps its rules, whatever the caller does with the slice.
func TestTableKeepsItsRules(t *testing.T) {
	rules := []Rule{{Spec: Spec{Delay: Constant(5)}}}
	table, err := NewTable(1, rules)
	require.NoError(t, err)
	rules[0].Delay = Constant(6)
	require.Equal(t, metasim.Time(5), table.Link("a", "b", "C").Min())
}

func TestTableNamesTheRule(t *testing.T) {
	_, err := NewTable(1, []Rule{{}, {From: "a", To: "b*", Channel: "C", Spec: Spec{Delay: Constant(-5 * ms)}}})
	require.EqualError(t, err, `rule 2 (from "a" to "b*" on "C"): delay: -5ms is negative; use 0 or more`)
	var rule *RuleError
	require.True(t, errors.As(err, &rule))
	require.Equal(t, 1, rule.Index)
	var field *FieldError
	require.True(t, errors.As(err, &field))
	require.Equal(t, "delay", field.Field)
}

// A dumb twin of match: a regular expression.
func TestMatchTwin(t *testing.T) {
	word := rapid.StringMatching(`[ab*.]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		pattern, name := word.Draw(t, "pattern"), word.Draw(t, "name")
		expr := "^(?s:" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + ")$"
		want := pattern == "" || regexp.MustCompile(expr).MatchString(name)
		require.Equal(t, want, Match(pattern, name))
	})
}

// A contradiction is named with its field, its value and a way out.
func TestValidate(t *testing.T) {
	nan := math.NaN()
	zero, negative := metasim.Time(0), -ms
	for _, test := range []struct {
		spec Spec
		want string
	}{
		{Spec{Delay: Constant(-1)}, "delay: -1ns is negative; use 0 or more"},
		{Spec{Delay: Uniform{Min: -1}}, "delay.uniform.min: -1ns is negative; use 0 or more"},
		{Spec{Delay: Uniform{Min: 3, Max: 2}}, "delay.uniform.max: 2ns is less than min, 3ns; exchange them"},
		{Spec{Delay: Empirical{}}, "delay.empirical: there are no delays to draw from; give one at least"},
		{Spec{Delay: Empirical{3, -2}}, "delay.empirical: -2ns is negative; use delays of 0 or more"},
		{Spec{Delay: Normal{Mean: 5, StdDev: 1}}, "delay.normal.min: min is missing, and normal has no lookahead " +
			"without it; give the least delay of the link, or 0 for none"},
		{Spec{Delay: Normal{Mean: 5, StdDev: 1, Min: &negative}}, "delay.normal.min: -1ms is negative; use 0 or more"},
		{Spec{Delay: Normal{Mean: 5, StdDev: 1, Min: new(6 * metasim.Nanosecond)}},
			"delay.normal.mean: 5ns is less than min, 6ns; use min or more"},
		{Spec{Delay: Normal{Mean: 5, Min: &zero}},
			"delay.normal.stddev: 0s is not positive; use a positive duration, or a constant delay"},
		{Spec{Delay: Exponential{Mean: 5}}, "delay.exponential.min: min is missing, and exponential has no lookahead " +
			"without it; give the least delay of the link, or 0 for none"},
		{Spec{Delay: Exponential{Min: &zero}}, "delay.exponential.mean: 0s is not more than min, 0s; mean is that of the " +
			"whole delay, min included: use more than min, or a constant delay"},
		{Spec{Delay: LogNormal{Mean: 5, StdDev: 1}}, "delay.lognormal.min: min is missing, and lognormal has no lookahead " +
			"without it; give the least delay of the link, or 0 for none"},
		{Spec{Delay: LogNormal{Mean: 5, StdDev: -1, Min: &zero}},
			"delay.lognormal.stddev: -1ns is not positive; use a positive duration, or a constant delay"},
		{Spec{Delay: Gamma{Mean: 5, StdDev: 1}}, "delay.gamma.min: min is missing, and gamma has no lookahead without it; " +
			"give the least delay of the link, or 0 for none"},
		{Spec{Delay: Gamma{Mean: 5, Min: &zero}},
			"delay.gamma.stddev: 0s is not positive; use a positive duration, or a constant delay"},
		{Spec{Loss: Bernoulli(5)}, "loss: 5 is not a probability; use a number from 0 to 1 (5 percent is 0.05)"},
		{Spec{Loss: GilbertElliott{GoodToBad: -0.1}},
			"loss.p_good_to_bad: -0.1 is not a probability; use a number from 0 to 1 (5 percent is 0.05)"},
		{Spec{Loss: GilbertElliott{BadToGood: 2}},
			"loss.p_bad_to_good: 2 is not a probability; use a number from 0 to 1 (5 percent is 0.05)"},
		{Spec{Loss: GilbertElliott{LossGood: nan}},
			"loss.loss_good: NaN is not a probability; use a number from 0 to 1 (5 percent is 0.05)"},
		{Spec{Loss: GilbertElliott{LossBad: 7}},
			"loss.loss_bad: 7 is not a probability; use a number from 0 to 1 (5 percent is 0.05)"},
		{Spec{Order: 2}, "order: order 2 is not an order; use any or fifo"},
		{Spec{Duplicate: 1.5}, "duplicate: 1.5 is not a probability; use a number from 0 to 1 (5 percent is 0.05)"},
	} {
		require.EqualError(t, test.spec.Validate(), test.want)
	}
	for _, kind := range kinds {
		require.NoError(t, busy(kind.dist).Validate(), kind.name)
	}
	require.NoError(t, Spec{}.Validate())
}
