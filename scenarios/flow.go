package scenarios

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"metasim/federates/catalog"
)

// effort bounds what the checks of this file may cost: names, channels and links that are looked at. Beyond it they
// stop with a warning, as a scenario may be legal and too large to look through.
const effort = 5_000_000

// A group is the clients of one entry that publish and subscribe to the same.
type group struct {
	entry   int
	first   *Client
	clients []Client
	ports   catalog.Ports
	unknown bool // a command or an external client: it says what it publishes when it joins
}

// forwards reports whether every message that reaches the group makes it publish at that instant.
func (g *group) forwards() bool { return g.ports.Forwards }

// A flow is who talks to whom, as far as models say before they run.
type flow struct {
	*checker
	s      *Scenario
	groups []group
	edges  []edge
	// complete says that all clients are models, so that what is not there will not be there.
	complete bool
	left     int // of effort
}

// An edge is a channel from one group to another, or to itself.
type edge struct {
	from, to int
	channel  string
}

// flow looks at the scenario as a whole.
func (c *checker) flow(s *Scenario) {
	f := &flow{checker: c, s: s, complete: true, left: effort}
	f.group()
	if c.problems != nil {
		return
	}
	f.connect()
	f.shown()
	f.bridged()
	f.ends()
	f.rounds()
	f.unmatched()
	if f.left < 0 {
		c.warn(nil, "is too large to look for links that match nothing and channels that nobody hears")
	} else if c.why == toReview && c.problems == nil {
		f.advise()
	}
}

// spend reports whether there is still effort for n more.
func (f *flow) spend(n int) bool {
	f.left -= n
	return f.left >= 0
}

// group asks each client what it publishes. Where the first two of an entry say the same, all of them do: only the
// index tells them apart.
func (f *flow) group() {
	at := 0
	for entry := range f.s.doc.Clients {
		clients := f.s.Clients[at : at+f.s.Clients[at].Count]
		at += len(clients)
		if clients[0].Model == "" {
			f.complete = false
			f.groups = append(f.groups, group{entry: entry, first: &clients[0], clients: clients, unknown: true})
			continue
		}
		for i := range clients {
			ports, err := catalog.Inspect(clients[i].Model, clients[i].With, f.s.Env(&clients[i]))
			if err != nil {
				f.parameters(path{"clients", strconv.Itoa(entry), "with"}, err)
				return
			}
			if !f.spend(20 * (1 + len(ports.Publications) + len(ports.Subscriptions))) { // names are made, not only read
				f.complete = false
				return
			}
			if i == 1 && reflect.DeepEqual(ports, f.groups[len(f.groups)-1].ports) {
				f.groups[len(f.groups)-1].clients = clients
				break
			}
			f.groups = append(f.groups, group{entry: entry, first: &clients[i], clients: clients[i : i+1], ports: ports})
		}
	}
}

// connect finds the edges, and warns of channels without an end.
func (f *flow) connect() {
	names, exprs, ok := f.subscriptions()
	if !ok {
		return
	}
	heard := make([]map[string]bool, len(f.groups)) // the subscriptions of each group that somebody publishes
	for i := range heard {
		heard[i] = map[string]bool{}
	}
	for i := range f.groups {
		for _, channel := range f.groups[i].ports.Publications {
			before := len(f.edges)
			for _, to := range names[channel] {
				f.edges = append(f.edges, edge{i, to, channel})
				heard[to][channel] = true
			}
			for _, s := range exprs {
				if s.expr.MatchString(channel) {
					f.edges = append(f.edges, edge{i, s.group, channel})
					heard[s.group][s.text] = true
				}
			}
			if !f.spend(1 + 10*len(exprs) + len(f.edges) - before) {
				f.complete = false
				return
			}
			if f.complete && len(f.edges) == before {
				f.warnPort("", i, channel, "nobody hears channel %q; name it in a client's subscriptions, or remove it")
			}
		}
	}
	for i := range f.groups {
		for _, s := range f.groups[i].ports.Subscriptions {
			if f.complete && !heard[i][s] {
				f.warnPort(UnusedSubscription, i, s, "nobody publishes channel %q; name it in a client that publishes, or remove it")
			}
		}
	}
}

// A subscription by regular expression.
type subscription struct {
	group int
	text  string
	expr  *regexp.Regexp
}

// subscriptions sorts what the groups hear into plain names and regular expressions, as package metasim does.
func (f *flow) subscriptions() (names map[string][]int, exprs []subscription, ok bool) {
	names = map[string][]int{}
	for i := range f.groups {
		for _, s := range f.groups[i].ports.Subscriptions {
			if regexp.QuoteMeta(s) == s {
				names[s] = append(names[s], i)
				continue
			}
			expr, err := regexp.Compile("^(?:" + s + ")$")
			if err != nil {
				f.fail(path{"clients", strconv.Itoa(f.groups[i].entry)}, "%v", err)
				return nil, nil, false
			}
			exprs = append(exprs, subscription{i, s, expr})
		}
	}
	return names, exprs, true
}

// warnPort warns at the parameter that names a channel, or at the client.
func (f *flow) warnPort(kind string, i int, channel, format string) {
	p := path{"clients", strconv.Itoa(f.groups[i].entry)}
	f.warnOf(kind, f.parameterOf(p, channel), format, channel)
}

// parameterOf finds the parameter that says a text.
func (c *checker) parameterOf(p path, text string) path {
	n, _ := c.root.find(p.to("with"), false)
	m, ok := n.value.(*mapping)
	if !ok {
		return p
	}
	for _, e := range m.entries {
		if s, ok := e.value.text(); ok && s == text {
			return p.to("with", e.key)
		}
		for i, item := range e.value.items() {
			if s, ok := item.text(); ok && s == text {
				return p.to("with", e.key, strconv.Itoa(i))
			}
		}
	}
	return p
}

// ends fails where there is no until, and something goes on for ever: a client, or a message that is passed round.
func (f *flow) ends() {
	if f.s.Until != 0 {
		return
	}
	var endless []string
	first, last := 0, -1
	for _, g := range f.groups {
		if g.unknown || g.ports.Ending != catalog.Endless || g.entry == last {
			continue
		}
		if endless == nil {
			first = g.entry
		}
		last = g.entry
		endless = append(endless, fmt.Sprintf("%s (%s)", g.first.Entry, g.first.Model))
	}
	if endless != nil {
		f.fail(path{"clients", strconv.Itoa(first)},
			"the run can never end: there is no until, and never done is %s; add until: 10s to the scenario", both(endless))
		return
	}
	if !f.complete {
		return
	}
	fed := f.fed()
	cycle := f.cycle(func(e edge) bool {
		return fed[e.from] && f.groups[e.from].forwards() && f.groups[e.to].forwards() && f.rule(e).Loss == nil
	})
	if cycle != nil {
		f.fail(path{"clients", strconv.Itoa(f.groups[cycle[0].from].entry)},
			"the run can never end: there is no until, and messages go round for ever, %s; add until: 10s to the scenario",
			f.drawing(cycle))
	}
}

// rounds warns of messages that go round while time stands still.
func (f *flow) rounds() {
	cycle := f.cycle(func(e edge) bool {
		return f.groups[e.from].forwards() && f.groups[e.to].forwards() && instant(f.rule(e))
	})
	if cycle != nil {
		f.warnOf(ZeroDelayCycle, path{"clients", strconv.Itoa(f.groups[cycle[0].from].entry)},
			"messages without delay go round, %s; after max_steps (%d) at one time the run fails: "+
				"give one of these links a delay",
			f.drawing(cycle), f.s.MaxSteps)
	}
}

// drawing writes a cycle as "a -PING-> b -PONG-> a".
func (f *flow) drawing(cycle []edge) string {
	var b strings.Builder
	for i, e := range cycle {
		if i == 8 {
			b.WriteString(" ...")
			return b.String()
		}
		if i == 0 {
			b.WriteString(f.groups[e.from].first.Name)
		}
		fmt.Fprintf(&b, " -%s-> %s", e.channel, f.groups[e.to].first.Name)
	}
	return b.String()
}
