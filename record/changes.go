package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A Change is a value of the scenario that is not the same in both runs.
type Change struct {
	Path string `json:"path"` // as in links[1].delay, or clients.plant.with.period
	A    any    `json:"a"`    // as decoded from JSON; nil: it is not there
	B    any    `json:"b"`

	entry string // the entry of the clients that it belongs to; empty for others
}

// String writes a change as "links[1].delay: 2ms, 2.5ms".
func (c Change) String() string { return fmt.Sprintf("%s: %s, %s", c.Path, asText(c.A), asText(c.B)) }

// maxText is how many bytes of a value are shown: a file of delays that was copied into the scenario is long.
const maxText = 60

// asText writes a decoded JSON value in a line.
func asText(v any) string {
	switch s, ok := v.(string); {
	case v == nil:
		return "nothing"
	case ok && strconv.Quote(s) == `"`+s+`"` && !strings.ContainsAny(s, ", "):
		return shortened(s)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return shortened(string(b))
}

func shortened(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "..."
}

// Changes returns in what the resolved scenarios of two runs differ: links, parameters, seed, until and the rest. It returns false if that
// is not known, because the manifests do not both hold their scenario.
func Changes(a, b *Run) ([]Change, bool) {
	one, two := a.Manifest.Resolved, b.Manifest.Resolved
	x, clientsX, okX := decode(one)
	y, clientsY, okY := decode(two)
	if !okX || !okY {
		return []Change{}, bytes.Equal(one, two)
	}
	found := []Change{}
	for _, entry := range both(clientsX, clientsY) {
		first := len(found)
		differences("clients."+entry, clientsX[entry], clientsY[entry], &found)
		for i := first; i < len(found); i++ {
			found[i].entry = entry
		}
	}
	differences("", x, y, &found)
	return found, true
}

// decode decodes a scenario, and returns its clients apart, by name: their order means nothing, and an added client must not make the
// others look changed.
func decode(resolved []byte) (scenario, clients map[string]any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(resolved))
	d.UseNumber() // a seed has 64 bits
	if d.Decode(&scenario) != nil {
		return nil, nil, false
	}
	clients = map[string]any{}
	list, _ := scenario["clients"].([]any)
	for _, c := range list {
		entry, _ := c.(map[string]any)
		name, ok := entry["name"].(string)
		if !ok {
			return nil, nil, false
		}
		clients[name] = c
	}
	delete(scenario, "clients")
	return scenario, clients, true
}

// both returns the keys of two objects, in order.
func both(x, y map[string]any) []string {
	union := maps.Clone(x)
	maps.Copy(union, y)
	return slices.Sorted(maps.Keys(union))
}

// differences lists where two decoded JSON values differ.
func differences(path string, a, b any, found *[]Change) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			for _, key := range both(x, y) {
				differences(strings.TrimPrefix(path+"."+key, "."), x[key], y[key], found)
			}
			return
		}
	case []any:
		if y, ok := b.([]any); ok {
			for i := range max(len(x), len(y)) {
				differences(path+"["+strconv.Itoa(i)+"]", at(x, i), at(y, i), found)
			}
			return
		}
	}
	if !reflect.DeepEqual(a, b) {
		*found = append(*found, Change{Path: path, A: a, B: b})
	}
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// SeenBy returns the changes that a client sees even if it receives the same messages: those of its own entry, and of what it is told
// when it joins. It cannot see the links, the other clients' entries, or how the run is carried out.
func (r *Run) SeenBy(client string, changes []Change) []Change {
	entry := client
	if sc, err := r.Scenario(); err == nil {
		for i := range sc.Clients {
			if sc.Clients[i].Name == client {
				entry = sc.Clients[i].Entry
			}
		}
	}
	var seen []Change
	for _, c := range changes {
		if c.entry == entry || slices.Contains([]string{"name", "seed", "until"}, c.Path) {
			seen = append(seen, c)
		}
	}
	return seen
}
