package metasim

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"metasim/internal/script"
)

// client carries out a command about one client.
func (s *story) client(c *script.Command) (string, error) {
	name, err := c.Word("a client")
	if err != nil {
		return "", err
	}
	i := slices.Index(s.d.Names(), name)
	if i < 0 {
		return "", fmt.Errorf("no client is called %q", name)
	}
	id := ClientID(i)
	switch c.Name {
	case "join":
		reaction, err := s.arg(c, "reaction", Start)
		return s.step(&Join{
			Client: id, Publications: c.List("pub"), Subscriptions: c.List("sub"), Reaction: reaction.Time,
		}), err
	case "send":
		channel, err := c.Word("a channel")
		if err != nil {
			return "", err
		}
		at, err := s.arg(c, "at", s.d.clients[id].clock)
		payload, _ := c.Arg("payload")
		return s.step(&Send{Client: id, Channel: channel, Sent: at, Payload: []byte(payload)}), err
	case "promise":
		at, err := s.instant(c.Word("an instant"))
		return s.step(&Promise{Client: id, NoSendBefore: at}), err
	case "advance":
		r, err := s.report(c, id, nil)
		return s.step(&Advance{Client: id, Report: r}), err
	case "poll-wait":
		want, err := s.arg(c, "want", Infinity)
		if err != nil {
			return "", err
		}
		messages := c.Flag("messages")
		r, err := s.report(c, id, &want)
		return s.step(&PollWait{Client: id, Report: r, Want: want, Messages: messages}), err
	case "leave":
		r, err := s.report(c, id, nil)
		result, _ := c.Arg("result")
		return s.step(&Leave{Client: id, Now: r.Now, Acked: r.Acked, Result: []byte(result)}), err
	case "blame":
		return s.blame(id), nil
	case "cut":
		return s.step(&Leave{Client: id, Cut: true}), nil
	case "echo":
		in, err := c.Word("the channel that it hears")
		if err != nil {
			return "", err
		}
		out, err := c.Word("the channel on which it answers")
		s.echo[id] = [2]string{in, out}
		return "", err
	}
	return "", fmt.Errorf("there is no such command; the list stands above type story")
}

func (s *story) arg(c *script.Command, key string, otherwise Instant) (Instant, error) {
	v, ok := c.Arg(key)
	if !ok {
		return otherwise, nil
	}
	return parseInstant(v)
}

// report reads the arguments of a report; want is where next falls back to, if there is one.
func (s *story) report(c *script.Command, id ClientID, want *Instant) (r Report, err error) {
	at := &s.d.clients[id]
	if r.Now, err = s.arg(c, "now", at.clock); err != nil {
		return r, err
	}
	if r.NoSendBefore, err = s.arg(c, "promise", r.Now); err != nil {
		return r, err
	}
	r.NextEvent = r.NoSendBefore
	if want != nil {
		r.NextEvent = *want
	}
	if r.NextEvent, err = s.arg(c, "next", r.NextEvent); err != nil {
		return r, err
	}
	r.Acked = at.window.Acked()
	for _, g := range at.window.given.All() {
		if !r.Now.Before(g.due) {
			r.Acked++
		}
	}
	if v, ok := c.Arg("ack"); ok {
		r.Acked, err = strconv.ParseUint(v, 10, 64)
	}
	return r, err
}

// run settles and lets the echoes answer until nothing happens any more.
func (s *story) run(quiet bool) (string, error) {
	var all []string
	grants, deliveries := 0, 0
	for range 10_000 {
		text := s.settle()
		if text == "" {
			if quiet {
				return fmt.Sprintf("%d deliveries, %d authorizations", deliveries, grants), nil
			}
			return strings.Join(all, "\n"), nil
		}
		all = append(all, text)
		for _, e := range keep(s.d.effects.list) {
			switch e := e.(type) {
			case *Deliver:
				deliveries++
				io, ok := s.echo[e.To]
				if !ok || e.Message.Channel != io[0] {
					continue
				}
				all = append(all, s.step(&Send{Client: e.To, Channel: io[1], Sent: e.Message.Due, Payload: e.Message.Payload}))
			case *Authorize:
				grants++
				if c := &s.d.clients[e.To]; s.echo[e.To] != [2]string{} {
					all = append(all, s.answered(c, e.Until == s.d.end))
				}
			}
		}
		all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	}
	return "", fmt.Errorf("no end after 10000 rounds")
}

// answered lets an echo that has answered all it was given wait for more, or leave at the end.
func (s *story) answered(c *client, end bool) string {
	now := c.clock
	if given := c.window.given.All(); len(given) > 0 {
		now = Later(now, given[len(given)-1].due)
	}
	if end {
		return s.step(&Leave{Client: c.id, Now: now, Acked: c.window.Last()})
	}
	r := Report{Now: now, NextEvent: Infinity, Acked: c.window.Last()}
	return s.step(&PollWait{Client: c.id, Report: r, Want: Infinity, Messages: true})
}

// link notes a link command for Begin, which asks for the links.
func (s *story) link(c *script.Command) error {
	l := &scriptLink{fifo: c.Flag("fifo")}
	for i, what := range []string{"the sender", "the recipient", "the channel"} {
		w, err := c.Word(what)
		if err != nil {
			return err
		}
		l.ends[i] = w
	}
	liar := c.Flag("liar")
	for {
		w, err := c.Word("a delay")
		if err != nil {
			break
		}
		var copies []Time
		for d := range strings.SplitSeq(w, "/") {
			if d == "lost" {
				continue
			}
			i, err := parseInstant(d)
			if err != nil {
				return err
			}
			copies = append(copies, i.Time)
		}
		l.delays = append(l.delays, copies)
	}
	if len(l.delays) == 0 {
		return fmt.Errorf("a link needs a delay")
	}
	l.min = Forever
	for _, d := range slices.Concat(l.delays...) {
		l.min = min(l.min, d)
	}
	if liar {
		l.min = 9
	}
	least, err := s.arg(c, "min", At(l.min))
	l.min = least.Time
	s.links = append(s.links, l)
	return err
}

// Link makes a story the Delays of its Dispatcher.
func (s *story) Link(from, to, channel string) Link {
	for _, l := range slices.Backward(s.links) {
		matches := true
		for i, name := range []string{from, to, channel} {
			ok, err := path.Match(l.ends[i], name)
			matches = matches && ok && err == nil
		}
		if matches {
			l := *l // each link has a state of its own
			return &l
		}
	}
	return oneStep{}
}

// A scriptLink delays its messages as the script says.
type scriptLink struct {
	ends   [3]string // patterns: from, to, channel
	delays [][]Time  // of message 0, 1, ...: of each copy
	min    Time
	fifo   bool
	last   Instant
}

func (l *scriptLink) Min() Time                  { return l.min }
func (l *scriptLink) Earliest(x Instant) Instant { return Later(x.Add(l.min), l.last) }

func (l *scriptLink) Transit(dues []Instant, n uint64, sent Instant, _ int) []Instant {
	for _, d := range l.delays[min(n, uint64(len(l.delays)-1))] {
		due := Later(sent.Add(d), l.last)
		if l.fifo {
			l.last = due
		}
		dues = append(dues, due)
	}
	return dues
}
