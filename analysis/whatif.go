package analysis

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"metasim/delay"
	"metasim/internal/suggest"
	"metasim/metasim"
)

// A Change is one thing that could be different in a run, as --what-if writes it:
//
//	link(camera->planner).delay=5ms        the least delay of the links; what a message takes beyond it stays
//	link(camera->planner:IMAGE).delay=5ms  of one channel only
//	client(physics).speed=2                the client computes so many times as fast
//	client(physics).promise=5ms            it promises to send nothing for so long, wherever that was true; all: for ever
//	client(physics).reaction=1ms           it declares its reaction time, and keeps it
//	cores=8                                clients, transport and dispatcher have so many cores
//
// In names * stands for any characters.
type Change struct {
	text     string
	from, to string // of links; or from alone, of clients
	channel  string // of links; empty: any
	what     string
	time     metasim.Time
	speed    float64
	cores    int
}

// String is how the change is written.
func (c Change) String() string { return c.text }

// ChangesModel reports whether messages would arrive at other times, so that the model may do something else.
func (c Change) ChangesModel() bool { return c.what == "delay" }

// A ChangeError says what is wrong with a change, and what to write.
type ChangeError struct {
	Text string // the change
	Why  string
}

func (e *ChangeError) Error() string {
	return fmt.Sprintf("what if %s: %s", e.Text, e.Why)
}

const changeForms = "write link(FROM->TO).delay=5ms, client(NAME).speed=2, client(NAME).promise=5ms, client(NAME).reaction=1ms or cores=8"

var (
	linkForm   = regexp.MustCompile(`^link\((.+?)->(.+?)(?::(.+))?\)\.(\w+)=(.*)$`)
	clientForm = regexp.MustCompile(`^client\((.+)\)\.(\w+)=(.*)$`)
)

// ParseChange reads a change. Its errors are *ChangeError.
func (t *Timeline) ParseChange(text string) (Change, error) {
	c := Change{text: text}
	fail := func(format string, args ...any) (Change, error) {
		return Change{}, &ChangeError{text, fmt.Sprintf(format, args...)}
	}
	var value string
	if m := linkForm.FindStringSubmatch(text); m != nil {
		c.from, c.to, c.channel, c.what, value = strings.TrimSpace(m[1]), strings.TrimSpace(m[2]), m[3], m[4], m[5]
		if c.what != "delay" {
			return fail("a link has no %q that can be changed; write link(%s->%s).delay=5ms", c.what, c.from, c.to)
		}
		if why := t.knows(c); why != "" {
			return fail("%s", why)
		}
	} else if m := clientForm.FindStringSubmatch(text); m != nil {
		c.from, c.what, value = m[1], m[2], m[3]
		if why := t.knowsClient(c.from); why != "" {
			return fail("%s", why)
		}
	} else if n, ok := strings.CutPrefix(text, "cores="); ok {
		c.what, value = "cores", n
	} else {
		return fail("it is none; %s", changeForms)
	}
	if why := c.set(value); why != "" {
		return fail("%s", why)
	}
	return c, nil
}

// set reads the value of a change, and says what is wrong with it.
func (c *Change) set(value string) string {
	var err error
	switch c.what {
	case "cores":
		if c.cores, err = strconv.Atoi(value); err != nil || c.cores < 1 {
			return fmt.Sprintf("%q is not a number of cores; write a whole number from 1 on, as in cores=8", value)
		}
	case "speed":
		if c.speed, err = strconv.ParseFloat(value, 64); err != nil || !(c.speed > 0 && c.speed < 1e9) {
			return fmt.Sprintf("%q is not a factor; write a positive number, as in client(%s).speed=2", value, c.from)
		}
	case "delay", "promise", "reaction":
		if c.what == "promise" && value == "all" {
			c.time = metasim.Forever
			return ""
		}
		if c.time, err = delay.ParseDuration(value); err != nil {
			return err.Error()
		}
	default:
		return fmt.Sprintf("a client has no %q that can be changed: %s", c.what, suggest.Word(c.what, []string{"speed", "promise", "reaction"}))
	}
	return ""
}

func (t *Timeline) knowsClient(pattern string) string {
	for _, name := range t.Names {
		if delay.Match(pattern, name) {
			return ""
		}
	}
	return fmt.Sprintf("the run has no client %q: %s", pattern, suggest.Word(pattern, t.Names))
}

// knows says what is wrong with the names of a link.
func (t *Timeline) knows(c Change) string {
	for _, pattern := range []string{c.from, c.to} {
		if why := t.knowsClient(pattern); why != "" {
			return why
		}
	}
	if t.anyLink(c) {
		return ""
	}
	return fmt.Sprintf("no message can go from %s to %s there: one has to publish what the other subscribes to; metasim report lists the links", c.from, c.to)
}

// anyLink reports whether there is a link that a change is about.
func (t *Timeline) anyLink(c Change) bool {
	for i := range t.stats.clients {
		if !delay.Match(c.from, t.Names[i]) {
			continue
		}
		for _, channel := range t.stats.clients[i].publications {
			if c.channel != "" && !delay.Match(c.channel, channel) {
				continue
			}
			for k := range t.stats.clients {
				if delay.Match(c.to, t.Names[k]) && t.stats.clients[k].hears(channel) {
					return true
				}
			}
		}
	}
	return false
}

func (c *clientStats) hears(channel string) bool {
	for _, sub := range c.subscriptions {
		if metasim.MatchSubscription(sub, channel) {
			return true
		}
	}
	return false
}

// circumstances are all changes of one run together.
type circumstances struct {
	changes []Change
	cores   int // 0: as many as there were
}

func newCircumstances(changes []Change) *circumstances {
	c := &circumstances{changes: changes}
	for _, change := range changes {
		if change.what == "cores" {
			c.cores = change.cores
		}
	}
	return c
}

// change makes a ghost what it is to be. The last change of a kind decides.
func (c *circumstances) change(name string, g *ghost) {
	for _, change := range c.changes {
		if change.what == "delay" || change.what == "cores" || !delay.Match(change.from, name) {
			continue
		}
		switch change.what {
		case "speed":
			g.speed = change.speed
		case "promise":
			g.keep(change.time)
		case "reaction":
			g.react = change.time
		}
	}
}

// delays are those of the run, with the changes.
func (c *circumstances) delays(before metasim.Delays) metasim.Delays {
	var links []Change
	for _, change := range c.changes {
		if change.what == "delay" {
			links = append(links, change)
		}
	}
	if len(links) == 0 {
		return before
	}
	if before == nil {
		before = oneStep{}
	}
	return &changedDelays{before, links}
}

// oneStep are the delays of a run where nobody says otherwise.
type oneStep struct{}

func (oneStep) Link(string, string, string) metasim.Link { return oneStep{} }
func (oneStep) Min() metasim.Time                        { return 0 }
func (oneStep) Earliest(x metasim.Instant) metasim.Instant {
	return x.Add(0)
}
func (oneStep) Transit(dues []metasim.Instant, _ uint64, sent metasim.Instant, _ int) []metasim.Instant {
	return append(dues, sent.Add(0))
}

// changedDelays are Delays of which some links are longer, or shorter.
type changedDelays struct {
	metasim.Delays
	changes []Change
}

// Common is as before on channels that no change is about.
func (d *changedDelays) Common(channel string) (metasim.Link, bool) {
	commons, ok := d.Delays.(metasim.CommonDelays)
	if !ok {
		return nil, false
	}
	for _, c := range d.changes {
		if c.channel == "" || delay.Match(c.channel, channel) {
			return nil, false
		}
	}
	return commons.Common(channel)
}

func (d *changedDelays) Link(from, to, channel string) metasim.Link {
	link := d.Delays.Link(from, to, channel)
	for i := len(d.changes) - 1; i >= 0; i-- {
		c := &d.changes[i]
		if delay.Match(c.from, from) && delay.Match(c.to, to) && (c.channel == "" || delay.Match(c.channel, channel)) {
			return &changedLink{link, link.Min(), c.time}
		}
	}
	return link
}

// A changedLink is a link with another least delay: whatever a message takes beyond that stays as it is.
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
