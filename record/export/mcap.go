package export

import (
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"github.com/foxglove/mcap/go/mcap"
	"google.golang.org/protobuf/encoding/protowire"

	"metasim/lcm/types"
	"metasim/metasim"
)

// eventTopic is the topic of events. The public bus has a channel of the same name for the same purpose.
const eventTopic = "METASIM_EVENT"

// chunkSize is how many bytes of messages are compressed together: 4 MiB.
const chunkSize = 4 << 20

// An mcapFile writes an MCAP file of a run. In the order of walkJournal it has, for each occurrence,
//
//   - on the topic METASIM_EVENT what happened, as a metasim.export.v1.Event in Protocol Buffers;
//   - its payload, encoding "lcm": what was sent on the topic CHANNEL@sender, what was delivered on CHANNEL@sender>recipient, as on
//     the public bus; where the type is known, with its .lcm text as the schema;
//   - where the type is known, the payload as JSON, with a JSON schema, on that topic with "/json" appended.
//
// log_time is when it occurred and publish_time when the message was sent, both simulated time in nanoseconds; sequence
// is the sender's number of the message, modulo 2^32.
//
// The bytes depend on the occurrences, the types and what is said about the run alone.
type mcapFile struct {
	view
	types   *types.Set // that payloads may have; nil: none
	mcap    *mcap.Writer
	streams map[typed]*channels
	schemas map[schemaKey]uint16 // their numbers
	ids     int                  // channels so far
	scratch []byte
	message mcap.Message
}

// typed is a stream of messages of one type; nil where the type is not known.
type typed struct {
	stream
	of *types.Type
}

// channels are the numbers of the channels of a stream. json is 0 if there is none.
type channels struct{ raw, json uint16 }

// newMCAPFile returns a writer of an MCAP file to out, with payloads of the known types. Close does not close out.
//
// about is what the file says of the run, in a metadata record called "metasim". It must be the same for each repetition of the run, so
// it has neither wall-clock times nor paths.
func newMCAPFile(out io.Writer, v view, known *types.Set, about map[string]string) (*mcapFile, error) {
	w, err := mcap.NewWriter(out, &mcap.WriterOptions{
		IncludeCRC: true, Chunked: true, ChunkSize: chunkSize, OverrideLibrary: true,
		Compression: mcap.CompressionZSTD, CompressionLevel: mcap.CompressionLevelFastest,
	})
	if err != nil {
		return nil, fmt.Errorf("beginning the MCAP file: %w", err)
	}
	m := &mcapFile{view: v, types: known, mcap: w, streams: map[typed]*channels{}, schemas: map[schemaKey]uint16{}}
	return m, m.begin(about)
}

// begin writes what every file begins with.
func (m *mcapFile) begin(about map[string]string) error {
	// The name of the program without its version: the same run gives the same file.
	if err := m.mcap.WriteHeader(&mcap.Header{Library: "metasim"}); err != nil {
		return fmt.Errorf("beginning the MCAP file: %w", err)
	}
	if len(about) > 0 {
		if err := m.mcap.WriteMetadata(&mcap.Metadata{Name: "metasim", Metadata: about}); err != nil {
			return fmt.Errorf("writing the metadata of the MCAP file: %w", err)
		}
	}
	_, err := m.channel(eventTopic, "protobuf", schemaKey{kind: eventSchema}, nil)
	return err
}

// Kinds implements sink.
func (m *mcapFile) Kinds() kindSet { return kindsOf(Sent, Delivered, Lost) }

// Write writes an occurrence, if the file has its client.
func (m *mcapFile) Write(o *occurrence) error {
	if o.Kind == Undelivered || !m.all && o.Message.From != m.only && (o.Kind == Sent || o.To != m.only) {
		return nil
	}
	at, err := m.time(o)
	if err != nil {
		return err
	}
	m.message.Sequence = uint32(o.Message.Seq)
	m.message.LogTime, m.message.PublishTime = uint64(at), uint64(o.Message.Sent.Time)
	m.count.Last = at
	m.scratch = appendEvent(m.scratch[:0], m.names, o)
	if err := m.write(1, m.scratch); err != nil || o.Kind == Lost {
		return err
	}
	ch, of, err := m.stream(o)
	if err != nil {
		return err
	}
	if err := m.write(ch.raw, o.Message.Payload); err != nil || ch.json == 0 {
		return err
	}
	text, err := of.AppendJSON(m.scratch[:0], o.Message.Payload)
	if err != nil {
		m.count.Undecoded++ // the file has the raw bytes
		return nil
	}
	m.scratch = text
	return m.write(ch.json, text)
}

func (m *mcapFile) write(channel uint16, data []byte) error {
	m.message.ChannelID, m.message.Data = channel, data
	m.count.Messages++
	if err := m.mcap.WriteMessage(&m.message); err != nil {
		return fmt.Errorf("writing the MCAP file: %w", err)
	}
	return nil
}

// stream returns the channels and the type of an occurrence. The first message of a stream makes its channels.
func (m *mcapFile) stream(o *occurrence) (*channels, *types.Type, error) {
	key := typed{stream: streamOf(o)}
	if m.types != nil {
		if of := m.types.Of(o.Message.Payload); len(of) > 0 {
			key.of = of[0] // other types differ only in their names
		}
	}
	if ch, ok := m.streams[key]; ok {
		return ch, key.of, nil
	}
	ch, err := m.open(key, o)
	m.streams[key] = ch
	return ch, key.of, err
}

// open makes the channels of a stream.
func (m *mcapFile) open(key typed, o *occurrence) (*channels, error) {
	topic := m.topic(o)
	if !utf8.ValidString(topic) {
		return nil, fmt.Errorf("the name %q does not fit MCAP, where names are UTF-8; rename the channel", topic)
	}
	about := map[string]string{"channel": key.channel, "sender": m.names[key.from]}
	if key.kind == Delivered {
		about["recipient"] = m.names[key.to]
	}
	if key.of == nil {
		raw, err := m.channel(topic, "lcm", schemaKey{}, about)
		return &channels{raw: raw}, err
	}
	raw, err := m.channel(topic, "lcm", schemaKey{lcmSchema, key.of}, about)
	if err != nil {
		return nil, err
	}
	asJSON, err := m.channel(topic+"/json", "json", schemaKey{jsonSchema, key.of}, about)
	return &channels{raw: raw, json: asJSON}, err
}

// channel numbers a channel, from 1, and writes it, after its schema if that is new.
func (m *mcapFile) channel(topic, encoding string, of schemaKey, about map[string]string) (uint16, error) {
	if m.ids == math.MaxUint16 {
		return 0, fmt.Errorf("the run has more than %d combinations of channel, sender and recipient, "+
			"and MCAP has no more numbers for them; export one client at a time", math.MaxUint16)
	}
	schema, err := m.schema(of)
	if err != nil {
		return 0, err
	}
	m.ids++
	c := &mcap.Channel{ID: uint16(m.ids), SchemaID: schema, Topic: topic, MessageEncoding: encoding, Metadata: about}
	if err := m.mcap.WriteChannel(c); err != nil {
		return 0, fmt.Errorf("writing a channel of the MCAP file: %w", err)
	}
	return c.ID, nil
}

// schema returns the number of a schema, from 1, or 0 for none. It writes the schema the first time.
func (m *mcapFile) schema(key schemaKey) (uint16, error) {
	if id, ok := m.schemas[key]; ok || key.kind == noSchema {
		return id, nil
	}
	if len(m.schemas) == math.MaxUint16 {
		return 0, fmt.Errorf("the messages have more types than MCAP can number: %d; export one client at a time", math.MaxUint16/2)
	}
	s, err := newSchema(key)
	if err != nil {
		return 0, err
	}
	s.ID = uint16(len(m.schemas) + 1)
	if err := m.mcap.WriteSchema(s); err != nil {
		return 0, fmt.Errorf("writing a schema of the MCAP file: %w", err)
	}
	m.schemas[key] = s.ID
	return s.ID, nil
}

// Close writes what is buffered, and the index.
func (m *mcapFile) Close() error {
	if err := m.mcap.Close(); err != nil {
		return fmt.Errorf("ending the MCAP file: %w", err)
	}
	return nil
}

// appendEvent appends an occurrence as an Event of exportpb/event.proto. Zeros are left out, but not instants that have a meaning: the
// bytes are those of the generated code, at a tenth of its cost.
func appendEvent(b []byte, names []string, o *occurrence) []byte {
	m := &o.Message
	b = appendNumber(b, 1, uint64(o.Kind))
	b = appendText(b, 2, names[m.From])
	if o.Kind != Sent {
		b = appendText(b, 3, names[o.To])
	}
	b = appendText(b, 4, m.Channel)
	b = appendNumber(b, 5, m.Seq)
	b = appendInstant(b, 6, m.Sent)
	if o.Kind == Delivered {
		b = appendInstant(b, 7, m.Due)
	}
	return appendNumber(b, 8, uint64(len(m.Payload)))
}

func appendNumber(b []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendText(b []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func appendInstant(b []byte, field protowire.Number, i metasim.Instant) []byte {
	b = append(protowire.AppendTag(b, field, protowire.BytesType), 0)
	at := len(b)
	b = appendNumber(b, 1, uint64(i.Time))
	b = appendNumber(b, 2, uint64(i.Step))
	b[at-1] = byte(len(b) - at) // at most 17: its length is one byte
	return b
}
