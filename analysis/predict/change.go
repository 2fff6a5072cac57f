package predict

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"metasim/analysis/trace"
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
//	client(physics).reaction=1ms           it declares this reaction time, and does not react faster
//	cores=8                                clients, transport and dispatcher have so many cores
//
// In names * stands for any characters.
type Change struct {
	text     string
	from, to string // of links; or from alone, of clients
	channel  string // of links
	what     string
	time     metasim.Time
	speed    float64
	cores    int
}

// What a Change changes.
const (
	changeDelay    = "delay"
	changeSpeed    = "speed"
	changePromise  = "promise"
	changeReaction = "reaction"
	changeCores    = "cores"
)

// String returns the change as --what-if writes it.
func (c Change) String() string { return c.text }

// ChangesModel reports whether messages would arrive at other times, so that the clients may do something else.
func (c Change) ChangesModel() bool { return c.what == changeDelay }

// A ChangeError says what is wrong with a change, and what to write instead.
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

// Parse reads a change of the run. Its errors are *ChangeError.
func (m *Model) Parse(text string) (Change, error) {
	c := Change{text: text}
	fail := func(format string, args ...any) (Change, error) {
		return Change{}, &ChangeError{text, fmt.Sprintf(format, args...)}
	}
	var value string
	if f := linkForm.FindStringSubmatch(text); f != nil {
		c.from, c.to, c.channel, c.what, value = strings.TrimSpace(f[1]), strings.TrimSpace(f[2]), cmp.Or(f[3], "*"), f[4], f[5]
		if c.what != changeDelay {
			return fail("a link has no %q that can be changed; write link(%s->%s).delay=5ms", c.what, c.from, c.to)
		}
		if why := unknownLink(m.t, c); why != "" {
			return fail("%s", why)
		}
	} else if f := clientForm.FindStringSubmatch(text); f != nil {
		c.from, c.what, value = f[1], f[2], f[3]
		if why := unknownClient(m.t, c.from); why != "" {
			return fail("%s", why)
		}
	} else if n, ok := strings.CutPrefix(text, "cores="); ok {
		c.what, value = changeCores, n
	} else {
		return fail("it is not a change; %s", changeForms)
	}
	if why := c.set(value); why != "" {
		return fail("%s", why)
	}
	return c, nil
}

// set reads the value of a change. It returns what is wrong with it.
func (c *Change) set(value string) string {
	var err error
	switch c.what {
	case changeCores:
		if c.cores, err = strconv.Atoi(value); err != nil || c.cores < 1 {
			return fmt.Sprintf("%q is not a number of cores; write a whole number from 1 on, as in cores=8", value)
		}
	case changeSpeed:
		if c.speed, err = strconv.ParseFloat(value, 64); err != nil || !(c.speed > 0 && c.speed < 1e9) {
			return fmt.Sprintf("%q is not a factor; write a positive number, as in client(%s).speed=2", value, c.from)
		}
	case changeDelay, changePromise, changeReaction:
		if c.what == changePromise && value == "all" {
			c.time = metasim.Forever
			return ""
		}
		if c.time, err = delay.ParseDuration(value); err != nil {
			return err.Error()
		}
	default:
		return fmt.Sprintf("a client has no %q that can be changed: %s", c.what,
			suggest.Word(c.what, []string{changeSpeed, changePromise, changeReaction}))
	}
	return ""
}

// unknownClient returns what is wrong with a pattern of clients' names.
func unknownClient(t *trace.Timeline, pattern string) string {
	if slices.ContainsFunc(t.Names, func(name string) bool { return delay.Match(pattern, name) }) {
		return ""
	}
	return fmt.Sprintf("the run has no client %q: %s", pattern, suggest.Word(pattern, t.Names))
}

// unknownLink returns what is wrong with the names of a link.
func unknownLink(t *trace.Timeline, c Change) string {
	for _, pattern := range []string{c.from, c.to} {
		if why := unknownClient(t, pattern); why != "" {
			return why
		}
	}
	if anyLink(t, c) {
		return ""
	}
	return fmt.Sprintf("no message can go from %s to %s: one has to publish what the other subscribes to; metasim report lists the links", c.from, c.to)
}

// anyLink reports whether the run has a link that a change is about.
func anyLink(t *trace.Timeline, c Change) bool {
	clients := t.Totals.Clients
	for i := range clients {
		if !delay.Match(c.from, t.Names[i]) {
			continue
		}
		for _, channel := range clients[i].Publications {
			if !delay.Match(c.channel, channel) {
				continue
			}
			for k := range clients {
				if delay.Match(c.to, t.Names[k]) && subscribes(&clients[k], channel) {
					return true
				}
			}
		}
	}
	return false
}

func subscribes(c *trace.ClientTotals, channel string) bool {
	return slices.ContainsFunc(c.Subscriptions, func(sub string) bool { return metasim.MatchSubscription(sub, channel) })
}
