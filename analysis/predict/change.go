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
//	links[1].delay=5ms                     of all links that this rule of the scenario decides about, counted from 0
//	client(physics).speed=2                the client computes so many times as fast
//	client(physics).promise=5ms            it promises to send nothing for so long, wherever that was true; all: for ever
//	client(physics).reaction=1ms           it declares this reaction time, and does not react faster
//	client(physics).period=2ms             it ticks with this period
//	client(ear-*).process=1                clients with the same number share a process and its connection
//	cores=8                                clients, transport and dispatcher have so many cores
//	transport=mem                          all clients run in the server's process
//	transport=shm                          each client runs in a process of its own, connected over unix, shm, tcp or quic
//
// In names * stands for any characters.
type Change struct {
	text     string
	from, to string // of links; or from alone, of clients
	channel  string // of links
	rule     int    // of links: counted from 1; 0: of those above
	what     string
	time     metasim.Time
	speed    float64
	number   int // of cores, or that of a process

	transport string
}

// What a Change changes.
const (
	changeDelay    = "delay"
	changeSpeed    = "speed"
	changePromise  = "promise"
	changeReaction = "reaction"
	changePeriod   = "period"
	changeProcess  = "process"
	changeCores    = "cores"
	changePlace    = "transport"
)

// A ChangeError says what is wrong with a change, and what to write instead.
type ChangeError struct {
	Text string // the change
	Why  string
}

func (e *ChangeError) Error() string {
	return fmt.Sprintf("what if %s: %s", e.Text, e.Why)
}

const changeForms = "write link(FROM->TO).delay=5ms, client(NAME).speed=2, client(NAME).promise=5ms, client(NAME).reaction=1ms, " +
	"client(NAME).period=2ms, client(NAME).process=1, links[1].delay=5ms, transport=mem or cores=8"

var (
	linkForm   = regexp.MustCompile(`^link\((.+?)->(.+?)(?::(.+))?\)\.(\w+)=(.*)$`)
	ruleForm   = regexp.MustCompile(`^links\[(\d{1,9})\]\.(\w+)=(.*)$`)
	clientForm = regexp.MustCompile(`^client\((.+)\)\.(\w+)=(.*)$`)
)

// Parse reads a change of the run. Its errors are *ChangeError.
func (m *Model) Parse(text string) (Change, error) {
	c := Change{text: text}
	if why := c.parse(m.t); why != "" {
		return Change{}, &ChangeError{text, why}
	}
	return c, nil
}

// parse reads the text of a change. It returns what is wrong with it.
func (c *Change) parse(t *trace.Timeline) string {
	if f := linkForm.FindStringSubmatch(c.text); f != nil {
		c.from, c.to, c.channel, c.what = strings.TrimSpace(f[1]), strings.TrimSpace(f[2]), cmp.Or(f[3], "*"), f[4]
		if c.what != changeDelay {
			return fmt.Sprintf("a link has no %q that can be changed; write link(%s->%s).delay=5ms", c.what, c.from, c.to)
		}
		return cmp.Or(unknownLink(t, c), c.set(f[5]))
	}
	if f := ruleForm.FindStringSubmatch(c.text); f != nil {
		return c.parseRule(t, f[1], f[2], f[3])
	}
	if f := clientForm.FindStringSubmatch(c.text); f != nil {
		c.from, c.what = f[1], f[2]
		return cmp.Or(unknownClient(t, c.from), c.set(f[3]), aperiodic(t, c))
	}
	if place, ok := strings.CutPrefix(c.text, "transport="); ok {
		c.what = changePlace
		return c.set(place)
	}
	if n, ok := strings.CutPrefix(c.text, "cores="); ok {
		c.what = changeCores
		return c.set(n)
	}
	return "it is not a change; " + changeForms
}

// parseRule reads a change of a rule. It returns what is wrong with it.
func (c *Change) parseRule(t *trace.Timeline, index, what, value string) string {
	c.from, c.to, c.channel, c.what = "*", "*", "*", what
	if c.what != changeDelay {
		return fmt.Sprintf("a rule has no %q that can be changed; write links[%s].delay=5ms", what, index)
	}
	c.rule, _ = strconv.Atoi(index) // at most nine digits
	c.rule++
	for i := range t.Totals.Links {
		if ruleOf(t, &t.Totals.Links[i]) == c.rule {
			return c.set(value)
		}
	}
	return fmt.Sprintf("no message went over a link that links[%s] of the scenario decides about, and no client waited for one", index)
}

// rules are Delays with rules, counted from 0, as those of a scenario. Rule returns which one decides about a link; -1: none does.
type rules interface {
	Rule(from, to, channel string) int
}

// ruleOf returns which rule of the scenario decides about a link, counted from 1; 0: none does.
func ruleOf(t *trace.Timeline, l *trace.LinkTotals) int {
	if table, ok := t.Log.Config.Delays.(rules); ok {
		return 1 + table.Rule(t.Names[l.From], t.Names[l.To], t.Channels[l.Channel])
	}
	return 0
}

// set reads the value of a change. It returns what is wrong with it.
func (c *Change) set(value string) string {
	var err error
	switch c.what {
	case changeCores:
		if c.number, err = strconv.Atoi(value); err != nil || c.number < 1 {
			return fmt.Sprintf("%q is not a number of cores; write a whole number from 1 on, as in cores=8", value)
		}
	case changeProcess:
		if c.number, err = strconv.Atoi(value); err != nil || c.number < 1 {
			return fmt.Sprintf("%q is not the number of a process; write a whole number from 1 on, the same for clients that share one", value)
		}
	case changePlace:
		if c.transport = value; value != inProcess && !slices.ContainsFunc(transportCosts, func(t transportRatio) bool { return t.name == value }) {
			return fmt.Sprintf("%q cannot be predicted; write mem, unix, shm, tcp or quic", value)
		}
	case changeSpeed:
		if c.speed, err = strconv.ParseFloat(value, 64); err != nil || !(c.speed > 0 && c.speed < 1e9) {
			return fmt.Sprintf("%q is not a factor; write a positive number, as in client(%s).speed=2", value, c.from)
		}
	case changeDelay, changePromise, changeReaction, changePeriod:
		if c.what == changePromise && value == "all" {
			c.time = metasim.Forever
			return ""
		}
		if c.time, err = delay.ParseDuration(value); err != nil {
			return err.Error()
		}
		if c.what == changePeriod && c.time <= 0 {
			return fmt.Sprintf("%q is not a period; write a positive time, as in client(%s).period=2ms", value, c.from)
		}
	default:
		return fmt.Sprintf("a client has no %q that can be changed: %s", c.what,
			suggest.Word(c.what, []string{changeSpeed, changePromise, changeReaction, changePeriod, changeProcess}))
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

// aperiodic returns what is wrong with a new period of clients of which none has one.
func aperiodic(t *trace.Timeline, c *Change) string {
	if c.what != changePeriod {
		return ""
	}
	for i, name := range t.Names {
		if !delay.Match(c.from, name) {
			continue
		}
		if _, ok := tickingOf(&t.Log.Clients[i]); ok {
			return ""
		}
	}
	return fmt.Sprintf("%s has no period: of what its timers caused, less than nine tenths was a whole number of periods apart", c.from)
}

// unknownLink returns what is wrong with the names of a link.
func unknownLink(t *trace.Timeline, c *Change) string {
	if why := cmp.Or(unknownClient(t, c.from), unknownClient(t, c.to)); why != "" || anyLink(t, c) {
		return why
	}
	return fmt.Sprintf("no message can go from %s to %s: one has to publish what the other subscribes to; metasim report lists the links", c.from, c.to)
}

// anyLink reports whether the run has a link that a change is about.
func anyLink(t *trace.Timeline, c *Change) bool {
	var published []string
	for i := range t.Totals.Clients {
		if delay.Match(c.from, t.Names[i]) {
			published = append(published, t.Totals.Clients[i].Publications...)
		}
	}
	published = slices.DeleteFunc(published, func(channel string) bool { return !delay.Match(c.channel, channel) })
	for i := range t.Totals.Clients {
		for _, sub := range t.Totals.Clients[i].Subscriptions {
			matches := func(channel string) bool { return metasim.MatchSubscription(sub, channel) }
			if delay.Match(c.to, t.Names[i]) && slices.ContainsFunc(published, matches) {
				return true
			}
		}
	}
	return false
}

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

// rule returns the rule that decides about a link, counted from 1; 0: none does.
func (d *changedDelays) rule(from, to, channel string) int {
	if table, ok := d.Delays.(rules); ok {
		return 1 + table.Rule(from, to, channel)
	}
	return 0
}

func (d *changedDelays) Link(from, to, channel string) metasim.Link {
	link := d.Delays.Link(from, to, channel)
	for _, c := range slices.Backward(d.changes) {
		if c.rule > 0 && d.rule(from, to, channel) != c.rule {
			continue
		}
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
