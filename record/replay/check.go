package replay

import (
	"bytes"
	"fmt"
	"slices"

	"metasim/metasim"
	"metasim/wire"
)

// A check compares what a client says with what it said then.
type check struct {
	Checked
	name  string
	tape  *tape
	until metasim.Instant
}

// Checked says what was compared.
type Checked struct {
	Sent      uint64 // sends that were as they were then
	Delivered uint64 // deliveries that the client was given
	End       string // how the client's part ended
	// Difference is the first; nil if there is none.
	Difference *Difference
}

func (s *session) differ(where, then, now string) {
	s.Difference = &Difference{Where: where, Then: then, Now: now}
	s.parted()
}

// parted ends the session at a difference. Both messages are the caller's to tell.
func (s *session) parted() {
	s.end(wire.Refuse{Reason: wire.RuleBroken, Text: s.Difference.Where + " is not what it was: the replay ends here"})
}

func (s *session) words() words { return words{s.tape.run.Manifest.Clients} }

// declares compares what the client declares. The order of channels does not matter.
func (c *check) declares(h wire.Hello) {
	j := c.tape.joined
	lists := func(pubs, subs []string, reaction metasim.Time) string {
		sorted := func(s []string) []string { return slices.Compact(slices.Sorted(slices.Values(s))) }
		return fmt.Sprintf("publications %q, subscriptions %q, reaction %v", sorted(pubs), sorted(subs), reaction)
	}
	then := lists(j.Publications, j.Subscriptions, j.Reaction)
	if now := lists(h.Publications, h.Subscriptions, h.Reaction); now != then {
		c.Difference = &Difference{Where: fmt.Sprintf("what %q declares", c.name), Then: then, Now: now}
	}
}

// sent compares one send.
func (s *session) sent(now *metasim.Send) error {
	then, err := s.tape.send(now.Sent)
	if err != nil {
		return err
	}
	switch end := s.tape.end; {
	case then != nil:
	case end == nil:
		s.differ(s.where(), s.onward(), s.words().send(now, 0))
		return nil
	case end.leave == nil:
		s.stop() // it sends on into what was not recorded
		return nil
	default:
		s.differ(s.where(), s.left(), s.words().send(now, 0))
		return nil
	}
	if now.Channel != then.Channel || now.Sent != then.Sent || !bytes.Equal(now.Payload, then.Payload) {
		at := part(then.Payload, now.Payload)
		s.differ(s.where(), s.words().send(then, at), s.words().send(now, at))
		return nil
	}
	s.tape.pop()
	s.Sent++
	if end := s.tape.end; end != nil && end.cheat && len(s.tape.sends) == 0 {
		s.stop()
	}
	return nil
}

func (s *session) where() string { return fmt.Sprintf("message %d of %q", s.Sent, s.name) }

// onward says that the client had sent nothing more by then.
func (s *session) onward() string {
	return fmt.Sprintf("it sent nothing before it came to %v", s.tape.clock)
}

// left says how the client left then.
func (s *session) left() string {
	l := s.tape.end.leave
	return fmt.Sprintf("it left at %v, with %d deliveries handled and the result %q", l.Now, l.Acked, l.Result)
}

// leaves compares a leave.
func (s *session) leaves(now *metasim.Leave) error {
	then, err := s.tape.send(now.Now)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("it leaves at %v, with %d deliveries handled and the result %q", now.Now, now.Acked, now.Result)
	if then != nil {
		s.differ(s.where(), s.words().send(then, 0), text)
		return nil
	}
	end := s.tape.end
	if end == nil {
		s.differ(fmt.Sprintf("the end of %q", s.name), s.onward()+", and did not leave", text)
		return nil
	}
	if l := end.leave; l != nil && (l.Now != now.Now || l.Acked != now.Acked || !bytes.Equal(l.Result, now.Result)) {
		s.differ(fmt.Sprintf("the end of %q", s.name), s.left(), text)
		return nil
	}
	s.End = end.text
	s.end(wire.Goodbye{})
	return nil
}

// stuck takes a wait for more than was recorded. A client that broke a rule with a send may have done that while it waited:
// then it is to do so again.
func (s *session) stuck(poll *metasim.PollWait) error {
	if s.tape.end.cheat && len(s.tape.sends) > 0 {
		return nil
	}
	return s.missing(fmt.Sprintf("it waits at %v for %v", poll.Now, poll.Want))
}

// gone takes the end of a connection. Where it was lost then, too, it is not a difference how much of what the client had
// sent still came through.
func (s *session) gone(why string) error {
	if err := s.tape.drain(); err != nil {
		return err
	}
	if s.tape.end.lost {
		s.stop()
		return nil
	}
	return s.missing(why)
}

// missing takes it that the client sends nothing more, for the reason now.
func (s *session) missing(now string) error {
	then, err := s.tape.send(metasim.Infinity)
	if err != nil {
		return err
	}
	switch {
	case then != nil:
		s.differ(s.where(), s.words().send(then, 0), now)
	case s.tape.end.leave != nil:
		s.differ(fmt.Sprintf("the end of %q", s.name), s.left(), now)
	default:
		s.stop()
	}
	return nil
}

// stop ends the replay where the record does, in the way in which it ended then.
func (s *session) stop() {
	s.End = s.tape.end.text
	s.end(s.tape.end.last)
}
