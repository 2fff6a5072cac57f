package record_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/run"
	"metasim/scenarios"
)

func parse(t *testing.T, text string) *scenarios.Scenario {
	t.Helper()
	sc, _, err := scenarios.Parse("test.yaml", []byte(text), scenarios.Overrides{})
	require.NoError(t, err)
	return sc
}

// carryOut runs a scenario in this process. The run must succeed.
func carryOut(t *testing.T, sc *scenarios.Scenario) *run.Outcome {
	t.Helper()
	out, err := run.Scenario(t.Context(), sc, run.Options{Transport: "mem", Out: filepath.Join(t.TempDir(), "run")})
	require.NoError(t, err)
	require.NoError(t, out.Err)
	return out
}
