package show

import (
	"cmp"
	"slices"
)

// An event is one of a track.
type event struct {
	at         int64 // nanoseconds
	order      int8  // among those of one time
	kind       uint64
	name       string
	notes      []note
	flow       uint64 // an arrow begins here, or ends
	terminates bool
}

// A note is a property of an event: a text, or a number.
type note struct {
	name, text string
	number     int64
}

// What happens at one time is told in this order, so that slices nest: what is inside ends first, and begins last.
const (
	endInner int8 = iota
	endOuter
	during
	beginOuter
	beginInner
)

// events are those of a track.
type events []event

// slice adds a slice. What takes no time is left out.
func (e *events) slice(begin, end int64, inner bool, name string, notes ...note) {
	if end <= begin {
		return
	}
	from, to := beginOuter, endOuter
	if inner {
		from, to = beginInner, endInner
	}
	*e = append(*e, event{at: begin, order: from, kind: sliceBegin, name: name, notes: notes}, event{at: end, order: to, kind: sliceEnd})
}

func (e *events) instant(at int64, name string, flow uint64, terminates bool, notes ...note) {
	*e = append(*e, event{at: at, order: during, kind: instant, name: name, flow: flow, terminates: terminates, notes: notes})
}

// write writes the events in order.
func (e events) write(p *packer, uuid uint64) {
	order := make([]int32, len(e)) // events are large
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		return cmp.Or(cmp.Compare(e[i].at, e[j].at), cmp.Compare(e[i].order, e[j].order), cmp.Compare(i, j))
	})
	for _, i := range order {
		p.event(uuid, &e[i])
	}
}
