package scenarios

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"maps"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"metasim/federates/catalog"
)

// schemaFile is the JSON schema of scenario files without the built-in models, and under "parameters" a schema for each type of
// parameter that models have.
//
//go:embed schema.json
var schemaFile []byte

// Schema returns the JSON schema (draft 2020-12) of scenario files: that of the language, with the models of the catalog. The
// checks use it, and "metasim schema" prints it for editors.
func Schema() []byte {
	plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaFile))
	if err != nil {
		panic("schema.json is part of the program, and is no JSON: " + err.Error())
	}
	schema := plain.(object)
	types := schema["parameters"].(object)
	delete(schema, "parameters")
	defs := schema["$defs"].(object)
	client := defs["client"].(object)

	models := catalog.Models()
	names, cases := make([]any, len(models)), make([]any, len(models))
	for i, m := range models {
		names[i] = m.Name
		with := withOf(m, types)
		defs["model-"+m.Name] = with
		then := object{"properties": object{"with": object{"$ref": "#/$defs/model-" + m.Name}}}
		if with["required"] != nil {
			then["required"] = []any{"with"}
		}
		cases[i] = object{
			"if":   object{"required": []any{"model"}, "properties": object{"model": object{"const": m.Name}}},
			"then": then,
		}
	}
	names = append(names, compositeModel)
	cases = append(cases, object{
		"if":   object{"required": []any{"model"}, "properties": object{"model": object{"const": compositeModel}}},
		"then": object{"required": []any{"with"}, "properties": object{"with": object{"$ref": "#/$defs/model-" + compositeModel}}},
	})
	client["allOf"] = append(cases, object{
		"if": object{"not": object{"required": []any{"model"}}},
		"then": object{"properties": object{"with": object{
			"title": "parameters by name", "description": "Told to the client as JSON.", "type": "object", "examples": []any{object{"mass": 3}},
		}}},
	})
	client["properties"].(object)["model"].(object)["enum"] = names
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		panic("the schema is plain data, and cannot be written: " + err.Error())
	}
	return text
}

// withOf is the schema of a model's parameters.
func withOf(m catalog.Spec, types object) object {
	properties, example := object{}, object{}
	var required []any
	for _, p := range m.Params {
		rule := maps.Clone(types[string(p.Type)].(object))
		rule["description"] = p.Doc
		if p.Default != nil {
			rule["default"] = p.Default
		}
		// The bounds of durations are not for a schema to check: the catalog does.
		isNumber := p.Type == catalog.Int || p.Type == catalog.Float
		if p.Min != nil && isNumber {
			rule["minimum"] = *p.Min
		}
		if p.Max != nil && isNumber {
			rule["maximum"] = *p.Max
		}
		if p.Min != nil && p.Type == catalog.Patterns {
			rule["minItems"] = int(*p.Min)
		}
		properties[p.Name] = rule
		if p.Required {
			required = append(required, p.Name)
			example[p.Name] = rule["examples"].([]any)[0]
		}
	}
	s := object{
		"title":                "the parameters of model " + m.Name,
		"description":          "The model " + m.Doc,
		"type":                 "object",
		"additionalProperties": false,
		"properties":           properties,
	}
	if required != nil {
		s["required"], s["examples"] = required, []any{example}
	}
	return s
}
