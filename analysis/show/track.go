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

// compare compares what comes first. What is equal there is in any order.
func (m *moment) compare(o *moment) int {
	if m.at != o.at {
		return cmp.Compare(m.at, o.at)
	}
	return cmp.Compare(m.order, o.order)
}

// moments are those of a track.
type moments []moment

// begin adds the beginning of a slice, and end its end. What takes no time is left out.
func (m *moments) begin(begin, end int64, w what, index int32) {
	if begin >= end {
		return
	}
	o := beginOuter
	if w == waitsFor {
		o = beginInner
	}
	*m = append(*m, moment{begin, index, w, o})
}

func (m *moments) end(begin, end int64, w what) {
	if begin >= end {
		return
	}
	o := endOuter
	if w == waitsFor {
		o = endInner
	}
	*m = append(*m, moment{at: end, what: ends, order: o})
}

func (m *moments) instant(at int64, w what, index int32) {
	*m = append(*m, moment{at, index, w, during})
}

// mixed returns the moments in order, of which the first so many are, and those that follow them.
func (m moments) mixed(first int) moments {
	more := slices.Clone(m[first:])
	i, j := first, len(more)
	for k := len(m); j > 0; k-- {
		if i > 0 && m[i-1].compare(&more[j-1]) > 0 {
			i--
			m[k-1] = m[i]
		} else {
			j--
			m[k-1] = more[j]
		}
	}
	m.sort() // which they are, unless a clock was set back
	return m
}

func (m moments) sort() {
	compare := func(x, y moment) int { return x.compare(&y) }
	if !slices.IsSortedFunc(m, compare) {
		slices.SortStableFunc(m, compare)
	}
}

// An event is one of a track, as it is written.
type event struct {
	track      uint64
	at         int64
	kind       uint64
	category   text
	name       text // 0: of an end, or of a counter
	notes      []note
	value      float64 // of a counter
	flow       uint64  // an arrow begins here, or ends
	terminates bool
}

// A note is a property of an event: a text, or a number.
type note struct {
	name, text text
	number     int64
}
