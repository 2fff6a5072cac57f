package show

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// A told is an event of a trace as a reader understands it, with nothing left to look up.
type told struct {
	at    int64
	kind  uint64
	name  string
	notes []string
	value float64
	arrow uint64
	ends  bool // the arrow
}

// A trace is one that was read: the events of each track in order, by the names of the track and its parent.
type trace struct {
	t      *testing.T
	names  map[uint64]string
	tracks map[string][]told
	all    []told
}

// read reads a trace as Perfetto does, and fails where it would find fault with it.
func read(t *testing.T, b []byte) *trace {
	t.Helper()
	r := &trace{t: t, names: map[uint64]string{0: ""}, tracks: map[string][]told{}}
	fieldsOf(t, b, func(n protowire.Number, _ uint64, packet []byte) {
		require.EqualValues(t, tracePacket, n)
		r.packet(packet)
	})
	for _, events := range r.tracks {
		slices.SortStableFunc(events, func(x, y told) int { return cmp.Compare(x.at, y.at) })
	}
	return r
}

// inOrder returns all events in the order in which a reader takes them.
func (r *trace) inOrder() []told {
	slices.SortStableFunc(r.all, func(x, y told) int { return cmp.Compare(x.at, y.at) })
	return r.all
}

func (r *trace) packet(b []byte) {
	var at uint64
	fieldsOf(r.t, b, func(n protowire.Number, v uint64, body []byte) {
		switch n {
		case packetTimestamp:
			at = v
		case packetDescriptor:
			r.descriptor(body)
		case packetEvent:
			r.event(int64(at), body)
		}
	})
}

// descriptor takes in a track, whose parent was described before.
func (r *trace) descriptor(b []byte) {
	var uuid, parent uint64
	var name string
	fieldsOf(r.t, b, func(n protowire.Number, v uint64, text []byte) {
		switch n {
		case trackUUID:
			uuid = v
		case trackParent:
			parent = v
		case trackName:
			name = string(text)
		}
	})
	require.NotContains(r.t, r.names, uuid)
	require.Contains(r.t, r.names, parent)
	r.names[uuid] = r.names[parent] + "/" + name
}

func (r *trace) event(at int64, b []byte) {
	e := told{at: at}
	var uuid uint64
	fieldsOf(r.t, b, func(n protowire.Number, v uint64, body []byte) {
		switch n {
		case eventType:
			e.kind = v
		case eventTrack:
			uuid = v
		case eventName:
			e.name = string(body)
		case eventAnnotation:
			e.notes = append(e.notes, r.annotation(body))
		case eventDouble:
			e.value = math.Float64frombits(v)
		case eventFlow, eventTermination:
			e.arrow, e.ends = v, n == eventTermination
		}
	})
	require.Contains(r.t, r.names, uuid)
	r.tracks[r.names[uuid]] = append(r.tracks[r.names[uuid]], e)
	r.all = append(r.all, e)
}

func (r *trace) annotation(b []byte) string {
	var name, value string
	fieldsOf(r.t, b, func(n protowire.Number, v uint64, text []byte) {
		switch n {
		case annotationName:
			name = string(text)
		case annotationInt:
			value = fmt.Sprint(int64(v))
		case annotationString:
			value = string(text)
		}
	})
	return name + ": " + value
}

// fieldsOf takes a message apart.
func fieldsOf(t *testing.T, b []byte, tell func(n protowire.Number, v uint64, text []byte)) {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		require.Positive(t, size)
		b = b[size:]
		var v uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			v, size = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v, size = protowire.ConsumeFixed64(b)
		default:
			text, size = protowire.ConsumeBytes(b)
		}
		require.Positive(t, size)
		b = b[size:]
		tell(n, v, text)
	}
}
