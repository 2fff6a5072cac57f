package export

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/foxglove/mcap/go/mcap"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"metasim/lcm/types"
	"metasim/record/export/exportpb"
)

// A schemaKind says what a schema describes.
type schemaKind uint8

const (
	noSchema    schemaKind = iota // none: the type of the messages is not known
	eventSchema                   // events
	lcmSchema                     // an LCM type: its text in the language of LCM
	jsonSchema                    // an LCM type as JSON
)

type schemaKey struct {
	kind schemaKind
	of   *types.Type // nil for none and for events
}

func newSchema(key schemaKey) (*mcap.Schema, error) {
	switch key.kind {
	case lcmSchema:
		return &mcap.Schema{Name: key.of.Name, Encoding: "lcm", Data: lcmText(key.of)}, nil
	case jsonSchema:
		return &mcap.Schema{Name: key.of.Name, Encoding: "jsonschema", Data: jsonText(key.of)}, nil
	}
	name := (*exportpb.Event)(nil).ProtoReflect().Descriptor().FullName()
	data, err := eventDescriptor()
	return &mcap.Schema{Name: string(name), Encoding: "protobuf", Data: data}, err
}

// goPackage is the former package of the Go code of event.proto. No reader of an export needs it; it stays so that the bytes of an export stay.
const goPackage = "metasim/export/exportpb"

// eventDescriptor is the schema of events: event.proto as a FileDescriptorSet. It imports no other file.
func eventDescriptor() ([]byte, error) {
	file := protodesc.ToFileDescriptorProto(exportpb.File_export_exportpb_event_proto)
	file.Options.GoPackage = proto.String(goPackage)
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(&descriptorpb.FileDescriptorSet{
		File: []*descriptorpb.FileDescriptorProto{file},
	})
	if err != nil {
		return nil, fmt.Errorf("describing events: %w", err)
	}
	return data, nil
}

// maxSchema bounds a JSON schema: 1 MiB. The schema of a type has those of its members in it, so that it can grow exponentially.
const maxSchema = 1 << 20

var errLargeSchema = errors.New("the JSON schema is too large")

// jsonText is the JSON schema of what [types.Type.AppendJSON] makes of messages of a type. It is for viewers, which want one type for
// each member and follow no references. So it is written out in full: a type inside of itself is an object without members, and that
// a double can be "NaN" is left out. A schema that would be too large is that of any object.
func jsonText(t *types.Type) []byte {
	b, err := appendSchema(nil, t, nil)
	if err != nil {
		return []byte(`{"type":"object"}`)
	}
	return b
}

// appendSchema appends the schema of a struct or an enum; path has the types that it is a member of.
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

// appendMember appends the schema of a member: an array for each of its dimensions; but bytes are a string instead of their last
// array.
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
	b, _ := json.Marshal(name) // never fails for a string
	return b
}

// lcmText writes a type and the types of its members in the language of LCM: one text that needs no other file. Types without a
// package come first, because a package line is valid up to the next one.
func lcmText(t *types.Type) []byte {
	all := closure(nil, t)
	slices.SortFunc(all, func(a, b *types.Type) int {
		pa, na := cut(a.Name)
		pb, nb := cut(b.Name)
		return cmp.Or(strings.Compare(pa, pb), strings.Compare(na, nb))
	})
	var b bytes.Buffer
	current := ""
	for _, t := range all {
		pkg, name := cut(t.Name)
		if pkg != current {
			fmt.Fprintf(&b, "package %s;\n\n", pkg)
			current = pkg
		}
		if t.Enum {
			writeEnum(&b, name, t)
		} else {
			writeStruct(&b, name, t)
		}
	}
	return b.Bytes()
}

// cut splits the name of a type into package and name.
func cut(full string) (pkg, name string) {
	i := strings.LastIndexByte(full, '.')
	return full[:max(i, 0)], full[i+1:]
}

// closure appends a type and the types of its members, each once.
func closure(all []*types.Type, t *types.Type) []*types.Type {
	if slices.Contains(all, t) {
		return all
	}
	all = append(all, t)
	for i := range t.Members {
		if m := &t.Members[i]; m.Kind == types.Nested {
			all = closure(all, m.Type)
		}
	}
	return all
}

func writeEnum(b *bytes.Buffer, name string, t *types.Type) {
	fmt.Fprintf(b, "enum %s {", name)
	for i, v := range t.Values {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, " %s = %d", v.Name, v.Value)
	}
	b.WriteString(" }\n\n")
}

func writeStruct(b *bytes.Buffer, name string, t *types.Type) {
	fmt.Fprintf(b, "struct %s\n{\n", name)
	for _, c := range t.Constants {
		fmt.Fprintf(b, "    const %v %s = %s;\n", c.Kind, c.Name, c.Text)
	}
	for i := range t.Members {
		m := &t.Members[i]
		kind := m.Kind.String()
		if m.Kind == types.Nested {
			kind = m.Type.Name
		}
		fmt.Fprintf(b, "    %s %s", kind, m.Name)
		for _, d := range m.Dims {
			fmt.Fprintf(b, "[%s]", d.Text)
		}
		b.WriteString(";\n")
	}
	b.WriteString("}\n\n")
}
