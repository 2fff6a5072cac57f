package export

import (
	"encoding/json"
	"errors"
	"slices"

	"metasim/lcm/types"
)

// maxSchema is how long a JSON schema may become, as types of types of types can multiply: 1 MiB.
const maxSchema = 1 << 20

var errLargeSchema = errors.New("export: the JSON schema is too large")

// jsonText is the JSON schema of what [types.Type.AppendJSON] makes of messages of a type. It is for viewers, which take a
// member by the one type that the schema gives it, and follow no references: so it is written out in full, a type inside
// of itself is an object of which no more is said, and that a double can be "NaN" is not said. A schema that
// would be too large says nothing but that there is an object.
func jsonText(t *types.Type) []byte {
	b, err := appendSchema(nil, t, nil)
	if err != nil {
		return []byte(`{"type":"object"}`)
	}
	return b
}

// appendSchema appends the schema of a struct or an enum; path is what it is a member of.
func appendSchema(b []byte, t *types.Type, path []*types.Type) ([]byte, error) {
	if t.Enum {
		b = append(b, `{"type":"string","enum":[`...)
		for i, v := range t.Values {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, quoted(v.Name)...)
		}
		return append(b, "]}"...), nil
	}
	b = append(b, `{"title":`...)
	b = append(b, quoted(t.Name)...)
	b = append(b, `,"type":"object"`...)
	if slices.Contains(path, t) {
		return append(b, '}'), nil
	}
	b = append(b, `,"properties":{`...)
	for i := range t.Members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, quoted(t.Members[i].Name)...)
		b = append(b, ':')
		var err error
		if b, err = appendMember(b, &t.Members[i], append(path, t)); err != nil {
			return nil, err
		}
	}
	if len(b) > maxSchema {
		return nil, errLargeSchema
	}
	return append(b, "}}"...), nil
}

// appendMember appends the schema of a member: an array for each of its dimensions, but the bytes of the last one are one
// string.
func appendMember(b []byte, m *types.Member, path []*types.Type) ([]byte, error) {
	dims := len(m.Dims)
	if m.Kind == types.Byte && dims > 0 {
		dims--
	}
	for range dims {
		b = append(b, `{"type":"array","items":`...)
	}
	var err error
	switch m.Kind {
	case types.Nested:
		b, err = appendSchema(b, m.Type, path)
	case types.Float, types.Double:
		b = append(b, `{"type":"number"}`...)
	case types.String:
		b = append(b, `{"type":"string"}`...)
	case types.Boolean:
		b = append(b, `{"type":"boolean"}`...)
	case types.Byte:
		if len(m.Dims) > 0 {
			b = append(b, `{"type":"string","contentEncoding":"base64"}`...)
			break
		}
		b = append(b, `{"type":"integer"}`...)
	default:
		b = append(b, `{"type":"integer"}`...)
	}
	for range dims {
		b = append(b, '}')
	}
	return b, err
}

// quoted is a name as JSON. Names are letters, digits, _ and dots.
func quoted(name string) []byte {
	b, _ := json.Marshal(name) // a string never fails
	return b
}
