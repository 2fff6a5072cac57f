package export

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/foxglove/mcap/go/mcap"

	"metasim/lcm/types"
)

// EventTopic is the topic of what happened to each message, as the channel of the companions on the public bus is called.
const EventTopic = "METASIM_EVENT"

// chunkSize is how many bytes of messages are compressed together: 4 MiB.
const chunkSize = 4 << 20

// MCAPOptions say what an MCAP file has of a run.
type MCAPOptions struct {
	// Client is the name of the only client whose messages, to it and from it, are in the file; empty for all.
	Client string
	// Types are known to payloads. Nil: none is.
	Types *types.Set
	// About is what the file says of the run, as a metadata record called "metasim". It has to be the same for each
	// repetition, and so have neither wall-clock times nor paths.
	About map[string]string
}

// An MCAP writes an MCAP file of a run. In the order of [Walk] it has, for each occurrence,
//
//   - on the topic METASIM_EVENT what happened, as a metasim.export.v1.Event in Protocol Buffers;
//   - its payload, encoding "lcm": what was sent on the topic CHANNEL@sender, what was delivered on
//     CHANNEL@sender>recipient, as on the public bus; where the type is known with its .lcm text as the schema;
//   - where the type is known, the payload as JSON, with a JSON schema, on that topic with "/json" behind it.
//
// log_time is when it occurred and publish_time when the message was sent, both simulated time in nanoseconds; sequence
// is the sender's number of the message, modulo 2^32.
//
// The bytes depend on the occurrences and the options alone.
type MCAP struct {
	view
	topics  topics
	types   *types.Set
	mcap    *mcap.Writer
	streams map[typed]*channels
	schemas map[schemaKey]uint16
	ids     int // channels so far
	events  mcap.Channel
	scratch []byte
	message mcap.Message
	count   Count
}

// typed is a stream of messages of one type; nil where it is not known.
type typed struct {
	stream
	of *types.Type
}

// channels are what a stream has in the file, by number. JSON is 0 where there is none.
type channels struct{ raw, json uint16 }

// NewMCAP returns a writer of an MCAP file to out. Names are those of the clients, in order. Close does not close out.
func NewMCAP(out io.Writer, names []string, o MCAPOptions) (*MCAP, error) {
	v, err := newView(names, o.Client)
	if err != nil {
		return nil, err
	}
	w, err := mcap.NewWriter(out, &mcap.WriterOptions{
		IncludeCRC: true, Chunked: true, ChunkSize: chunkSize, OverrideLibrary: true,
		Compression: mcap.CompressionZSTD, CompressionLevel: mcap.CompressionLevelFastest,
	})
	if err != nil {
		return nil, fmt.Errorf("export: beginning the MCAP file: %w", err)
	}
	m := &MCAP{
		view: v, topics: newTopics(names), types: o.Types, mcap: w, streams: map[typed]*channels{}, schemas: map[schemaKey]uint16{},
	}
	return m, m.begin(o.About)
}

// begin writes what every file has.
func (m *MCAP) begin(about map[string]string) error {
	// The name of the program without its version: the same run gives the same file.
	if err := m.mcap.WriteHeader(&mcap.Header{Library: "metasim"}); err != nil {
		return fmt.Errorf("export: beginning the MCAP file: %w", err)
	}
	if len(about) > 0 {
		if err := m.mcap.WriteMetadata(&mcap.Metadata{Name: "metasim", Metadata: about}); err != nil {
			return fmt.Errorf("export: writing what the MCAP file is about: %w", err)
		}
	}
	schema, err := m.schema(schemaKey{kind: eventSchema})
	if err != nil {
		return err
	}
	_, err = m.channel(&mcap.Channel{SchemaID: schema, Topic: EventTopic, MessageEncoding: "protobuf"})
	return err
}

// Write writes an occurrence, if it is of the client that the file is about.
func (m *MCAP) Write(o *Occurrence) error {
	if !m.all && o.Message.From != m.only && (o.Kind == Sent || o.To != m.only) {
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
		m.count.Undecoded++ // the raw bytes are there
		return nil
	}
	m.scratch = text
	return m.write(ch.json, text)
}

func (m *MCAP) write(channel uint16, data []byte) error {
	m.message.ChannelID, m.message.Data = channel, data
	m.count.Messages++
	if err := m.mcap.WriteMessage(&m.message); err != nil {
		return fmt.Errorf("export: writing the MCAP file: %w", err)
	}
	return nil
}

// stream returns the channels of an occurrence, which are made when the first message comes, and its type.
func (m *MCAP) stream(o *Occurrence) (*channels, *types.Type, error) {
	key := typed{stream: streamOf(o)}
	if m.types != nil {
		if of := m.types.Of(o.Message.Payload); len(of) > 0 {
			key.of = of[0] // others have other names only
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
func (m *MCAP) open(key typed, o *Occurrence) (*channels, error) {
	topic := m.topics.of(o)
	if !utf8.ValidString(topic) {
		return nil, &NameError{Name: topic, What: "MCAP"}
	}
	about := map[string]string{"channel": key.channel, "sender": m.names[key.from]}
	if key.kind == Delivered {
		about["recipient"] = m.names[key.to]
	}
	raw := &mcap.Channel{Topic: topic, MessageEncoding: "lcm", Metadata: about}
	if key.of == nil {
		id, err := m.channel(raw)
		return &channels{raw: id}, err
	}
	var ch channels
	var err error
	if raw.SchemaID, err = m.schema(schemaKey{kind: lcmSchema, of: key.of}); err != nil {
		return nil, err
	}
	if ch.raw, err = m.channel(raw); err != nil {
		return nil, err
	}
	asJSON := &mcap.Channel{Topic: topic + "/json", MessageEncoding: "json", Metadata: about}
	if asJSON.SchemaID, err = m.schema(schemaKey{kind: jsonSchema, of: key.of}); err != nil {
		return nil, err
	}
	ch.json, err = m.channel(asJSON)
	return &ch, err
}

// A ChannelsError tells that a run has more channels than an MCAP file can number.
type ChannelsError struct{ Max int }

func (e *ChannelsError) Error() string {
	return "export: the run has more than " + strconv.Itoa(e.Max) + " combinations of channel, sender and recipient, " +
		"and MCAP has no more numbers for them; export one client at a time"
}

// channel numbers a channel, from 1, and writes it.
func (m *MCAP) channel(c *mcap.Channel) (uint16, error) {
	if m.ids == math.MaxUint16 {
		return 0, &ChannelsError{Max: math.MaxUint16}
	}
	m.ids++
	c.ID = uint16(m.ids)
	if err := m.mcap.WriteChannel(c); err != nil {
		return 0, fmt.Errorf("export: writing a channel of the MCAP file: %w", err)
	}
	return c.ID, nil
}

// Close writes what is left, and the index.
func (m *MCAP) Close() error {
	if err := m.mcap.Close(); err != nil {
		return fmt.Errorf("export: ending the MCAP file: %w", err)
	}
	return nil
}

// Count returns what was written so far.
func (m *MCAP) Count() Count { return m.count }
