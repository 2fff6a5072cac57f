package shard

import (
	"math/rand/v2"
	"slices"

	"metasim/metasim"
)

// outages has servers die, begin again with what they have written down, and be cut off from each other, until the network is healed.
type outages struct {
	draw    *rand.Rand
	begins  map[int]metasim.Time // when a server that died begins again
	side    [3]int               // of servers, while the network is cut in two
	cut     metasim.Time         // until when it is
	deaths  int
	unsent  int // deaths between writing down and sending
	stopped int // packets and messages
}

func (o *outages) add(more *outages) {
	if more != nil {
		o.deaths, o.unsent, o.stopped = o.deaths+more.deaths, o.unsent+more.unsent, o.stopped+more.stopped
	}
}

// dies has a server die now and then, and reports whether it does before it sends anything. Now and then the network is cut.
func (o *outages) dies(w *world, name string) bool {
	who := slices.Index(w.names, name)
	if o == nil || w.now >= w.healed || who < 0 {
		return false
	}
	switch o.draw.IntN(60) {
	case 0:
		o.begins[who], o.deaths, o.unsent = w.now+metasim.Time(1+o.draw.IntN(300))*ms, o.deaths+1, o.unsent+1
		return true
	case 1:
		if other := o.draw.IntN(3); o.begins[other] == 0 && other != who {
			o.begins[other], o.deaths = w.now+metasim.Time(1+o.draw.IntN(300))*ms, o.deaths+1
		}
	case 2:
		o.cut = w.now + metasim.Time(50+o.draw.IntN(200))*ms
		for i := range o.side {
			o.side[i] = o.draw.IntN(2)
		}
	}
	return false
}

// wake is when a server has something to do, which is to begin again if it is dead.
func (o *outages) wake(who int, at metasim.Time) metasim.Time {
	if o != nil && o.begins[who] > 0 {
		return o.begins[who]
	}
	return at
}

// restarts has a server begin again with what it has written down, if it is dead.
func (o *outages) restarts(w *world, who int) bool {
	if o == nil || o.begins[who] == 0 {
		return false
	}
	delete(o.begins, who)
	w.again(who)
	return true
}

// stops reports whether something does not arrive, as its recipient is dead or the network is cut between them.
func (o *outages) stops(w *world, f flight) bool {
	if o == nil {
		return false
	}
	from, to := slices.Index(w.names, f.from), slices.Index(w.names, f.to)
	cut := from >= 0 && to >= 0 && w.now < min(o.cut, w.healed) && o.side[from] != o.side[to]
	if to >= 0 && o.begins[to] > 0 || cut {
		o.stopped++
		return true
	}
	return false
}
