package predict

import (
	"slices"

	"metasim/analysis/trace"
	"metasim/metasim"
)

func newClientModel(id metasim.ClientID, log *trace.ClientLog) *clientModel {
	c := &clientModel{
		log: log, id: id, causes: map[trace.MessageID]int32{}, copies: map[int32]int32{},
		setters: make([]int32, len(log.Acts)), lastSet: make([]int32, len(log.Acts)),
		speed: 1, react: log.Join.Reaction, announced: metasim.Infinity, undone: len(log.Acts),
	}
	for i := range log.Acts {
		a := &log.Acts[i]
		c.setters[i] = -1
		switch {
		case i == 0:
		case a.Timed:
			k := i - 1
			for k > 0 && log.Acts[k-1].Next == a.At {
				k--
			}
			c.setters[i], c.lastSet[k] = int32(k), int32(i)
		default:
			if first, known := c.causes[a.Cause]; known {
				c.copies[first] = int32(i)
			} else {
				c.causes[a.Cause] = int32(i)
			}
		}
	}
	return c
}

// promise makes the client promise to send nothing for so long, wherever that was true.
func (c *clientModel) promise(ahead metasim.Time) {
	c.ahead = ahead
	c.silence = make([]metasim.Time, len(c.log.Acts))
	next := metasim.Forever
	for k := len(c.silence) - 1; k >= 0; k-- {
		at := c.log.Acts[k].At.Time
		c.silence[k] = metasim.Forever
		if next != metasim.Forever {
			c.silence[k] = next - at
		}
		if c.sends(int32(k)) > 0 {
			next = at
		}
	}
}

// next returns when the client has something to do.
func (c *clientModel) next() metasim.Instant {
	next := c.nextEvent()
	if m := c.inbox.First(); m != nil && c.log.Messages {
		next = metasim.Earlier(next, m.Due)
	}
	return metasim.Later(next, c.now)
}

// nextEvent returns when the client has something to do if no message arrives.
func (c *clientModel) nextEvent() metasim.Instant {
	if len(c.timers) > 0 {
		return c.timers[0].at
	}
	if c.announced.Before(c.now) || c.announced == c.now {
		return metasim.Infinity // nothing happened at that instant
	}
	return c.announced
}

// act finds out what the client does at an instant.
func (c *clientModel) act(at metasim.Instant) {
	c.now = at
	c.acts = c.acts[:0]
	for m := c.inbox.First(); m != nil && !at.Before(m.Due); m = c.inbox.First() {
		key := trace.MessageID{From: m.From, To: c.id, Seq: m.Seq}
		if k, known := c.causes[key]; known {
			if copied, twice := c.copies[k]; twice {
				c.causes[key] = copied
			} else if !c.again {
				delete(c.causes, key)
			}
			c.allow(k, metasim.Infinity, m.Due)
		}
		c.acked++
		c.inbox.Drop(1)
		c.path = max(c.path, *c.paths.First())
		c.paths.Drop(1)
	}
	for len(c.timers) > 0 && !at.Before(c.timers[0].at) {
		k := c.timers[0].act
		c.timers = slices.Delete(c.timers, 0, 1)
		c.allow(k, at, metasim.Infinity)
	}
}

// allow does an act that a timer at next, or a message due at cause, has caused; the other one is Infinity. If the act would send sooner
// than the client may, it is delayed.
func (c *clientModel) allow(k int32, next, cause metasim.Instant) {
	from := metasim.SendBound(c.floor, next, cause, c.react)
	if c.now.Before(from) && c.sends(k) > 0 {
		c.set(timer{from, k})
		return
	}
	c.acts = append(c.acts, k)
}

// set sets a timer, after those for the same instant.
func (c *clientModel) set(t timer) {
	i := len(c.timers)
	for i > 0 && t.at.Before(c.timers[i-1].at) {
		i--
	}
	c.timers = slices.Insert(c.timers, i, t)
}

// sends returns how many messages an act sends.
func (c *clientModel) sends(k int32) int32 {
	return c.log.Acts[k].Sends - firstSend(c.log, int(k))
}

// work returns how long the current acts take with a core, and how long without one, in nanoseconds.
func (c *clientModel) work() (computes, sleeps int64) {
	for _, k := range c.acts {
		a := &c.log.Acts[k]
		computes, sleeps = computes+a.Work-a.Sleep, sleeps+a.Sleep
	}
	return int64(float64(computes) / c.speed), int64(float64(sleeps) / c.speed)
}

// settle sets the timers and the promise that follow from the current acts.
func (c *clientModel) settle() {
	c.undone -= len(c.acts)
	for _, k := range c.acts {
		a := &c.log.Acts[k]
		c.announced = shifted(a.Next, a.At, c.now)
		// The timers that it set are those of the next acts that have it as their setter: it announced no others.
		for i := k + 1; i <= c.lastSet[k]; i++ {
			if c.setters[i] == k {
				c.set(timer{metasim.Later(shifted(c.log.Acts[i].At, a.At, c.now), c.now), i})
			}
		}
		c.floor = metasim.Later(c.floor, shifted(a.Floor, a.At, c.now))
		if c.ahead > 0 && (c.silence[k] < metasim.Forever || len(c.sent) >= len(c.log.Sends)) {
			c.floor = metasim.Later(c.floor, metasim.At(c.now.Time.Add(min(c.ahead, c.silence[k]))))
		}
	}
	c.floor = metasim.Later(c.floor, c.now)
}

// report returns what the client says about itself.
func (c *clientModel) report() metasim.Report {
	return metasim.Report{Now: c.now, NoSendBefore: c.floor, NextEvent: metasim.Later(c.nextEvent(), c.now), Acked: c.acked}
}

// receive takes what the server has written.
func (c *clientModel) receive() {
	in := &c.inbound
	c.unread += len(in.messages)
	for i, m := range in.messages {
		c.inbox.Push(m)
		c.paths.Push(in.paths[i])
	}
	c.granted, c.quiet = metasim.Later(c.granted, in.granted), in.quiet
	clear(in.messages)
	*in = inbound{messages: in.messages[:0], paths: in.paths[:0]}
}

// shifted moves an instant as an act was moved from one instant to another: their distance in time stays.
func shifted(i, from, to metasim.Instant) metasim.Instant {
	if i == metasim.Infinity || from == to {
		return i
	}
	if i.Time <= from.Time {
		return to
	}
	return metasim.At(to.Time.Add(i.Time - from.Time))
}
