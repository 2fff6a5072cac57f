package sdf

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/internal/problem"
)

// The configuration of the prototype is read as it is.
func TestRuntimeOfThePrototype(t *testing.T) {
	r, warnings, err := LoadRuntime(worldsDir + "/lock_step_runtime.config")
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Equal(t, []string{"*", "world"}, []string{r.EntityName, r.EntityType})
	assert.Equal(t, []string{"gz-sim-sensors-system", "gz::sim::systems::Sensors"}, []string{r.Plugin.Filename, r.Plugin.Name})
	require.Len(t, r.Plugin.Content, 3)
	assert.Equal(t, []string{"render_engine", "ogre2"}, []string{r.Plugin.Content[0].Name, r.Plugin.Content[0].Text})
	assert.Equal(t, 6, r.Place.Line)
	assert.Empty(t, r.World+r.System, "its services have the names of the prototype")
}

func TestRuntimesThatAreRefused(t *testing.T) {
	for text, says := range map[string]string{
		`<runtime_config/>`:          "r.config:1:1: no plugin is named; add <plugins>",
		`<runtime_config><plugins/>`: "r.config:1:27: the file ends too early; close <runtime_config> of line 1 first",
		"<runtime_config><plugins>\n<plugin name='a' filename='b'/>\n<plugin name='c' filename='d'/></plugins></runtime_config>": "r.config:3:1: a runtime runs one plugin",
		`<runtime_config><plugins><plugin filename='b'/></plugins></runtime_config>`:                                             "r.config:1:26: <plugin> has no name; add name=",
		`<runtime_config><plugins><plugin name='a' filename='b' entity_type='wurld'/></plugins></runtime_config>`:                `did you mean "world"?`,
		`<runtime_config><service>a b/c</service><plugins><plugin name='a' filename='b'/></plugins></runtime_config>`:            `r.config:1:17: <service> is "a b/c"; write the client of the world and the system, as in world/sensors`,
		`<sdf version="1.9"/>`: "this is no configuration of a runtime",
		``:                     "this is no configuration of a runtime",
	} {
		file := filepath.Join(t.TempDir(), "r.config")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, _, err := LoadRuntime(file)
		var invalid *problem.Invalid
		require.True(t, errors.As(err, &invalid), text)
		assert.ErrorContains(t, err, says, text)
	}
	_, _, err := LoadRuntime(filepath.Join(t.TempDir(), "none.config"))
	assert.ErrorContains(t, err, "none.config: cannot be read: no such file or directory")
}
