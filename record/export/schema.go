package export

import (
	"fmt"
	"math"

	"github.com/foxglove/mcap/go/mcap"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"metasim/lcm/types"
	"metasim/record/export/exportpb"
)

// A schemaKind is what a schema is of.
type schemaKind uint8

const (
	eventSchema schemaKind = iota // of events
	lcmSchema                     // of a type: its text in the language of LCM
	jsonSchema                    // of a type, as JSON
)

type schemaKey struct {
	kind schemaKind
	of   *types.Type // nil for events
}

// schema numbers a schema, from 1, and writes it, unless that was done.
func (m *MCAP) schema(key schemaKey) (uint16, error) {
	if id, ok := m.schemas[key]; ok {
		return id, nil
	}
	if len(m.schemas) == math.MaxUint16 {
		return 0, fmt.Errorf("export: the messages are of more types than MCAP can number: %d; export one client at a time",
			math.MaxUint16/2)
	}
	s := &mcap.Schema{ID: uint16(len(m.schemas) + 1)}
	switch key.kind {
	case eventSchema:
		data, err := eventDescriptor()
		if err != nil {
			return 0, err
		}
		s.Name, s.Encoding, s.Data = string((*exportpb.Event)(nil).ProtoReflect().Descriptor().FullName()), "protobuf", data
	case lcmSchema:
		s.Name, s.Encoding, s.Data = key.of.Name, "lcm", lcmText(key.of)
	case jsonSchema:
		s.Name, s.Encoding, s.Data = key.of.Name, "jsonschema", jsonText(key.of)
	}
	if err := m.mcap.WriteSchema(s); err != nil {
		return 0, fmt.Errorf("export: writing a schema of the MCAP file: %w", err)
	}
	m.schemas[key] = s.ID
	return s.ID, nil
}

// eventDescriptor is the schema of events: event.proto as a FileDescriptorSet. It imports nothing, so it is alone.
func eventDescriptor() ([]byte, error) {
	file := protodesc.ToFileDescriptorProto(exportpb.File_export_exportpb_event_proto)
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(&descriptorpb.FileDescriptorSet{
		File: []*descriptorpb.FileDescriptorProto{file},
	})
	if err != nil {
		return nil, fmt.Errorf("export: describing events: %w", err)
	}
	return data, nil
}
