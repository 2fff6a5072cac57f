package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// told is how many differences of two scenarios are told.
const told = 5

// scenarios says in what the resolved scenarios of two runs differ; nothing if they do not.
func scenarios(a, b *side) []string {
	var x, y any
	if json.Unmarshal(a.manifest.Resolved, &x) != nil || json.Unmarshal(b.manifest.Resolved, &y) != nil {
		if bytes.Equal(a.manifest.Resolved, b.manifest.Resolved) {
			return nil
		}
		return []string{"the manifests do not both hold their scenario, so it may not be the same"}
	}
	var found []string
	differences("", x, y, &found)
	notes := make([]string, 0, len(found))
	for i, text := range found {
		if i == told {
			return append(notes, fmt.Sprintf("the scenarios differ in %d more places", len(found)-told))
		}
		notes = append(notes, "the scenarios differ: "+text)
	}
	return notes
}

// differences notes where two decoded JSON values differ, as "links[0].delay is 5ms in A and 6ms in B".
func differences(path string, a, b any, found *[]string) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			union := maps.Clone(x)
			maps.Copy(union, y)
			for _, key := range slices.Sorted(maps.Keys(union)) {
				inner := key
				if path != "" {
					inner = path + "." + key
				}
				differences(inner, x[key], y[key], found)
			}
			return
		}
	case []any:
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				differences(path+"["+strconv.Itoa(i)+"]", x[i], y[i], found)
			}
			return
		}
	}
	if one, two := brief(a), brief(b); one != two {
		*found = append(*found, fmt.Sprintf("%s is %s in A and %s in B", path, one, two))
	}
}

// brief writes a value so that a person can read it in a line.
func brief(v any) string {
	if v == nil {
		return "nothing"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
