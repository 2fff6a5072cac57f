package journal

import (
	"fmt"
	"slices"

	"metasim/metasim"
)

// A checker refuses entries that no dispatcher can have made. A checksum proves only that a record is as it was written. Readers rely on
// more: a client acknowledges only what it was given, times never go back, and a client that has left sends nothing. All this is checked
// here once, so that no reader has to.
type checker struct {
	names    []string
	clients  []checked
	wall     int64
	began    bool
	finished bool // what follows a Finish does not count
}

// checked is what the journal said of one client so far.
type checked struct {
	joined, left bool
	clock        metasim.Instant // of its last activity
	granted      metasim.Instant // it may act before this
	due          metasim.Instant // of its last delivery
	given, acked uint64          // deliveries
	publishes    map[string]bool
	subscribes   []string
	hears        map[string]bool // by channel: what subscribes say; looked up, never iterated
}

// maxWall bounds the wall clock, so that sums of it fit: a run takes less than 36 years.
const maxWall = 1 << 60

func newChecker(names []string) *checker {
	return &checker{names: names, clients: make([]checked, len(names))}
}

// entry returns what is wrong with an entry, nil if nothing is. All its clients are known.
func (c *checker) entry(e *Entry) error {
	if err := c.clock(e); err != nil || c.finished {
		return err
	}
	if !isRefused(e.Effects) {
		if err := c.event(e.Event); err != nil {
			return err
		}
	}
	for _, effect := range e.Effects {
		if err := c.effect(effect); err != nil {
			return err
		}
	}
	return nil
}

// clock checks when an entry was written.
func (c *checker) clock(e *Entry) error {
	if e.Wall < c.wall || e.Wall > maxWall {
		return fmt.Errorf("an entry was written %d ns after the run began, and the one before it at %d ns", e.Wall, c.wall)
	}
	c.wall = e.Wall
	return nil
}

// isRefused reports whether the dispatcher refused an event, with which a client broke a rule.
func isRefused(effects []metasim.Effect) bool {
	for _, e := range effects {
		if _, is := e.(*metasim.Evict); is {
			return true
		}
	}
	return false
}

// event checks an event that was not refused: it keeps the rules of metasim/rules.go, as far as readers rely on them.
func (c *checker) event(ev metasim.Event) error {
	id, of := metasim.ClientOf(ev)
	if !of {
		if _, begins := ev.(*metasim.Begin); begins {
			c.began = true
		}
		return nil
	}
	me := &c.clients[id]
	switch ev := ev.(type) {
	case *metasim.Join:
		if me.joined || c.began {
			return fmt.Errorf("client %q joins, but it has joined before, or the run had begun", c.names[id])
		}
		me.joined, me.subscribes = true, ev.Subscriptions
		me.publishes, me.hears = map[string]bool{}, map[string]bool{}
		for _, channel := range ev.Publications {
			me.publishes[channel] = true
		}
		return nil
	case *metasim.Leave:
		if ev.Cut {
			me.left = true
			return nil
		}
	}
	if me.left || !me.joined || !c.began {
		return fmt.Errorf("client %q takes part before the run began, or after it had left", c.names[id])
	}
	switch ev := ev.(type) {
	case *metasim.Send:
		if !me.publishes[ev.Channel] {
			return fmt.Errorf("client %q sends on %q, which it does not publish", c.names[id], ev.Channel)
		}
		return c.active(id, ev.Sent, me.acked)
	case *metasim.Advance:
		return c.active(id, ev.Now, ev.Acked)
	case *metasim.PollWait:
		return c.active(id, ev.Now, ev.Acked)
	case *metasim.Leave:
		me.left = true
		return c.active(id, ev.Now, ev.Acked)
	}
	return nil
}

// active checks and notes that a client was active at an instant, and had handled `acked` deliveries by then.
func (c *checker) active(id metasim.ClientID, at metasim.Instant, acked uint64) error {
	me := &c.clients[id]
	switch {
	case at.Before(me.clock):
		return fmt.Errorf("client %q is at %v after it was at %v", c.names[id], at, me.clock)
	case acked < me.acked || acked > me.given:
		return fmt.Errorf("client %q handles delivery %d, but it has handled %d and was given %d", c.names[id], acked, me.acked, me.given)
	}
	me.clock, me.acked = at, acked
	return nil
}

// effect checks an effect.
func (c *checker) effect(e metasim.Effect) error {
	switch e := e.(type) {
	case *metasim.Queue:
		if !e.Message.Sent.Before(e.Message.Due) && e.Message.Due != metasim.Infinity {
			return fmt.Errorf("a message of client %q, sent at %v, is due for %q at %v", c.names[e.Message.From], e.Message.Sent,
				c.names[e.To], e.Message.Due)
		}
	case *metasim.Deliver:
		return c.deliver(e)
	case *metasim.Authorize:
		to := &c.clients[e.To]
		if e.Until.Before(to.granted) || !to.due.Before(e.Until) && to.given > 0 {
			return fmt.Errorf("client %q is authorized up to %v, after it was authorized up to %v and given what was due at %v",
				c.names[e.To], e.Until, to.granted, to.due)
		}
		to.granted = e.Until
	case *metasim.Evict:
		if e.Err == nil {
			return fmt.Errorf("client %q is evicted, but the rule that it broke is missing", c.names[e.Client])
		}
	case *metasim.Finish:
		c.finished = true
	}
	return nil
}

func (c *checker) deliver(e *metasim.Deliver) error {
	to, due := &c.clients[e.To], e.Message.Due
	switch {
	case to.left || !to.joined || !c.began:
		return fmt.Errorf("client %q is given a message before the run began, or after it had left", c.names[e.To])
	case !to.hear(e.Message.Channel):
		return fmt.Errorf("client %q is given a message on %q, to which it does not subscribe", c.names[e.To], e.Message.Channel)
	case e.Number != to.given+1:
		return fmt.Errorf("client %q is given delivery %d after delivery %d", c.names[e.To], e.Number, to.given)
	case due.Before(to.due) || due.Before(to.granted) || due.Time == metasim.Forever:
		return fmt.Errorf("client %q is given a message that is due at %v, after it was given what was due at %v and authorized up to %v",
			c.names[e.To], due, to.due, to.granted)
	}
	to.given, to.due = e.Number, due
	return nil
}

// hear reports whether a client subscribes to a channel.
func (c *checked) hear(channel string) bool {
	heard, known := c.hears[channel]
	if !known {
		heard = slices.ContainsFunc(c.subscribes, func(s string) bool { return metasim.MatchSubscription(s, channel) })
		c.hears[channel] = heard
	}
	return heard
}
