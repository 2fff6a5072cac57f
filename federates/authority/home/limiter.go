package home

import (
	"math"

	"metasim/metasim"
)

// A Limiter bounds how often somebody may ask: Burst at once, and Rate in each second after that (a token bucket). It forgets whoever has not
// asked for so long that its bucket is full. It is not safe for concurrent use.
type Limiter struct {
	rate    float64 // a second
	burst   float64
	most    int
	buckets map[string]bucket // by name; looked up, never iterated
	order   []string          // the names, the one that came first at the front
}

type bucket struct {
	left float64 // requests
	at   metasim.Time
}

// NewLimiter returns a limiter that knows at most so many names at once. It lets names that it does not know share one bucket when there are more.
func NewLimiter(rate, burst float64, most int) *Limiter {
	return &Limiter{rate: rate, burst: burst, most: most, buckets: map[string]bucket{}}
}

// Take takes a request of somebody, or returns after how many seconds it may ask again.
func (l *Limiter) Take(now metasim.Time, name string) (wait int) {
	l.forget(now)
	if _, known := l.buckets[name]; !known && len(l.order) >= l.most {
		name = "" // the rest
	}
	b, known := l.buckets[name]
	if !known {
		b = bucket{l.burst, now}
		l.order = append(l.order, name)
	}
	b = l.at(b, now)
	if b.left < 1 {
		wait = int(math.Ceil((1 - b.left) / l.rate))
	} else {
		b.left--
	}
	l.buckets[name] = b
	return wait
}

// at is a bucket as it is now.
func (l *Limiter) at(b bucket, now metasim.Time) bucket {
	if now > b.at {
		b.left = min(l.burst, b.left+float64(now-b.at)/float64(second)*l.rate)
		b.at = now
	}
	return b
}

// forget drops the names at the front whose buckets are full, two at most each time: so they go as fast as others come. One that is not
// full goes to the end.
func (l *Limiter) forget(now metasim.Time) {
	for range min(2, len(l.order)) {
		name := l.order[0]
		l.order = l.order[1:]
		if l.at(l.buckets[name], now).left >= l.burst {
			delete(l.buckets, name)
		} else {
			l.order = append(l.order, name)
		}
	}
}
