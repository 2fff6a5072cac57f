package scenarios

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// show names a value for a person.
func show(value any) string {
	switch v := value.(type) {
	case nil:
		return "nothing"
	case bool:
		return fmt.Sprint(v)
	case string:
		return quote(v)
	case []*node:
		return fmt.Sprintf("a list of %d", len(v))
	case *mapping:
		if len(v.entries) == 0 {
			return "an empty mapping"
		}
		names := make([]string, len(v.entries))
		for i, e := range v.entries {
			names[i] = e.key
		}
		return "a mapping of " + both(names)
	}
	return fmt.Sprintf("the number %v", value)
}

// quote writes a text in quotes, and cuts what is too long to read.
func quote(s string) string {
	const most = 60
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "..."
	}
	return fmt.Sprintf("%q", s)
}

// both joins words: "a, b and c".
func both(words []string) string {
	if len(words) < 2 || len(words) > 10 {
		return strings.Join(words[:min(len(words), 10)], ", ")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// example writes the first example of a rule as YAML would have it on one line; empty where there is none.
func example(rule object) string {
	examples, _ := rule["examples"].([]any) // none, or the schema's own list
	if len(examples) == 0 {
		return ""
	}
	return inline(examples[0])
}

// inline writes a plain value in YAML's flow style, with quotes only where they are needed.
func inline(value any) string {
	switch v := value.(type) {
	case string:
		if again, ok := scalar(v).(string); ok && again == v && !strings.ContainsAny(v, "*&!%#{}[],:'\"") {
			return v
		}
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = inline(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case object:
		items := make([]string, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			items = append(items, key+": "+inline(v[key]))
		}
		return "{" + strings.Join(items, ", ") + "}"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// keys returns the sorted keys of an object.
func keys(value any) []string {
	m, _ := value.(object) // anything else has no keys
	return slices.Sorted(maps.Keys(m))
}

func words(values []any) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	return texts
}
