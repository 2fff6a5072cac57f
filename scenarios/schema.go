package scenarios

import (
	"encoding/json"
	"maps"

	"metasim/federates/catalog"
	"metasim/metasim"
)

// Schema returns the JSON schema (draft 2020-12) of scenario files. It is made of the same data that the checks use:
// what it refuses is refused, and "metasim schema" prints it for editors.
func Schema() []byte {
	text, err := json.MarshalIndent(schema(), "", "  ")
	if err != nil {
		panic("the schema is plain data: " + err.Error())
	}
	return text
}

func schema() object {
	defs := object{"client": client(), "link": link()}
	for _, m := range catalog.Models() {
		defs["model-"+m.Name] = with(m)
	}
	maps.Copy(defs, delays())
	sinks := []any{object{"name": "logger", "model": "sink", "with": object{"channels": []any{"PING"}}}}
	return object{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                "a metasim scenario",
		"description":          "Which clients take part in a run, and how long messages travel between them.",
		"type":                 "object",
		"required":             []any{"name", "clients"},
		"examples":             []any{object{"name": "ping-pong", "clients": sinks}},
		"additionalProperties": false,
		"properties": object{
			"name": name("What the scenario is called.", "ping-pong"),
			"seed": whole("a seed", "Every random draw of the run follows from it.", 0, 1<<64-1, 0, 1),
			"until": duration(
				"Everything strictly before it happens. Without it the run ends when every client has left.", "2s"),
			"rate": number("a real-time factor", "Simulated seconds a wall-clock second; 0 is as fast as it can.",
				0, 0, 1.0),
			"max_steps": whole("a number of steps", "How many messages without delay may follow one another at one time.",
				1, 1<<32-1, metasim.DefaultMaxSteps, 1000),
			"start_timeout": duration("Wall-clock time that all clients have to join. Default 30s.", "30s"),
			"public_lcm": text("the URL of an LCM network, or off", "udpm://239.255.76.67:7667",
				"Where every message received and delivered is shown: udpm://group:port?ttl=N, tcpq://host:port or file://path."),
			"lcm_suffix": pattern("1 to 16 visible characters without '>'",
				"What stands between a channel and the name of the sender on public_lcm. Default @.", suffixPattern, "@"),
			"clients": object{
				"title": "a list of clients", "description": "All that take part: nobody else may join.",
				"type": "array", "minItems": 1, "items": ref("client"),
				"examples": []any{sinks},
			},
			"links": object{
				"title":       "a list of link rules",
				"description": "The last rule that matches a (from, to, channel) decides; without any it is one step.",
				"type":        "array", "items": ref("link"),
				"examples": []any{[]any{object{"from": "a", "to": "b", "delay": "5ms"}}},
			},
		},
		"$defs": defs,
	}
}

func client() object {
	models := catalog.Models()
	names, cases := make([]any, len(models)), make([]any, len(models))
	for i, m := range models {
		names[i] = m.Name
		then := object{"properties": object{"with": ref("model-" + m.Name)}}
		if needed(m) != nil {
			then["required"] = []any{"with"}
		}
		cases[i] = object{
			"if":   object{"required": []any{"model"}, "properties": object{"model": object{"const": m.Name}}},
			"then": then,
		}
	}
	return object{
		"title":                "a client",
		"description":          "One simulator, or count of them: a model, a command, or one that somebody else starts.",
		"type":                 "object",
		"required":             []any{"name"},
		"additionalProperties": false,
		"oneOf": []any{object{"required": []any{"model"}}, object{"required": []any{"run"}},
			object{"required": []any{"external"}}},
		"dependentRequired": object{"with": []any{"model"}, "env": []any{"run"}, "dir": []any{"run"}},
		"allOf":             cases,
		"properties": object{
			"name": name("What the client is called; unique.", "pinger"),
			"count": whole("a number of clients", "Makes name-0, name-1, ... of one entry.",
				1, maxCount, nil, 3),
			"model": object{"title": "a built-in model", "enum": names,
				"description": "Which ready-made simulator the client is."},
			"with": object{"title": "the parameters of a model"},
			"run": list("a command and its arguments, as a list",
				"Started without a shell; a path is relative to the scenario's directory, a bare word is looked up in PATH.",
				text("a text (numbers need quotes)", "--fast"), "./ponger", "--fast"),
			"env": list("a list of NAME=value",
				"Added to the environment of the command; a list, as names keep their case.",
				pattern("NAME=value", "", envPattern, "RATE=100"), "RATE=100"),
			"dir": text("a directory", "logs",
				"Where the command runs, relative to the scenario's directory; the default is that directory."),
			"external": object{"title": "true", "const": true,
				"description": "Somebody else starts this client, which joins under its name."},
			"on_exit": object{"title": "fail or detach", "enum": []any{"fail", "detach"}, "default": "fail",
				"description": "When the client is lost, the run fails, or goes on without it: no longer deterministic."},
		},
	}
}

// with is the schema of a model's parameters.
func with(m catalog.Spec) object {
	properties := object{}
	for _, p := range m.Params {
		properties[p.Name] = parameter(p)
	}
	s := object{
		"title":                "the parameters of model " + m.Name,
		"description":          "The model " + m.Doc,
		"type":                 "object",
		"additionalProperties": false,
		"properties":           properties,
	}
	if names := needed(m); names != nil {
		example := object{}
		for _, n := range names {
			example[n.(string)] = properties[n.(string)].(object)["examples"].([]any)[0]
		}
		s["required"], s["examples"] = names, []any{example}
	}
	return s
}

func needed(m catalog.Spec) []any {
	var names []any
	for _, p := range m.Params {
		if p.Required {
			names = append(names, p.Name)
		}
	}
	return names
}

// parameter is the schema of one parameter of a model. The bounds of durations are not for a schema to check: the
// model itself does.
func parameter(p catalog.Param) object {
	s := object{}
	switch p.Type {
	case catalog.Int:
		s = object{"title": "a whole number", "type": "integer", "examples": []any{10}}
	case catalog.Float:
		s = object{"title": "a number", "type": "number", "examples": []any{0.5}}
	case catalog.Bool:
		s = object{"title": "true or false", "type": "boolean", "examples": []any{true}}
	case catalog.Duration:
		s = duration("", "5ms")
	case catalog.Patterns:
		s = object{"title": "a list of channels or regular expressions", "type": "array",
			"items": text("a channel or a regular expression", "PING"), "examples": []any{[]any{"PING", "SENSOR_.*"}}}
	case catalog.Channels:
		s = object{"title": "a list of channels", "type": "array",
			"items": text("the name of a channel", "PING"), "examples": []any{[]any{"PING", "PONG"}}}
	case catalog.Network:
		s = text("the URL of an LCM network", "udpm://239.255.76.67:7667")
	case catalog.Channel:
		s = text("the name of a channel", "PING")
	case catalog.Pattern:
		s = text("a channel or a regular expression", "PING")
	case catalog.File:
		s = text("the path of a file, relative to the scenario", "data/real.lcmlog")
	default:
		s = object{"title": "a text", "type": "string", "examples": []any{"text"}}
	}
	s["description"] = p.Doc
	if p.Default != nil {
		s["default"] = p.Default
	}
	if p.Min != nil && (p.Type == catalog.Int || p.Type == catalog.Float) {
		s["minimum"] = *p.Min
	}
	if p.Max != nil && (p.Type == catalog.Int || p.Type == catalog.Float) {
		s["maximum"] = *p.Max
	}
	if p.Min != nil && p.Type == catalog.Patterns {
		s["minItems"] = int(*p.Min)
	}
	return s
}
