package trace

import (
	"cmp"

	"metasim/metasim"
)

// unknownChannel is the channel of a link that is not known.
const unknownChannel = ^uint32(0)

func (a LinkID) compare(b LinkID) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Channel, b.Channel))
}

// channel returns the index of a channel in Timeline.Channels.
func (t *tracer) channel(name string) uint32 {
	i, known := t.channels[name]
	if !known {
		i = uint32(len(t.tl.Channels))
		t.channels[name] = i
		t.tl.Channels = append(t.tl.Channels, name)
	}
	return i
}

func (t *tracer) linkOf(hop *metasim.Hop) LinkID {
	return LinkID{hop.From, hop.To, t.channel(hop.Channel)}
}

// link returns the totals of a link.
func (t *tracer) link(id LinkID) *LinkTotals {
	l := t.links[id]
	if l == nil {
		l = &LinkTotals{LinkID: id, Least: metasim.Forever, Reaction: -1}
		t.links[id] = l
	}
	return l
}

// LeastDelay returns the lookahead of a link.
func LeastDelay(delays metasim.Delays, from, to, channel string) metasim.Time {
	if delays == nil {
		return 0
	}
	if common, ok := delays.(metasim.CommonDelays); ok {
		if link, ok := common.Common(channel); ok {
			return link.Min()
		}
	}
	return delays.Link(from, to, channel).Min()
}
