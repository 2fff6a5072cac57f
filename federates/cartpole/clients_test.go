package cartpole

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/federates/catalog"
)

func TestWhatWasOvertakenDoesNotCount(t *testing.T) {
	force, err := newest("command", command{Time: 5, Force: 1}, []client.Message{
		{Payload: encode(command{Time: 7, Force: 2})},
		{Payload: encode(command{Time: 6, Force: 3})},
	})
	require.NoError(t, err)
	assert.Equal(t, command{Time: 7, Force: 2}, force)
	state, err := newest("estimate", estimate{Time: 7}, []client.Message{
		{Payload: encode(estimate{Time: 6, State: plantState{X: 1}})},
	})
	require.NoError(t, err)
	assert.Equal(t, estimate{Time: 7}, state)
}

func TestTwoPlantsHaveNoiseOfTheirOwn(t *testing.T) {
	first := noiseOf(catalog.Env{Name: "a", Seed: 1}).Uint64()
	assert.Equal(t, first, noiseOf(catalog.Env{Name: "a", Seed: 1}).Uint64())
	assert.NotEqual(t, first, noiseOf(catalog.Env{Name: "b", Seed: 1}).Uint64())
}
