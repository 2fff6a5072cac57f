package show

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// A told is an event of a trace as a reader understands it, with nothing left to look up.
type told struct {
	at       int64
	kind     uint64
	category string
	name     string
	notes    []string
	value    float64
	arrow    uint64
	ends     bool   // the arrow
	track    string // where those of several are told
}

// A trace is one that was read: the events of each track in order, by the names of the track and its parent.
type readTrace struct {
	t      require.TestingT
	names  map[uint64]string
	texts  map[protowire.Number]map[uint64]string // that were spelled out, by their kinds and numbers
	at     *uint64                                // what the clock says
	tracks map[string][]told
	all    []told
}

// unpack returns a trace whose packets are not compressed.
func unpack(t require.TestingT, b []byte) []byte {
	var packets []byte
	fieldsOf(t, b, func(n protowire.Number, _ uint64, packet []byte) {
		require.EqualValues(t, tracePacket, n)
		require.Less(t, len(packet), 512<<10, "longer than Perfetto wants one")
		fieldsOf(t, packet, func(n protowire.Number, _ uint64, zipped []byte) {
			require.EqualValues(t, packetCompressed, n)
			r, err := zlib.NewReader(bytes.NewReader(zipped))
			require.NoError(t, err)
			more, err := io.ReadAll(r)
			require.NoError(t, err)
			packets = append(packets, more...)
		})
	})
	return packets
}

// read reads a trace as Perfetto does, and fails where it would find fault with it.
func read(t require.TestingT, b []byte) *readTrace {
	r := &readTrace{t: t, names: map[uint64]string{0: ""}, tracks: map[string][]told{}}
	fieldsOf(t, unpack(t, b), func(n protowire.Number, _ uint64, packet []byte) {
		require.EqualValues(t, tracePacket, n)
		r.packet(packet)
	})
	for _, events := range r.tracks {
		slices.SortStableFunc(events, func(x, y told) int { return cmp.Compare(x.at, y.at) })
	}
	return r
}

// inOrder returns all events in the order in which a reader takes them.
func (r *readTrace) inOrder() []told {
	slices.SortStableFunc(r.all, func(x, y told) int { return cmp.Compare(x.at, y.at) })
	return r.all
}

// packet takes in a packet. What it says for those that follow holds for itself already.
func (r *readTrace) packet(b []byte) {
	fields := map[protowire.Number][]byte{}
	numbers := map[protowire.Number]uint64{}
	fieldsOf(r.t, b, func(n protowire.Number, v uint64, body []byte) {
		require.NotContains(r.t, numbers, n)
		numbers[n], fields[n] = v, body
	})
	require.EqualValues(r.t, 1, numbers[packetSequence])
	flags := uint64(flagNeeds)
	if r.texts == nil {
		r.texts = map[protowire.Number]map[uint64]string{}
		flags = flagBegins
		fieldsOf(r.t, fields[packetDefaults], func(n protowire.Number, v uint64, _ []byte) {
			require.Equal(r.t, [2]uint64{defaultClock, deltaClock}, [2]uint64{uint64(n), v})
		})
	}
	require.Equal(r.t, flags, numbers[packetFlags])
	if body, has := fields[packetClocks]; has {
		r.clocks(body)
	}
	if body, has := fields[packetDescriptor]; has {
		r.descriptor(body)
	}
	if body, has := fields[packetEvent]; has {
		require.Contains(r.t, numbers, protowire.Number(packetTimestamp))
		require.NotNil(r.t, r.at, "nobody has set the clock")
		require.Less(r.t, numbers[packetTimestamp], uint64(1<<62), "the clock does not go back by itself")
		*r.at += numbers[packetTimestamp]
		r.spelled(fields[packetTexts])
		r.event(int64(*r.at), body)
	}
}

// clocks sets the clock that counts from one packet to the next, to where that of the trace begins.
func (r *readTrace) clocks(b []byte) {
	var set [][3]uint64
	fieldsOf(r.t, b, func(_ protowire.Number, _ uint64, clock []byte) {
		var c [3]uint64
		fieldsOf(r.t, clock, func(n protowire.Number, v uint64, _ []byte) { c[n-1] = v })
		set = append(set, c)
	})
	require.ElementsMatch(r.t, [][3]uint64{{traceClock, 0, 0}, {deltaClock, 0, 1}}, set)
	r.at = new(uint64)
}

// spelled takes in the texts that a packet spells out: each once.
func (r *readTrace) spelled(b []byte) {
	fieldsOf(r.t, b, func(kind protowire.Number, _ uint64, entry []byte) {
		var number uint64
		var itself string
		fieldsOf(r.t, entry, func(n protowire.Number, v uint64, text []byte) {
			if n == textNumber {
				number = v
				return
			}
			itself = string(text)
		})
		if r.texts[kind] == nil {
			r.texts[kind] = map[uint64]string{}
		}
		require.NotZero(r.t, number)
		require.NotContains(r.t, r.texts[kind], number)
		r.texts[kind][number] = itself
	})
}

func (r *readTrace) text(kind protowire.Number, number uint64) string {
	require.Contains(r.t, r.texts[kind], number, "a text that nobody spelled out")
	return r.texts[kind][number]
}

// descriptor takes in a track, whose parent was described before.
func (r *readTrace) descriptor(b []byte) {
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

func (r *readTrace) event(at int64, b []byte) {
	e := told{at: at}
	var uuid uint64
	fieldsOf(r.t, b, func(n protowire.Number, v uint64, body []byte) {
		switch n {
		case eventType:
			e.kind = v
		case eventTrack:
			uuid = v
		case eventCategory:
			e.category = r.text(textCategory, v)
		case eventName:
			e.name = r.text(textEventName, v)
		case eventAnnotation:
			e.notes = append(e.notes, r.annotation(body))
		case eventDouble:
			e.value = math.Float64frombits(v)
		case eventFlow, eventTermination:
			e.arrow, e.ends = v, n == eventTermination
		}
	})
	require.Contains(r.t, r.names, uuid)
	e.track = r.names[uuid]
	r.all = append(r.all, e)
	e.track = ""
	events := r.tracks[r.names[uuid]]
	if last := len(events) - 1; e.kind == sliceEnd && events[last].kind == sliceBegin && events[last].at == at {
		events[last].kind = instant // a slice that takes no time
		return
	}
	r.tracks[r.names[uuid]] = append(events, e)
}

// height returns how many rows the highest track takes, by the rules of trace_processor's slice_tracker.cc: what is new closes
// the instants before it, unless it is one itself and of the same time.
func (r *readTrace) height() (most int) {
	stacks := map[string][]told{}
	for _, e := range r.inOrder() {
		s := stacks[e.track]
		for len(s) > 0 && s[len(s)-1].kind == instant && !(e.kind == instant && s[len(s)-1].at == e.at) {
			s = s[:len(s)-1]
		}
		switch e.kind {
		case sliceBegin, instant:
			s = append(s, e)
		case sliceEnd:
			s = s[:len(s)-1]
		}
		stacks[e.track] = s
		most = max(most, len(s))
	}
	return most
}

func (r *readTrace) annotation(b []byte) string {
	var name, value string
	fieldsOf(r.t, b, func(n protowire.Number, v uint64, _ []byte) {
		switch n {
		case annotationName:
			name = r.text(textAnnotationName, v)
		case annotationInt:
			value = fmt.Sprint(int64(v))
		case annotationString:
			value = r.text(textAnnotation, v)
		}
	})
	return name + ": " + value
}

// fieldsOf takes a message apart.
func fieldsOf(t require.TestingT, b []byte, tell func(n protowire.Number, v uint64, text []byte)) {
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
