package export

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
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

// goPackage is the former Go package of event.proto. No reader of an export needs it. It stays so that exports keep their bytes.
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
	text, err := jsonType(t, nil)
	if err != nil {
		return []byte(`{"type":"object"}`)
	}
	return []byte(text)
}

// jsonType returns the schema of a struct or an enum. path lists the structs that contain it. Names are letters, digits, _ and dots, so
// they need no escape.
func jsonType(t *types.Type, path []*types.Type) (string, error) {
	var parts []string
	if t.Enum {
		for _, v := range t.Values {
			parts = append(parts, strconv.Quote(v.Name))
		}
		return fmt.Sprintf(`{"type":"string","enum":[%s]}`, strings.Join(parts, ",")), nil
	}
	if slices.Contains(path, t) {
		return fmt.Sprintf(`{"title":%q,"type":"object"}`, t.Name), nil
	}
	size := 0
	for i := range t.Members {
		member, err := jsonMember(&t.Members[i], append(path, t))
		if err != nil {
			return "", err
		}
		parts = append(parts, strconv.Quote(t.Members[i].Name)+":"+member)
		if size += len(member); size > maxSchema { // no more is gathered
			return "", errLargeSchema
		}
	}
	text := fmt.Sprintf(`{"title":%q,"type":"object","properties":{%s}}`, t.Name, strings.Join(parts, ","))
	if len(text)-len("}}") > maxSchema {
		return "", errLargeSchema
	}
	return text, nil
}

// jsonMember is the schema of a member: an array for each of its dimensions; but bytes are a string instead of their last array.
func jsonMember(m *types.Member, path []*types.Type) (text string, err error) {
	dims := len(m.Dims)
	switch m.Kind {
	case types.Nested:
		text, err = jsonType(m.Type, path)
	case types.Float, types.Double:
		text = `{"type":"number"}`
	case types.String:
		text = `{"type":"string"}`
	case types.Boolean:
		text = `{"type":"boolean"}`
	default:
		text = `{"type":"integer"}`
	}
	if m.Kind == types.Byte && dims > 0 {
		text = `{"type":"string","contentEncoding":"base64"}`
		dims--
	}
	return strings.Repeat(`{"type":"array","items":`, dims) + text + strings.Repeat("}", dims), err
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
	values := make([]string, len(t.Values))
	for i, v := range t.Values {
		values[i] = fmt.Sprintf(" %s = %d", v.Name, v.Value)
	}
	fmt.Fprintf(b, "enum %s {%s }\n\n", name, strings.Join(values, ","))
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
