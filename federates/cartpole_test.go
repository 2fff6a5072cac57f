package federates

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/delay"
	"metasim/metasim"
	"metasim/server"
)

// balance is the demo over a network with this delay, a fifth of it more by chance, and this loss.
func balance(d metasim.Time, loss float64, until metasim.Time) testRun {
	return testRun{until: until, seed: 1,
		rules: []delay.Rule{
			{Spec: delay.Spec{Delay: delay.Uniform{Min: d, Max: d + d/5}, Loss: delay.Bernoulli(loss)}},
		},
		parts: []part{
			{name: "plant", model: "cartpole-plant"},
			{name: "estimator", model: "cartpole-estimator"},
			{name: "controller", model: "cartpole-controller"},
		}}
}

// plantResult is the result of the model cartpole-plant.
type plantResult struct {
	Stood    bool     `json:"stood"`
	MaxAngle float64  `json:"max_angle_deg"`
	FellAt   *float64 `json:"fell_at_s"`
}

func plantOf(t *testing.T, results map[string]server.ClientResult) (r plantResult) {
	require.NoError(t, json.Unmarshal(results["plant"].Result, &r))
	return r
}

func TestThePoleStandsOverAGoodNetwork(t *testing.T) {
	for _, d := range []metasim.Time{5 * ms, 10 * ms} {
		for _, loss := range []float64{0, 0.05} {
			t.Run(fmt.Sprintf("%v loss %v", d, loss), func(t *testing.T) {
				results, _ := balance(d, loss, 10*metasim.Second).mustRun(t)
				r := plantOf(t, results)
				assert.True(t, r.Stood)
				assert.Nil(t, r.FellAt)
				assert.Less(t, r.MaxAngle, 6.0)
				assert.GreaterOrEqual(t, r.MaxAngle, 5.0, "the tilt at the start")
			})
		}
	}
}

func TestThePoleFallsOverASlowOne(t *testing.T) {
	results, _ := balance(60*ms, 0.01, 10*metasim.Second).mustRun(t)
	r := plantOf(t, results)
	assert.False(t, r.Stood)
	require.NotNil(t, r.FellAt)
	assert.Less(t, *r.FellAt, 5.0)
	assert.Equal(t, 90.0, r.MaxAngle)
}

func TestTheSeedDecidesAndNothingElse(t *testing.T) {
	digest := func(seed uint64) metasim.Digest {
		s := balance(5*ms, 0.05, metasim.Second)
		s.seed = seed
		result, _, err := s.run(t)
		require.NoError(t, err)
		return result.Digest
	}
	assert.Equal(t, digest(1), digest(1))
	assert.NotEqual(t, digest(1), digest(2))
}

func TestTheRatesOfTheParts(t *testing.T) {
	_, seen := balance(5*ms, 0, 100*ms).mustRun(t)
	count := map[string]int{}
	for _, s := range seen {
		count[s.Channel]++
		switch s.Channel {
		case "CARTPOLE_SENSORS":
			assert.Zero(t, s.Sent.Time%(5*ms))
		case "CARTPOLE_FORCE":
			assert.Zero(t, s.Sent.Time%(10*ms))
		}
	}
	assert.InDelta(t, 19, count["CARTPOLE_SENSORS"], 1)
	assert.InDelta(t, 8, count["CARTPOLE_FORCE"], 1)
}

func TestOtherMessagesOnTheChannels(t *testing.T) {
	for model, channel := range map[string]string{
		"cartpole-plant":      "CARTPOLE_FORCE",
		"cartpole-estimator":  "CARTPOLE_SENSORS",
		"cartpole-controller": "CARTPOLE_STATE",
	} {
		_, _, err := testRun{until: metasim.Second, parts: []part{
			{name: "part", model: model},
			{name: "other", model: "source", with: map[string]any{"channel": channel, "period": "5ms", "size": 7}},
		}}.run(t)
		assert.ErrorContains(t, err, `from client "other": a `, model)
	}
}
