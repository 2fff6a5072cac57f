package scenarios

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/catalog"
	"metasim/metasim"
	"metasim/wire/transport"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("schema.json", doc))
	s, err := c.Compile("schema.json") // also holds the schema against that of draft 2020-12
	require.NoError(t, err)
	return s
}

func TestTheSchemaTakesWhatShips(t *testing.T) {
	s := compileSchema(t)
	for _, file := range everyGoodFile(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		root, problems := parse(file, text)
		require.Empty(t, problems)
		assert.NoError(t, s.Validate(root.plain()), file)
	}
}

func TestTheSchemaDescribesEveryModelAndParameter(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	require.NoError(t, err)
	v := validator{schema: doc}
	for _, m := range catalog.Models() {
		for _, p := range m.Params {
			rule := v.rule("#/$defs/model-" + m.Name + "/properties/" + p.Name)
			assert.Equal(t, p.Doc, rule["description"], "%s %s", m.Name, p.Name)
		}
	}
}

// Editors and messages live on titles, descriptions and examples: a property has a description, and what a message may
// have to show has an example or an enumeration.
func TestTheSchemaExplainsItself(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	require.NoError(t, err)
	var look func(where string, rule object)
	look = func(where string, rule object) {
		properties, _ := rule["properties"].(object)
		for key, p := range properties {
			rule, _ := p.(object)
			at := where + "." + key
			if rule["$ref"] == nil && rule["title"] != "the parameters of a model" {
				assert.NotEmpty(t, rule["title"], at)
				assert.NotEmpty(t, rule["description"], at)
				assert.False(t, rule["examples"] == nil && rule["enum"] == nil && rule["const"] == nil, at)
			}
			look(at, rule)
		}
	}
	root, _ := doc.(object)
	look("", root)
	defs, _ := root["$defs"].(object)
	for name, def := range defs {
		rule, _ := def.(object)
		assert.NotEmpty(t, rule["description"], name)
		look(name, rule)
	}
}

// What an example says is right by the rule that it stands in.
func TestTheSchemaTakesItsOwnExamples(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	require.NoError(t, err)
	root, _ := doc.(object)
	c := jsonschema.NewCompiler()
	const url = "test:schema.json" // not a file of this directory, whose name may have spaces, which the library misreads
	require.NoError(t, c.AddResource(url, doc))
	defs, _ := root["$defs"].(object)
	for name := range defs {
		s, err := c.Compile(url + "#/$defs/" + name)
		require.NoError(t, err)
		for _, e := range s.Examples {
			assert.NoError(t, s.Validate(e), name)
		}
		for key, p := range s.Properties {
			for _, e := range p.Examples {
				assert.NoError(t, p.Validate(e), "%s.%s", name, key)
			}
		}
	}
}

// The schema is data, so what it says of limits and defaults stands beside the code that has them.
func TestTheSchemaHasTheLimitsOfTheCode(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	require.NoError(t, err)
	v := validator{schema: doc}
	assert.Equal(t, fmt.Sprint(maxCount), fmt.Sprint(v.rule("#/$defs/client/properties/count")["maximum"]))
	assert.Equal(t, fmt.Sprint(metasim.DefaultMaxSteps), fmt.Sprint(v.rule("#/properties/max_steps")["default"]))
	assert.Contains(t, v.rule("#/properties/start_timeout")["description"], DefaultStartTimeout.String())
	assert.Contains(t, v.rule("#/properties/peer_timeout")["description"], "Default "+transport.DefaultPeerTimeout.String())
	assert.NotEmpty(t, v.pattern("#/properties/until"))
	assert.NotEmpty(t, v.pattern("#/$defs/link/properties/bandwidth"))
	assert.Nil(t, v.rule("#/parameters"), "the types of parameters are not part of it")
}
