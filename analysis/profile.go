package analysis

import "metasim/metasim"

// samples is how many pieces a profile has at most.
const samples = 256

// A profile keeps how many clients compute at once, over the run, in a bounded number of pieces: whatever the length of
// the run, which is not known before, they get twice as wide whenever there are too many.
type profile struct {
	samples []Sample // Running is an integral, in client-nanoseconds, until end
	width   int64
	start   int64
	last    int64
	running int
	cores   int     // 0: not known
	crowded int64   // for how long more clients were running than there are cores
	times   []int64 // by number of running clients
}

func newProfile(clients, cores int) *profile {
	return &profile{width: 1000, times: make([]int64, clients+1), cores: cores}
}

func (p *profile) begin(wall int64) { p.start, p.last = wall, wall }

// change notes that more clients compute from now on, or fewer.
func (p *profile) change(wall int64, by int) {
	p.integrate(wall)
	p.running += by
}

// pass notes that time has passed. now tells how far the run has come; it is asked at the end of a piece only.
func (p *profile) pass(wall int64, now func() metasim.Time) {
	before := len(p.samples)
	p.integrate(wall)
	if len(p.samples) > before {
		at := now()
		for i := before; i < len(p.samples); i++ {
			p.samples[i].Now = at
		}
		p.thin()
	}
}

// integrate takes up the time since the last change.
func (p *profile) integrate(wall int64) {
	took := wall - p.last
	if took <= 0 {
		return
	}
	p.times[p.running] += took
	if p.cores > 0 && p.running > p.cores {
		p.crowded += took
	}
	for p.last < wall {
		end := p.start + p.width*((p.last-p.start)/p.width+1)
		if n := len(p.samples); n == 0 || p.samples[n-1].End <= p.last {
			p.samples = append(p.samples, Sample{End: end})
			if n > 0 {
				p.samples[n].Now = p.samples[n-1].Now
			}
			if len(p.samples) >= 4*samples { // a long time without an event
				p.thin()
				continue
			}
		}
		s := &p.samples[len(p.samples)-1]
		upTo := min(wall, s.End)
		s.Running += float64(p.running) * float64(upTo-p.last)
		p.last = upTo
	}
}

// work notes that somebody computed from begin to end, which has passed.
func (p *profile) work(begin, end int64) {
	for i := int((begin - p.start) / p.width); i < len(p.samples) && begin < end; i++ {
		upTo := min(end, p.samples[i].End)
		p.samples[i].Computing += float64(upTo - begin)
		begin = upTo
	}
}

// thin joins neighbours until there are few enough.
func (p *profile) thin() {
	for len(p.samples) > samples {
		n := 0
		for i := 0; i < len(p.samples); i += 2 {
			s := p.samples[i]
			s.End = p.start + int64(n+1)*2*p.width
			if i+1 < len(p.samples) {
				t := &p.samples[i+1]
				s.Now, s.Running, s.Computing = t.Now, s.Running+t.Running, s.Computing+t.Computing
			}
			p.samples[n] = s
			n++
		}
		p.samples, p.width = p.samples[:n], 2*p.width
	}
}

// end turns integrals into averages.
func (p *profile) end(wall int64, now func() metasim.Time) {
	p.pass(wall, now)
	begin := p.start
	for i := range p.samples {
		s := &p.samples[i]
		s.End = min(s.End, wall)
		if i == len(p.samples)-1 {
			s.Now = now()
		}
		s.Running /= float64(max(1, s.End-begin))
		s.Computing /= float64(max(1, s.End-begin))
		begin = s.End
	}
}

// histogram returns how long so many clients computed at once, without trailing zeros.
func (p *profile) histogram() []int64 {
	n := len(p.times)
	for n > 1 && p.times[n-1] == 0 {
		n--
	}
	return p.times[:n]
}
