package scenarios

import (
	"encoding/json"
	"fmt"
)

// The texts that a schema can check without knowing the rest of the scenario.
const (
	namePattern      = `^[A-Za-z0-9._-]+$`
	durationPattern  = `^([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|ms|s|m|h)$`
	suffixPattern    = `^[!-=?-~]{1,16}$` // no ">", which stands between sender and recipient
	bandwidthPattern = `^([0-9]+\.?[0-9]*|\.[0-9]+)[kMG]?bit$`
	envPattern       = `^[^=\x00]+=[^\x00]*$`
)

func ref(def string) object { return object{"$ref": "#/$defs/" + def} }

func text(title, example string, doc ...string) object {
	s := object{"title": title, "type": "string", "minLength": 1, "examples": []any{example}}
	if doc != nil {
		s["description"] = doc[0]
	}
	return s
}

// list describes a list that is not empty; its example is one.
func list(title, doc string, items object, example ...any) object {
	return object{"title": title, "description": doc, "type": "array", "minItems": 1, "items": items,
		"examples": []any{example}}
}

func pattern(title, doc, regex, example string) object {
	s := object{"title": title, "type": "string", "pattern": regex, "examples": []any{example}}
	if doc != "" {
		s["description"] = doc
	}
	return s
}

func name(doc, example string) object {
	s := pattern("a name of letters, digits, '-', '_' and '.'", doc, namePattern, example)
	s["maxLength"] = 200
	return s
}

func duration(doc, example string) object {
	return pattern("a duration", doc, durationPattern, example)
}

// whole describes an integer; standard is its default, nil for none.
func whole(title, doc string, least, most uint64, standard, example any) object {
	s := object{"title": title, "description": doc, "type": "integer", "minimum": least,
		"maximum": json.Number(fmt.Sprint(most)), "examples": []any{example}}
	if standard != nil {
		s["default"] = standard
	}
	return s
}

// number describes a number that is not negative.
func number(title, doc string, least float64, standard, example any) object {
	s := object{"title": title, "description": doc, "type": "number", "minimum": least, "examples": []any{example}}
	if standard != nil {
		s["default"] = standard
	}
	return s
}

func wildcard(title, example string) object {
	return text(title+", or a pattern with *", example, "* stands for any characters. Without it: all.")
}

func probability(doc string) object {
	return object{"title": "a probability", "description": doc, "type": "number", "minimum": 0, "maximum": 1,
		"examples": []any{0.05}}
}
