package compare

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// changes returns in what the resolved scenarios of two runs differ. It returns false if that is not known, because the manifests do
// not both hold their scenario.
func changes(a, b *side) ([]Change, bool) {
	one, two := a.run.Manifest.Resolved, b.run.Manifest.Resolved
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

// seenBy returns the changes that a client sees even if it receives the same messages: those of its own entry, and of what it is told
// when it joins. It cannot see the links, the other clients' entries, or how the run is carried out.
func (s *side) seenBy(client string, changes []Change) []Change {
	entry := client
	if sc, err := s.run.Scenario(); err == nil {
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
