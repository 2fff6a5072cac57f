package predict

import (
	"slices"

	"metasim/delay"
	"metasim/metasim"
)

// withChanges returns the delays of the run with the changes of links. Of several changes of one link the last one counts.
func withChanges(before metasim.Delays, changes []Change) metasim.Delays {
	var links []Change
	for _, c := range changes {
		if c.what == changeDelay {
			links = append(links, c)
		}
	}
	if len(links) == 0 {
		return before
	}
	if before == nil {
		before = &delay.Table{} // one step on every link
	}
	return &changedDelays{before, links}
}

// changedDelays are Delays with other least delays on some links.
type changedDelays struct {
	metasim.Delays
	changes []Change
}

// Common returns the link that all clients share on a channel, if no change is about the channel.
func (d *changedDelays) Common(channel string) (metasim.Link, bool) {
	common, ok := d.Delays.(metasim.CommonDelays)
	if !ok || slices.ContainsFunc(d.changes, func(c Change) bool { return delay.Match(c.channel, channel) }) {
		return nil, false
	}
	return common.Common(channel)
}

func (d *changedDelays) Link(from, to, channel string) metasim.Link {
	link := d.Delays.Link(from, to, channel)
	for _, c := range slices.Backward(d.changes) {
		if delay.Match(c.from, from) && delay.Match(c.to, to) && delay.Match(c.channel, channel) {
			return &changedLink{link, link.Min(), c.time}
		}
	}
	return link
}

// A changedLink has another least delay. What a message takes beyond the least delay stays as it is.
type changedLink struct {
	link        metasim.Link
	before, min metasim.Time
}

func (l *changedLink) Min() metasim.Time { return l.min }

func (l *changedLink) Earliest(x metasim.Instant) metasim.Instant {
	return l.move(x, l.link.Earliest(x))
}

func (l *changedLink) Transit(dues []metasim.Instant, n uint64, sent metasim.Instant, size int) []metasim.Instant {
	had := len(dues)
	dues = l.link.Transit(dues, n, sent, size)
	for i := had; i < len(dues); i++ {
		dues[i] = l.move(sent, dues[i])
	}
	return dues
}

func (l *changedLink) move(sent, due metasim.Instant) metasim.Instant {
	if due == metasim.Infinity {
		return due
	}
	return sent.Add(max(0, due.Time-sent.Time-l.before).Add(l.min))
}
