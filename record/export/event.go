package export

import (
	"google.golang.org/protobuf/encoding/protowire"

	"metasim/metasim"
)

// appendEvent appends an occurrence as an Event of exportpb/event.proto. A field that has its zero is left out, an
// instant where it means something is not: so the bytes are those of the generated code, and it is a tenth of the work.
func appendEvent(b []byte, names []string, o *Occurrence) []byte {
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
	b[at-1] = byte(len(b) - at) // 17 at most: one byte is its length
	return b
}
