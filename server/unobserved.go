package server

import (
	"sync/atomic"

	"metasim/internal/slab"
	"metasim/metasim"
)

// A client in another process need not wait for the record. What happens often in a run is shown to the observers when what follows from it has been
// written: then the answer travels, and the client works on it, while the journal is encoded. That is a fifth of what the server does for a round trip.
//
// What is rare is shown at once, after all that came before it. So are the events of a run whose record has to be on the disk first (Config.Durable),
// and of one without other processes: nobody works meanwhile. Who asks what the observers know calls observeAll before.

// mostUnobserved is how many events and effects may wait to be shown: their copies stay in the processor's cache.
const mostUnobserved = 256

// mostUnobservedBytes is how many bytes of payloads may wait before more is shown at once: an observer that is Full says so only when it was shown them.
const mostUnobservedBytes = 1 << 20

// unobserved is what the observers are still to be shown, in memory of its own: events and effects are lent. The turn guards it.
type unobserved struct {
	some    atomic.Bool // something waits. Any goroutine reads it
	list    []unobservedEvent
	effects []metasim.Effect // of all events in list, one after the other
	bytes   int              // of the payloads that were sent in list

	sends      slab.Slab[metasim.Send]
	promises   slab.Slab[metasim.Promise]
	advances   slab.Slab[metasim.Advance]
	polls      slab.Slab[metasim.PollWait]
	queued     slab.Slab[metasim.Queue]
	lost       slab.Slab[metasim.Lose]
	delivered  slab.Slab[metasim.Deliver]
	authorized slab.Slab[metasim.Authorize]
}

type unobservedEvent struct {
	wall    int64
	event   metasim.Event // nil for a Settle
	effects int           // how many it has
}

// add keeps an event and its effects. It reports false, and keeps nothing, where they are to be shown at once.
func (u *unobserved) add(wall int64, ev metasim.Event, effects []metasim.Effect) bool {
	if len(u.list)+len(u.effects)+len(effects) >= mostUnobserved || u.bytes >= mostUnobservedBytes {
		return false
	}
	copied, ok := u.copyEvent(ev)
	if !ok {
		return false
	}
	kept := len(u.effects)
	for _, e := range effects {
		c, ok := u.copyEffect(e)
		if !ok {
			u.effects = u.effects[:kept]
			return false
		}
		u.effects = append(u.effects, c)
	}
	if send, ok := copied.(*metasim.Send); ok {
		u.bytes += len(send.Payload)
	}
	u.list = append(u.list, unobservedEvent{wall, copied, len(effects)})
	u.some.Store(true)
	return true
}

func lend[T any](s *slab.Slab[T], v *T) *T {
	c := s.Lend()
	*c = *v
	return c
}

// copyEvent reports false for an event that is rare.
func (u *unobserved) copyEvent(ev metasim.Event) (metasim.Event, bool) {
	switch ev := ev.(type) {
	case nil:
		return nil, true
	case *metasim.Send:
		return lend(&u.sends, ev), true
	case *metasim.Promise:
		return lend(&u.promises, ev), true
	case *metasim.Advance:
		return lend(&u.advances, ev), true
	case *metasim.PollWait:
		return lend(&u.polls, ev), true
	}
	return nil, false
}

// copyEffect reports false for an effect that is rare.
func (u *unobserved) copyEffect(e metasim.Effect) (metasim.Effect, bool) {
	switch e := e.(type) {
	case *metasim.Queue:
		return lend(&u.queued, e), true
	case *metasim.Lose:
		return lend(&u.lost, e), true
	case *metasim.Deliver:
		return lend(&u.delivered, e), true
	case *metasim.Authorize:
		return lend(&u.authorized, e), true
	}
	return nil, false
}

// clear forgets what was shown. The memory is used again.
func (u *unobserved) clear() {
	u.some.Store(false)
	clear(u.list)
	clear(u.effects)
	u.list, u.effects, u.bytes = u.list[:0], u.effects[:0], 0
	u.sends.Reclaim()
	u.promises.Reclaim()
	u.advances.Reclaim()
	u.polls.Reclaim()
	u.queued.Reclaim()
	u.lost.Reclaim()
	u.delivered.Reclaim()
	u.authorized.Reclaim()
}
