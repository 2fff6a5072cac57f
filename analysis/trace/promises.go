package trace

import "metasim/metasim"

// A promiseAccuracy compares what a client's reports promised with what it sent. Every report counts, because other clients wait
// after every report: a client that sends once in a hundred ticks and promises one tick each time promises almost nothing.
type promiseAccuracy struct {
	open   []promise // of the reports since the last send
	stride uint32    // one of so many reports is stored, when there are very many
	missed uint32    // reports since the last stored one
}

// A promise is what one report says about the client's next send.
type promise struct {
	at    metasim.Time // of the report
	floor metasim.Time // no send before this
	next  metasim.Time // no send before this either, unless a message arrives
}

// maxPromises is how many open promises are stored for a client.
const maxPromises = 512

func (a *promiseAccuracy) add(p promise) {
	a.stride = max(1, a.stride)
	if a.missed++; a.missed < a.stride {
		a.open[len(a.open)-1] = p // the last one always counts
		return
	}
	a.missed = 0
	if len(a.open) == maxPromises {
		for i := range maxPromises / 2 {
			a.open[i] = a.open[2*i]
		}
		a.open = a.open[:maxPromises/2]
		a.stride *= 2
	}
	a.open = append(a.open, p)
}

// raise extends the last promise.
func (a *promiseAccuracy) raise(floor metasim.Time) {
	if n := len(a.open); n > 0 {
		a.open[n-1].floor = max(a.open[n-1].floor, floor)
	}
}

// judge closes the open promises at a send. It returns simulated nanoseconds, summed over the reports: silent is the time from the
// report to the send, promised the part of it that was promised, announced the part that was promised unless a message arrived.
func (a *promiseAccuracy) judge(sent metasim.Time) (silent, promised, announced float64) {
	for _, p := range a.open {
		until := func(bound metasim.Time) float64 { return float64(max(0, min(bound, sent)-p.at)) }
		silent += until(sent)
		promised += until(p.floor)
		announced += until(max(p.floor, p.next))
	}
	a.open, a.stride, a.missed = a.open[:0], 1, 0
	return silent, promised, announced
}
