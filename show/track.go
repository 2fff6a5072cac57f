package show

import (
	"cmp"
	"slices"
)

// A moment is an event of a track before it is written: small, as a trace may have many millions. Its index is that of a
// grant, a hold or a message, whatever it is of.
type moment struct {
	at    int64 // nanoseconds
	index int32
	what  what
	order order
}

// what says what happens at a moment.
type what uint8

const (
	ends what = iota
	waits
	waitsFor
	computes
	sends
	gets
	advances
	sendsSim
	getsSim
)

// An order is that among the moments of one time, so that slices nest: what is inside ends first, and begins last.
type order uint8

const (
	endInner order = iota
	endOuter
	during
	beginOuter
	beginInner
)

// moments are those of a track.
type moments []moment

// slice adds a slice. What takes no time is left out.
func (m *moments) slice(begin, end int64, w what, index int32) {
	if end <= begin {
		return
	}
	from, to := beginOuter, endOuter
	if w == waitsFor {
		from, to = beginInner, endInner
	}
	*m = append(*m, moment{begin, index, w, from}, moment{end, index, ends, to})
}

func (m *moments) instant(at int64, w what, index int32) {
	*m = append(*m, moment{at, index, w, during})
}

func (m moments) sort() {
	slices.SortStableFunc(m, func(x, y moment) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.order, y.order)) })
}

// An event is one of a track, as it is written.
type event struct {
	track      uint64
	at         int64
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
