package cartpole

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/federates/catalog"
)

func TestWhatWasOvertakenDoesNotCount(t *testing.T) {
	command, err := newestCommand(Command{Time: 5, Force: 1}, []client.Message{
		{Payload: Command{Time: 7, Force: 2}.Encode()},
		{Payload: Command{Time: 6, Force: 3}.Encode()},
	})
	require.NoError(t, err)
	assert.Equal(t, Command{Time: 7, Force: 2}, command)
	estimate, err := newestEstimate(Estimate{Time: 7}, []client.Message{
		{Payload: Estimate{Time: 6, State: State{X: 1}}.Encode()},
	})
	require.NoError(t, err)
	assert.Equal(t, Estimate{Time: 7}, estimate)
}

func TestTwoPlantsHaveNoiseOfTheirOwn(t *testing.T) {
	first := noiseOf(catalog.Env{Name: "a", Seed: 1}).Uint64()
	assert.Equal(t, first, noiseOf(catalog.Env{Name: "a", Seed: 1}).Uint64())
	assert.NotEqual(t, first, noiseOf(catalog.Env{Name: "b", Seed: 1}).Uint64())
}
