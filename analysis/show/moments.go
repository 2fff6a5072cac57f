package show

import (
	"cmp"
	"slices"
)

// A moment is an event of a track that is not written yet. It is small, because a trace may have many millions. index is that of a grant, a
// hold or a message in the Timeline; what says which.
type moment struct {
	at    int64 // nanoseconds
	index int32
	what  what
	order order
}

// what is the kind of a moment.
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

// An order is the order of the moments of one time. It makes slices nest: the inner slice ends first and begins last.
type order uint8

const (
	endInner order = iota
	endOuter
	during
	beginOuter
	beginInner
)

// compare orders moments by time, then by order. The rest does not matter.
func (m *moment) compare(o *moment) int {
	if m.at != o.at {
		return cmp.Compare(m.at, o.at)
	}
	return cmp.Compare(m.order, o.order)
}

// moments are the moments of a track.
type moments []moment

// begin adds the beginning of a slice, end its end. A slice that takes no time is left out.
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

// merged sorts the moments. The first ones are sorted already, and so are the others.
func (m moments) merged(first int) moments {
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
	m.sort() // it does nothing unless a clock was set back
	return m
}

func (m moments) sort() {
	compare := func(x, y moment) int { return x.compare(&y) }
	if !slices.IsSortedFunc(m, compare) {
		slices.SortStableFunc(m, compare)
	}
}
