package run_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/run"
)

// What contradicts itself is refused, and what is left out has a default.
func TestOptions(t *testing.T) {
	o := run.Options{Transport: "udp"}
	require.ErrorContains(t, o.Validate(), `no transport "udp"`)
	o = run.Options{Transport: "unix"}
	require.ErrorContains(t, o.Validate(), "Options.Self")
	o = run.Options{Patience: -1}
	require.ErrorContains(t, o.Validate(), "patience")
	o = run.Options{}
	require.NoError(t, o.Validate())
	require.Equal(t, "mem", o.Transport)
	require.Positive(t, o.Patience)
}
