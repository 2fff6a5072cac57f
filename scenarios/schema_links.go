package scenarios

import (
	"metasim/delay"
	"metasim/metasim"
)

// fields are the durations of a distribution.
type fields map[string]*metasim.Time

// A distribution is a kind of random delay, as scenarios write it. All its numbers are durations, and all are needed.
type distribution struct {
	name, doc string
	fields    []string
	// build makes it of its fields.
	build func(f fields) delay.Distribution
}

// distributions are all but the empirical one, which has a file.
func distributions() []distribution {
	spread := []string{"mean", "stddev", "min"}
	return []distribution{
		{"uniform", "between two bounds, all equally likely", []string{"min", "max"}, func(f fields) delay.Distribution {
			return delay.Uniform{Min: *f["min"], Max: *f["max"]}
		}},
		{"normal", "a bell, cut off below min", spread, func(f fields) delay.Distribution {
			return delay.Normal{Mean: *f["mean"], StdDev: *f["stddev"], Min: f["min"]}
		}},
		{"exponential", "min and an exponential part beyond it", []string{"mean", "min"}, func(f fields) delay.Distribution {
			return delay.Exponential{Mean: *f["mean"], Min: f["min"]}
		}},
		{"lognormal", "min and a lognormal part beyond it: many small delays and a few very long ones", spread,
			func(f fields) delay.Distribution {
				return delay.LogNormal{Mean: *f["mean"], StdDev: *f["stddev"], Min: f["min"]}
			}},
		{"gamma", "min and a gamma part beyond it: several hops", spread, func(f fields) delay.Distribution {
			return delay.Gamma{Mean: *f["mean"], StdDev: *f["stddev"], Min: f["min"]}
		}},
	}
}

// field says what a number of a distribution is, and how to write it.
func field(name string) (rule object, example string) {
	doc := "the standard deviation"
	switch example = "4ms"; name {
	case "min":
		doc, example = "the least delay, which is the lookahead of the link; 0s for none", "10ms"
	case "max":
		doc, example = "the greatest delay", "30ms"
	case "mean":
		doc, example = "the mean of the delay; min included, except for normal, where it is that of the whole bell", "20ms"
	}
	return duration(doc, example), example
}

// link is the schema of a rule.
func link() object {
	return object{
		"title": "a link rule", "type": "object", "additionalProperties": false,
		"description": "Decides about the links that it matches as a whole, unless a later rule matches them too.",
		"examples":    []any{object{"from": "a", "to": "b", "delay": "5ms"}},
		"properties": object{
			"from":    wildcard("the name of the sender", "sensor-*"),
			"to":      wildcard("the name of the recipient", "controller"),
			"channel": wildcard("the name of the channel", "VIDEO"),
			"delay":   ref("delay"),
			"loss":    ref("loss"),
			"order": object{"title": "any or fifo", "enum": []any{"any", "fifo"}, "default": "any",
				"description": "Whether a message may arrive before one that was sent earlier on its link."},
			"bandwidth": pattern("a bandwidth",
				"Payload bits a second; a message waits behind the earlier ones of its link. Without it: infinite.",
				bandwidthPattern, "10Mbit"),
			"duplicate": probability("How likely it is that a message arrives twice."),
		},
	}
}

// delays are the definitions that link refers to.
func delays() object {
	kinds := object{"empirical": object{
		"title": "measured delays", "description": "Each as likely as the others: a CSV file of them, or a list.",
		"type": "object", "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
		"examples": []any{object{"file": "delays.csv"}},
		"properties": object{
			"file": text("the path of a CSV file", "delays.csv",
				"Relative to the scenario. Its first line names the column: delay (values such as 5ms), delay_ms, ..."),
			"values": object{"title": "a list of delays", "description": "The delays themselves.",
				"type": "array", "minItems": 1, "items": duration("", "5ms"), "examples": []any{[]any{"5ms", "7ms"}}},
		},
	}}
	for _, d := range distributions() {
		properties, required, example := object{}, []any{}, object{}
		for _, f := range d.fields {
			rule, text := field(f)
			properties[f], example[f] = rule, text
			required = append(required, f)
		}
		kinds[d.name] = object{"title": "the parameters of " + d.name, "description": d.doc, "type": "object",
			"additionalProperties": false, "properties": properties, "required": required,
			"examples": []any{example}}
	}
	return object{"delay": object{"title": "a duration or a distribution", "type": []any{"string", "object"},
		"description": "How long each message travels; its least value is the lookahead of the link. 0s is one step.",
		"pattern":     durationPattern, "minProperties": 1, "maxProperties": 1, "additionalProperties": false,
		"properties": kinds, "examples": []any{"5ms"}}, "loss": loss()}
}

func loss() object {
	bursts := object{
		"title": "the parameters of gilbert_elliott", "description": "Losses in bursts.",
		"type": "object", "additionalProperties": false, "required": []any{"p_good_to_bad", "p_bad_to_good"},
		"examples": []any{object{"p_good_to_bad": 0.01, "p_bad_to_good": 0.3}},
		"properties": object{
			"p_good_to_bad": probability("of each message, that a burst begins after it"),
			"p_bad_to_good": probability("of each message in a burst, that the burst ends after it"),
			"loss_good":     probability("that a message outside of a burst is lost; 0 without it"),
			"loss_bad":      probability("that a message in a burst is lost; 1 without it"),
		},
	}
	return object{
		"title": "a probability or gilbert_elliott", "description": "Which messages never arrive.",
		"type": []any{"number", "object"}, "minimum": 0, "maximum": 1,
		"minProperties": 1, "maxProperties": 1, "additionalProperties": false,
		"properties": object{"gilbert_elliott": bursts}, "examples": []any{0.01},
	}
}
