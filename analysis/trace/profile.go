package trace

import "metasim/metasim"

// maxSamples is how many samples a profile has at most.
const maxSamples = 256

// A profile samples how many clients are authorized and compute. The length of the run is not known before its end, so the number
// of samples is bounded by joining neighbours: all samples double their width when there are too many.
type profile struct {
	samples []Sample // Running and Computing are integrals, in client-nanoseconds, until end is called
	width   int64    // of a sample, in nanoseconds
	start   int64
	last    int64 // up to this time everything is counted
	running int
	cores   int                 // 0: not known
	crowded int64               // for how long more clients were running than there are cores
	times   []int64             // by the number of running clients
	now     func() metasim.Time // how far the run has come
}

func newProfile(clients, cores int, now func() metasim.Time) *profile {
	return &profile{width: 1000, times: make([]int64, clients+1), cores: cores, now: now}
}

func (p *profile) begin(wall int64) { p.start, p.last = wall, wall }

// change adds to the number of running clients.
func (p *profile) change(wall int64, by int) {
	p.integrate(wall)
	p.running += by
}

// pass advances to wall. It calls now only when a sample is complete.
func (p *profile) pass(wall int64) {
	before := len(p.samples)
	p.integrate(wall)
	if len(p.samples) > before {
		at := p.now()
		for i := before; i < len(p.samples); i++ {
			p.samples[i].Now = at
		}
		p.thin()
	}
}

// integrate counts the time since the last change.
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
			if len(p.samples) >= 4*maxSamples { // a long time without an event
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

// work counts that one client computed from begin to end. Both have passed.
func (p *profile) work(begin, end int64) {
	for i := int((begin - p.start) / p.width); i < len(p.samples) && begin < end; i++ {
		upTo := min(end, p.samples[i].End)
		p.samples[i].Computing += float64(upTo - begin)
		begin = upTo
	}
}

// thin joins neighbours until there are few enough samples.
func (p *profile) thin() {
	for len(p.samples) > maxSamples {
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

// end turns the integrals into averages. It returns the samples, and for how long each number of clients was running.
func (p *profile) end(wall int64) (samples []Sample, running []int64) {
	p.pass(wall)
	begin := p.start
	for i := range p.samples {
		s := &p.samples[i]
		s.End = min(s.End, wall)
		if i == len(p.samples)-1 {
			s.Now = p.now()
		}
		s.Running /= float64(max(1, s.End-begin))
		s.Computing /= float64(max(1, s.End-begin))
		begin = s.End
	}
	most := len(p.times)
	for most > 1 && p.times[most-1] == 0 {
		most--
	}
	return p.samples, p.times[:most]
}
