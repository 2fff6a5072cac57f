package scenarios

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/internal/golden"
)

func resolved(t *testing.T, s *Scenario) string {
	t.Helper()
	text, err := s.Resolved(true)
	require.NoError(t, err)
	return string(text)
}

func everyGoodFile(t *testing.T) []string {
	t.Helper()
	shipped, err := filepath.Glob("*.metasim.yaml")
	require.NoError(t, err)
	good, err := filepath.Glob("testdata/good/*.metasim.yaml")
	require.NoError(t, err)
	return append(shipped, good...)
}

func TestLoadingTwiceResolvesToTheSame(t *testing.T) {
	for _, file := range everyGoodFile(t) {
		assert.Equal(t, resolved(t, load(t, file)), resolved(t, load(t, file)), file)
	}
}

func TestResolvedIsPinned(t *testing.T) {
	golden.Equal(t, "testdata/good/everything.json", resolved(t, load(t, "testdata/good/everything.metasim.yaml"))+"\n")
}

// What a run was can be read back from its manifest, where no file of the scenario is left.
func TestRestoreGivesTheSameScenario(t *testing.T) {
	elsewhere := t.TempDir()
	for _, file := range everyGoodFile(t) {
		want := load(t, file)
		got, err := Restore([]byte(resolved(t, want)), elsewhere)
		require.NoError(t, err, file)
		assert.Equal(t, want.Rules, got.Rules, file)
		assert.Equal(t, len(want.Clients), len(got.Clients), file)
		for i := range want.Clients {
			want.Clients[i].WorkDir, got.Clients[i].WorkDir, want.Clients[i].Dir, got.Clients[i].Dir = "", "", "", ""
			want.Clients[i].Ahead = 0 // as memory: it changes no result
		}
		assert.Equal(t, want.Clients, got.Clients, file)
		assert.Equal(t, resolved(t, want), resolved(t, got), file)
		assert.Equal(t, elsewhere, got.Dir)
	}
}

// Resolved speaks the scenario language, so it can be loaded like a file.
func TestResolvedIsAScenario(t *testing.T) {
	want := load(t, "ping-pong.metasim.yaml", "until=3s")
	got, warnings, err := Parse("manifest.json", []byte(resolved(t, want)), Overrides{})
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Equal(t, resolved(t, want), resolved(t, got))
}

func TestRestoreRefusesWhatIsNoScenario(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "null", `{"name": "x"}`, `{"name":"x","clients":[{"name":"a","model":"b"}]}`} {
		_, err := Restore([]byte(text), ".")
		assert.Error(t, err, text)
	}
}
