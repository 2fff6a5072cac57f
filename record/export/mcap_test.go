package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"metasim/lcm/types"
	"metasim/metasim"
	"metasim/record/export/exportpb"
)

// An item is one message of an MCAP file, with what it belongs to.
type item struct {
	Schema  *mcap.Schema
	Channel *mcap.Channel
	Message *mcap.Message
}

// contents reads an MCAP file with the library's reader: what is in it, in the order of the file, and its index.
func contents(t testing.TB, file []byte) ([]item, *mcap.Info) {
	t.Helper()
	r, err := mcap.NewReader(bytes.NewReader(file))
	require.NoError(t, err)
	defer r.Close()
	info, err := r.Info()
	require.NoError(t, err)
	inOrder, err := mcap.NewReader(bytes.NewReader(file))
	require.NoError(t, err)
	defer inOrder.Close()
	it, err := inOrder.Messages(mcap.UsingIndex(false)) // as they lie in the file
	require.NoError(t, err)
	var all []item
	for {
		s, c, m, err := it.NextInto(nil)
		if errors.Is(err, io.EOF) {
			return all, info
		}
		require.NoError(t, err)
		m.Data = bytes.Clone(m.Data)
		all = append(all, item{s, c, m})
	}
}

// The library reads back what there is, in order: an event for each occurrence, decoded by the schema in the file, and its
// payload.
func TestMCAPReadsBack(t *testing.T) {
	dir := carryOut(t, parse(t, mixed), "mem", 2)
	want := walked(t, dir)
	names, _ := opened(t, dir)
	items, info := contents(t, written(t, dir, "mcap"))
	forms := map[string]protoreflect.MessageDescriptor{}
	require.EqualValues(t, len(items), info.Statistics.MessageCount)
	for _, o := range want {
		require.NotEmpty(t, items)
		at := o.Message.Sent
		topic := o.Message.Channel + "@" + names[o.Message.From]
		ev := &exportpb.Event{
			Kind: exportpb.Event_Kind(o.Kind), Sender: names[o.Message.From], Channel: o.Message.Channel, Sequence: o.Message.Seq,
			Sent: pbInstant(o.Message.Sent), PayloadSize: uint64(len(o.Message.Payload)),
		}
		if o.Kind != Sent {
			ev.Recipient = names[o.To]
		}
		if o.Kind == Delivered {
			at = o.Message.Due
			ev.Due = pbInstant(at)
			topic += ">" + names[o.To]
		}
		check := func(it item) {
			require.EqualValues(t, at.Time, it.Message.LogTime)
			require.EqualValues(t, o.Message.Sent.Time, it.Message.PublishTime)
			require.EqualValues(t, o.Message.Seq, it.Message.Sequence)
		}
		check(items[0])
		require.Equal(t, "METASIM_EVENT", items[0].Channel.Topic)
		got := bySchema(t, items[0], forms)
		require.True(t, proto.Equal(ev, got), "%v\n%v", ev, got)
		items = items[1:]
		if o.Kind == Lost {
			continue
		}
		check(items[0])
		require.Equal(t, topic, items[0].Channel.Topic)
		require.Equal(t, "lcm", items[0].Channel.MessageEncoding)
		require.Nil(t, items[0].Schema)
		require.True(t, bytes.Equal(o.Message.Payload, items[0].Message.Data))
		items = items[1:]
	}
	require.Empty(t, items)
	require.Equal(t, "metasim", info.Header.Library)
}

func pbInstant(i metasim.Instant) *exportpb.Instant {
	return &exportpb.Instant{TimeNs: int64(i.Time), Step: i.Step}
}

// Exports of a run are the same bytes for each version of this program, so that the schema in them is the same too.
func TestDescriptionOfEventsStays(t *testing.T) {
	data, err := eventDescriptor()
	require.NoError(t, err)
	assert.Equal(t, "d6df890657bdb19ba20806c5e1d4135ea43c806c600e9d54fd02257b534dba04", fmt.Sprintf("%x", sha256.Sum256(data)))
}

// bySchema decodes an event with nothing but what is in the file.
func bySchema(t testing.TB, it item, known map[string]protoreflect.MessageDescriptor) *exportpb.Event {
	t.Helper()
	require.Equal(t, "protobuf", it.Schema.Encoding)
	d, ok := known[string(it.Schema.Data)]
	if !ok {
		d = described(t, it)
		known[string(it.Schema.Data)] = d
	}
	m := dynamicpb.NewMessage(d)
	require.NoError(t, proto.Unmarshal(it.Message.Data, m))
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	require.NoError(t, err)
	require.Equal(t, b, it.Message.Data, "the bytes of generated code")
	var ev exportpb.Event
	require.NoError(t, proto.Unmarshal(it.Message.Data, &ev))
	return &ev
}

// described reads what the file says of the form of its events.
func described(t testing.TB, it item) protoreflect.MessageDescriptor {
	t.Helper()
	var set descriptorpb.FileDescriptorSet
	require.NoError(t, proto.Unmarshal(it.Schema.Data, &set))
	files, err := protodesc.NewFiles(&set)
	require.NoError(t, err)
	d, err := files.FindDescriptorByName(protoreflect.FullName(it.Schema.Name))
	require.NoError(t, err)
	return d.(protoreflect.MessageDescriptor)
}

// What is appended by hand are the bytes of the generated code.
func TestEventsAreAsGenerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		instant := func(of string) metasim.Instant {
			return metasim.Instant{Time: metasim.Time(rapid.Int64Range(0, math.MaxInt64-1).Draw(t, of)), Step: rapid.Uint32().Draw(t, of)}
		}
		o := &occurrence{Kind: Kind(rapid.IntRange(1, 3).Draw(t, "kind")), To: 1, Message: metasim.Message{
			Channel: rapid.String().Draw(t, "channel"), Seq: rapid.Uint64().Draw(t, "seq"), Sent: instant("sent"), Due: instant("due"),
			Payload: make([]byte, rapid.IntRange(0, 300).Draw(t, "size")),
		}}
		var file bytes.Buffer
		w, err := newMCAPFile(&file, whole(t, "a", "b"), nil, nil)
		require.NoError(t, err)
		require.NoError(t, w.Write(o))
		require.NoError(t, w.Close())
		r, err := mcap.NewReader(bytes.NewReader(file.Bytes()))
		require.NoError(t, err)
		it, err := r.Messages(mcap.WithTopics([]string{"METASIM_EVENT"}))
		require.NoError(t, err)
		_, _, m, err := it.NextInto(nil)
		require.NoError(t, err)
		var ev exportpb.Event
		require.NoError(t, proto.Unmarshal(m.Data, &ev))
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(&ev)
		require.NoError(t, err)
		require.Equal(t, b, m.Data)
		require.Equal(t, o.Message.Channel, ev.Channel)
		require.Equal(t, o.Message.Seq, ev.Sequence)
		require.EqualValues(t, o.Message.Sent.Time, ev.Sent.TimeNs)
		require.Equal(t, o.Kind == Delivered, ev.Due != nil)
	})
}

func TestMCAPRefusesWhatItCannotHold(t *testing.T) {
	w, err := newMCAPFile(io.Discard, whole(t, "a"), nil, nil)
	require.NoError(t, err)
	assert.ErrorContains(t, w.Write(made("A", metasim.Forever)), `a message of "a" on "A" is sent at forever`)
	assert.ErrorContains(t, w.Write(made("\xff", 0)), `the name "\xff@a" does not fit MCAP`)
	for i := range 65534 { // the events have a channel too
		require.NoError(t, w.Write(made(fmt.Sprint(i), 0)))
	}
	assert.ErrorContains(t, w.Write(made("one more", 0)), "more than 65535 combinations")
}

const probe = `package probe;
struct point_t { const int32_t N = 2; double xy[2]; }
struct scan_t { int32_t n; point_t points[n]; string label; byte raw[n]; boolean ok; other.color_t color; tree_t trees[n]; }
struct tree_t { int32_t n; tree_t below[n]; }
package other;
enum color_t { RED = 1, BLUE = 2 }
`

// loadTypes loads the types of a text.
func loadTypes(t *testing.T, text []byte) *types.Set {
	t.Helper()
	file := filepath.Join(t.TempDir(), "types.lcm")
	require.NoError(t, os.WriteFile(file, text, 0o644))
	set, err := types.Load(file)
	require.NoError(t, err, "%s", text)
	return set
}

// Where the type of a payload is known, the file has its text, and the payload as JSON with a schema.
func TestMCAPWithTypes(t *testing.T) {
	set := loadTypes(t, []byte(probe))
	scan := set.Lookup("probe.scan_t")
	text := `{"n":1,"points":[{"xy":[1.5,-2]}],"label":"hi","raw":"/w==","ok":true,"color":"BLUE","trees":[{"n":0,"below":[]}]}`
	payload := binary.BigEndian.AppendUint64(nil, scan.Fingerprint)
	for _, member := range []any{int32(1), 1.5, -2.0, int32(3), []byte("hi\x00"), byte(0xff), true, int32(2), int32(0)} {
		var err error
		payload, err = binary.Append(payload, binary.BigEndian, member)
		require.NoError(t, err)
	}
	var file bytes.Buffer
	w, err := newMCAPFile(&file, whole(t, "a", "b"), set, map[string]string{"seed": "1"})
	require.NoError(t, err)
	for i, p := range [][]byte{payload, []byte("something else"), payload[:20], nil, payload} {
		o := made("SCAN", metasim.Time(i))
		o.Message.Payload = p
		require.NoError(t, w.Write(o))
	}
	require.NoError(t, w.Close())
	assert.Equal(t, Count{Messages: 12, Undecoded: 1, Last: 4}, w.Count())

	items, _ := contents(t, file.Bytes())
	var topics []string
	for _, it := range items {
		if it.Channel.Topic == "METASIM_EVENT" {
			continue
		}
		topics = append(topics, it.Channel.Topic)
		switch {
		case it.Channel.MessageEncoding == "json":
			assert.Equal(t, text, string(it.Message.Data))
			assert.Equal(t, "jsonschema", it.Schema.Encoding)
			assert.Equal(t, "probe.scan_t", it.Schema.Name)
			assert.True(t, json.Valid(it.Schema.Data))
			assert.Contains(t, string(it.Schema.Data), `"points":{"type":"array","items":{"title":"probe.point_t","type":"object","properties":{"xy":{"type":"array","items":{"type":"number"}}}}}`)
			assert.Contains(t, string(it.Schema.Data), `"raw":{"type":"string","contentEncoding":"base64"}`)
		case it.Schema != nil:
			assert.Equal(t, "lcm", it.Schema.Encoding)
			again := loadTypes(t, it.Schema.Data)
			typ := again.Lookup(it.Schema.Name)
			require.NotNil(t, typ)
			assert.Equal(t, scan.Fingerprint, typ.Fingerprint)
			assert.Len(t, again.Types(), 4, "all that it is made of, and no more")
		}
		assert.Equal(t, map[string]string{"channel": "SCAN", "sender": "a"}, it.Channel.Metadata)
	}
	assert.Equal(t, "SCAN@a SCAN@a/json SCAN@a SCAN@a SCAN@a SCAN@a SCAN@a/json", strings.Join(topics, " "))
}

// The types of the vectors, which stock tools have seen, survive being written out.
func TestTypeTexts(t *testing.T) {
	set, err := types.Load("../../lcm/types/testdata")
	if errors.Is(err, os.ErrNotExist) {
		t.Fatal("where are the types?")
	}
	require.NoError(t, err)
	require.NotEmpty(t, set.Types())
	for _, typ := range set.Types() {
		again := loadTypes(t, lcmText(typ))
		require.Equal(t, typ.Fingerprint, again.Lookup(typ.Name).Fingerprint)
		require.True(t, json.Valid(jsonText(typ)), "%s", jsonText(typ))
	}
}

// Types of types of types multiply; a schema does not grow without end.
func TestALargeSchemaIsCutShort(t *testing.T) {
	var b strings.Builder
	b.WriteString("struct t0_t { int32_t x; }\n")
	for i := range 40 {
		fmt.Fprintf(&b, "struct t%d_t { t%d_t a, b; }\n", i+1, i)
	}
	set := loadTypes(t, []byte(b.String()))
	assert.Equal(t, `{"type":"object"}`, string(jsonText(set.Lookup("t40_t"))))
}
