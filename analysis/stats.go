package analysis

import (
	"cmp"
	"slices"

	"metasim/metasim"
)

// A LinkID names a link. Channel indexes Timeline.Channels.
type LinkID struct {
	From, To metasim.ClientID
	Channel  uint32
}

// anyChannel is the channel of a link that is not known.
const anyChannel = ^uint32(0)

func (a LinkID) compare(b LinkID) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Channel, b.Channel))
}

// stats are the sums over a whole run, whatever of it a timeline keeps.
type stats struct {
	clients []clientStats
	links   map[LinkID]*linkStats // looked up; listed in order
	pubs    map[publication]metasim.Time
	pairs   []Pair
	path    criticalPath
	curves  map[LinkID][]waitedAt // looked up, never iterated
	ideal   int64
	end     metasim.Time // the latest activity of any client
	blurred int64        // see Report.BlameResolutionS
}

// A publication is what a client sends on one channel.
type publication struct {
	client  metasim.ClientID
	channel string
}

type clientStats struct {
	work, blocked, cpu         int64
	coreless                   int64 // how long it waited for a core
	grants, ahead              uint64
	reports, sends             uint64
	released                   uint64 // how often its report let another one go on
	delivered                  uint64
	could, promised, announced float64 // simulated nanoseconds from reports to sends: all, promised, and promised unless it hears
	reaction                   metasim.Time
	publications               []string
	subscriptions              []string
}

type linkStats struct {
	messages, lost, bytes uint64
	least                 metasim.Time // the least delay that was observed
	declared              metasim.Time
	blamed                int64 // how long somebody waited for somebody, with the link on the way
}

// A Pair says how long one client waited for another. HeldBy may be Nobody.
type Pair struct {
	Waiting, HeldBy metasim.ClientID
	Blocked         int64
}

func newStats(n int) stats {
	return stats{clients: make([]clientStats, n), links: map[LinkID]*linkStats{}, pubs: map[publication]metasim.Time{}}
}

func (s *stats) join(ev *metasim.Join) {
	c := &s.clients[ev.Client]
	c.reaction, c.publications, c.subscriptions = max(0, ev.Reaction), ev.Publications, ev.Subscriptions
}

// send judges what the client promised, and how soon it reacted.
func (s *stats) send(ev *metasim.Send, c *trace) {
	me := &s.clients[ev.Client]
	me.sends++
	could, promised, announced := c.claims.judge(ev.Sent.Time)
	me.could, me.promised, me.announced = me.could+could, me.promised+promised, me.announced+announced
	if c.hears {
		key := publication{ev.Client, ev.Channel}
		reaction := ev.Sent.Time - c.heard.Time
		if least, known := s.pubs[key]; !known || reaction < least {
			s.pubs[key] = reaction
		}
	}
}

func (s *stats) link(id LinkID, m *metasim.Message, lost bool) {
	l := s.links[id]
	if l == nil {
		l = &linkStats{least: metasim.Forever}
		s.links[id] = l
	}
	l.messages++
	l.bytes += uint64(len(m.Payload))
	if lost {
		l.lost++
		return
	}
	l.least = min(l.least, m.Due.Time-m.Sent.Time)
}

// finish sums up.
func (s *stats) finish(t *tracer) {
	for pair, blocked := range t.blame.pairs {
		s.pairs = append(s.pairs, Pair{pair[0], pair[1], blocked})
	}
	slices.SortFunc(s.pairs, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(b.Blocked, a.Blocked), cmp.Compare(a.Waiting, b.Waiting), cmp.Compare(a.HeldBy, b.HeldBy))
	})
	for i, took := range t.blame.times {
		if took == 0 {
			continue
		}
		for _, hop := range t.tl.Paths[i] {
			id := LinkID{hop.From, hop.To, t.channel(hop.Channel)}
			if s.links[id] == nil {
				s.links[id] = &linkStats{least: metasim.Forever}
			}
			s.links[id].blamed += took
		}
	}
	delays := t.src.Config.Delays
	for id, l := range s.links { // each by itself
		l.declared = leastDelay(delays, t.tl.Names[id.From], t.tl.Names[id.To], t.tl.Channels[id.Channel])
	}
	for i := range t.clients {
		s.ideal = max(s.ideal, t.clients[i].ideal)
		s.end = max(s.end, t.clients[i].now.Time)
	}
	for i := range t.tl.Profile { // when all have left, nothing is left for ever
		t.tl.Profile[i].Now = min(t.tl.Profile[i].Now, s.end)
	}
	s.path = t.trail()
	s.curves = t.blame.shortfalls.curves(t)
	s.blurred = t.blame.resolution
}

// leastDelay is the lookahead of a link.
func leastDelay(delays metasim.Delays, from, to, channel string) metasim.Time {
	if delays == nil {
		return 0
	}
	if commons, ok := delays.(metasim.CommonDelays); ok {
		if link, ok := commons.Common(channel); ok {
			return link.Min()
		}
	}
	return delays.Link(from, to, channel).Min()
}
