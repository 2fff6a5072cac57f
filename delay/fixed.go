package delay

import "metasim/metasim"

// fixed is a link on which every message takes the same time and arrives once. It has no state and draws nothing, so
// one of them may serve any number of links.
type fixed metasim.Time

// fixed returns the link of a spec without chance, a line, or a memory. (Messages that all take the same time arrive in
// the order in which they were sent, whatever Order says.)
func (s Spec) fixed() (fixed, bool) {
	if s.Loss != nil || s.Bandwidth != 0 || s.Duplicate != 0 {
		return 0, false
	}
	switch d := s.Delay.(type) {
	case nil:
		return 0, true
	case Constant:
		return fixed(d), true
	}
	return 0, false
}

// Min implements metasim.Link.
func (f fixed) Min() metasim.Time { return metasim.Time(f) }

// Steady is what metasim.Link asks for: nothing that was sent matters.
func (f fixed) Steady() bool { return true }

// Earliest implements metasim.Link.
func (f fixed) Earliest(x metasim.Instant) metasim.Instant { return x.Add(metasim.Time(f)) }

// Transit implements metasim.Link.
func (f fixed) Transit(dues []metasim.Instant, _ uint64, sent metasim.Instant, _ int) []metasim.Instant {
	return append(dues, sent.Add(metasim.Time(f)))
}
