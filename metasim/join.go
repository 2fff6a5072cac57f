package metasim

import (
	"cmp"
	"slices"

	"metasim/metasim/safetime"
)

func (d *Dispatcher) join(ev *Join) {
	c := &d.clients[ev.Client]
	if d.broke(c, c.checkJoin(d.phase)) {
		return
	}
	c.subs = ev.patterns
	for _, s := range ev.Subscriptions[len(ev.patterns):] {
		p, err := CompilePattern(s)
		if err != nil {
			d.evict(c, &Violation{Rule: BadSubscription, Channel: s})
			return
		}
		c.subs = append(c.subs, p)
	}
	for _, channel := range slices.Compact(slices.Sorted(slices.Values(ev.Publications))) {
		c.pubs = append(c.pubs, publication{channel: channel})
	}
	c.state = joined
	c.reaction = max(0, ev.Reaction)
}

// begin makes the links, and has the clients initialize. Clients that have not joined are evicted: a run with fewer clients
// would be another run.
func (d *Dispatcher) begin() {
	for i := range d.clients {
		if c := &d.clients[i]; c.state == absent || d.phase != joining {
			d.evict(c, &Violation{Rule: NotJoined})
			return
		}
	}
	d.connect()
	d.findHearing()
	d.share()
	d.phase = epsilon
	for i := range d.clients {
		if d.clients[i].state != gone {
			d.initializing++
		}
	}
}

// connect makes the links: from each publication to each client that subscribes to it, the publisher included, as LCM
// delivers to oneself.
//
// Where many publish what many subscribe to, and all links are alike, the graph of safe times gets a channel node instead of a link
// for each pair: from the publishers to the channel node it takes no time, from there the delay. The channel node sends nothing of its own,
// so its earliest send is the least of the publishers', and so is what the subscribers see.
func (d *Dispatcher) connect() {
	d.graph = safetime.NewGraph(len(d.clients))
	d.couple()
	found := newDirectory(d.clients)
	alike, _ := d.config.Delays.(CommonDelays)
	shared := make(map[string]*common) // by channel; looked up, never iterated
	for i := range d.clients {
		c := &d.clients[i]
		for p := range c.pubs {
			pub := &c.pubs[p]
			channel, met := shared[pub.channel]
			if !met {
				channel = &common{}
				channel.to, channel.groups = d.partGroups(found.subscribers(pub.channel))
				if alike != nil {
					if model, ok := alike.Common(pub.channel); ok {
						channel.model = model
						d.addChannelNode(channel, found.publishers[pub.channel])
					}
				}
				shared[pub.channel] = channel
			}
			if channel.model != nil {
				d.connectAlike(c, pub, channel)
			} else {
				d.connectEach(c, pub, channel.to)
			}
			d.connectGroups(c, pub, channel.groups)
		}
	}
}

// addChannelNode gives a channel a channel node, if that saves links.
func (d *Dispatcher) addChannelNode(channel *common, publishers int) {
	if publishers < 2 || len(channel.to) < 2 {
		return
	}
	var nodes []safetime.Node
	for _, to := range channel.to {
		nodes = append(nodes, to.node())
	}
	channel.node, channel.hasNode = d.graph.AddChannelNode(nodes, channel.model), true
}

// connectAlike makes the links of a publication on a channel whose links are alike.
func (d *Dispatcher) connectAlike(from *client, pub *publication, channel *common) {
	pub.common = channel
	if channel.hasNode {
		d.graph.Feed(from.id.node(), channel.node)
		return
	}
	for _, to := range channel.to {
		d.graph.Connect(from.id.node(), to.node(), channel.model)
	}
}

// connectEach makes the links of a publication where each has a Link of its own.
func (d *Dispatcher) connectEach(from *client, pub *publication, subscribers []ClientID) {
	for _, to := range subscribers {
		model := d.config.Delays.Link(from.name, d.clients[to].name, pub.channel)
		pub.links = append(pub.links, link{to: to, model: model})
		d.graph.Connect(from.id.node(), to.node(), model)
	}
}

// partGroups parts the clients of groups from those of none.
func (d *Dispatcher) partGroups(subscribers []ClientID) (others, grouped []ClientID) {
	if len(d.groups) == 0 {
		return subscribers, nil
	}
	for _, id := range subscribers {
		if d.clients[id].group != nil {
			grouped = append(grouped, id)
		} else {
			others = append(others, id)
		}
	}
	return others, grouped
}

// connectGroups makes the links from a publication to groups. Such a link takes one step. The gateway is told what was sent and when, and
// the delay is added by the dispatcher behind the gateway. Within a group there are no links: the clients behind the gateway hear one another there.
func (d *Dispatcher) connectGroups(from *client, pub *publication, subscribers []ClientID) {
	for _, to := range subscribers {
		if d.clients[to].group == from.group {
			continue
		}
		pub.links = append(pub.links, link{to: to, model: oneStep{}})
		d.graph.Connect(from.id.node(), to.node(), oneStep{})
	}
	slices.SortFunc(pub.links, func(a, b link) int { return cmp.Compare(a.to, b.to) })
}

// A directory finds the subscribers of a channel: plain names by a look, patterns one by one.
type directory struct {
	plain      map[string][]ClientID
	patterns   []subscriber // in order of client
	publishers map[string]int
}

type subscriber struct {
	id ClientID
	Pattern
}

func newDirectory(clients []client) *directory {
	d := &directory{plain: map[string][]ClientID{}, publishers: map[string]int{}}
	for i := range clients {
		for _, s := range clients[i].subs {
			d.plain[s.text] = append(d.plain[s.text], ClientID(i))
			if !s.IsName() {
				d.patterns = append(d.patterns, subscriber{ClientID(i), s})
			}
		}
		for _, p := range clients[i].pubs {
			d.publishers[p.channel]++
		}
	}
	return d
}

// subscribers returns the clients that subscribe to a channel, in order, each once.
func (d *directory) subscribers(channel string) []ClientID {
	ids := slices.Clone(d.plain[channel])
	for _, p := range d.patterns {
		if p.Match(channel) {
			ids = append(ids, p.id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
