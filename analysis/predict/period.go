package predict

import (
	"slices"

	"metasim/analysis/trace"
	"metasim/metasim"
)

// A ticking is what is periodic in what a client did.
type ticking struct {
	period metasim.Time
	first  metasim.Time // of the ticks
	last   metasim.Time
	own    []bool // by act: a timer caused it that no message had set
}

// tickingOf returns what is periodic in a log; false if less than nine of ten of the acts that the client's own timers caused are a period apart.
func tickingOf(log *trace.ClientLog) (ticking, bool) {
	var times, steps []metasim.Time
	own := ownTimers(log)
	for i := range log.Acts {
		if at := log.Acts[i].At.Time; own[i] && (len(times) == 0 || times[len(times)-1] < at) {
			times = append(times, at)
		}
	}
	for i := 1; i < len(times); i++ {
		steps = append(steps, times[i]-times[i-1])
	}
	if len(steps) < 2 {
		return ticking{}, false
	}
	slices.Sort(steps)
	k := ticking{period: steps[len(steps)/2], first: times[0], own: own}
	on := 0
	for _, t := range times {
		if k.has(t) {
			k.last = t
			on++
		}
	}
	return k, 10*on >= 9*len(times)
}

// has reports whether a time is that of a tick.
func (k *ticking) has(t metasim.Time) bool { return (t-k.first)%k.period == 0 }

// ticks reports whether an act is one of a tick.
func (k *ticking) ticks(log *trace.ClientLog, i int) bool {
	return k.own[i] && k.has(log.Acts[i].At.Time)
}

// ownTimers says of each act whether a timer caused it that no message had set. A message has set the timer that an act announces which the message
// caused, if the act before it announced another time.
func ownTimers(log *trace.ClientLog) []bool {
	own := make([]bool, len(log.Acts))
	set := 0 // the act that has set the timer which is announced
	for i := 1; i < len(log.Acts); i++ {
		a, before := &log.Acts[i], &log.Acts[i-1]
		byMessage := set > 0 && !log.Acts[set].Timed && a.At == before.Next
		own[i] = a.Timed && !byMessage
		if a.Next != before.Next {
			set = i
		}
	}
	return own
}

// withPeriod returns the log of a client that ticks with another period for as long in simulated time, and which send of the old log each
// send is. A tick does what the last old tick until then did: with a longer period it skips ticks, with a shorter one it repeats them. What
// messages cause stays. The client promises the same part of the time until its next send as before.
func withPeriod(log *trace.ClientLog, period metasim.Time) (changed *trace.ClientLog, sends []uint64) {
	k, ok := tickingOf(log)
	if !ok {
		return log, nil
	}
	b := periodBuilder{old: log, k: k, out: *log, next: k.first}
	b.out.Acts, b.out.Sends = nil, nil
	b.period = period
	var others []int // acts that no tick caused
	old := map[metasim.Time][]int{}
	for i := range log.Acts {
		if at := log.Acts[i].At.Time; k.ticks(log, i) {
			old[at] = append(old[at], i)
		} else {
			others = append(others, i)
		}
	}
	for t := k.first; t < k.last+k.period; t += period {
		for len(others) > 0 && log.Acts[others[0]].At.Time < t {
			b.add(others[0], 0)
			others = others[1:]
		}
		if b.next = t + period; b.next >= k.last+k.period {
			b.next = metasim.Forever
		}
		was := k.first + (t-k.first)/k.period*k.period
		for was > k.first && old[was] == nil { // a tick that the log does not have
			was -= k.period
		}
		for _, i := range old[was] {
			b.add(i, t-was)
		}
	}
	for _, i := range others {
		b.add(i, 0)
	}
	b.promises()
	return &b.out, b.sends
}

// A periodBuilder puts together the log of a client with another period.
type periodBuilder struct {
	old    *trace.ClientLog
	k      ticking
	period metasim.Time
	next   metasim.Time // of the next tick; Forever: there is none
	out    trace.ClientLog
	sends  []uint64
	from   []int // by act of out: which act of old it is
}

// add adds an act, so much later than it was.
func (b *periodBuilder) add(i int, later metasim.Time) {
	a := b.old.Acts[i]
	for s := firstSend(b.old, i); s < a.Sends; s++ {
		b.out.Sends, b.sends = append(b.out.Sends, b.old.Sends[s]), append(b.sends, uint64(s))
	}
	if a.Next != metasim.Infinity && b.k.has(a.Next.Time) && a.At.Time < a.Next.Time {
		if a.Next = metasim.Infinity; b.next < metasim.Forever {
			a.Next = metasim.At(b.next)
		}
	} else if a.Next != metasim.Infinity {
		a.Next.Time += later
	}
	a.At.Time += later
	a.Sends = int32(len(b.out.Sends))
	b.out.Acts, b.from = append(b.out.Acts, a), append(b.from, i)
}

// promises sets what each act promises.
func (b *periodBuilder) promises() {
	was, is := nextSends(b.old), nextSends(&b.out)
	for n := range b.out.Acts {
		old, a := &b.old.Acts[b.from[n]], &b.out.Acts[n]
		ahead := max(0, old.Floor.Time-old.At.Time)
		if before := was[b.from[n]]; before < metasim.Forever && is[n] < metasim.Forever {
			promised := min(1, trace.Ratio(float64(ahead), float64(before-old.At.Time)))
			ahead = metasim.Time(promised * float64(is[n]-a.At.Time))
		}
		a.Floor = metasim.Later(a.At, metasim.At(a.At.Time.Add(ahead)))
	}
}

// nextSends returns, by act, when the client sends next after it; Forever: never.
func nextSends(log *trace.ClientLog) []metasim.Time {
	all := make([]metasim.Time, len(log.Acts))
	next := metasim.Forever
	for i := len(all) - 1; i >= 0; i-- {
		all[i] = next
		if log.Acts[i].Sends > firstSend(log, i) {
			next = log.Acts[i].At.Time
		}
	}
	return all
}

// firstSend returns the index of the first send of an act.
func firstSend(log *trace.ClientLog, i int) int32 {
	if i == 0 {
		return 0
	}
	return log.Acts[i-1].Sends
}
