package metasim

import (
	"iter"
	"slices"
	"strings"
)

// A publication is a channel that a client declared, with a link to each of its subscribers.
type publication struct {
	channel string
	links   []link  // in order of recipient; nil where common is set
	common  *common // what all who publish the channel have in common, where all links are alike
}

// A link is a Link with what the dispatcher counts on it.
type link struct {
	to    ClientID
	model Link
	count uint64 // messages so far: the number of the next one
}

// A common is a channel on which one Link without a state serves everybody.
type common struct {
	model Link
	to    []ClientID // its subscribers, in order
	hub   ClientID   // its node in the graph of safe times; 0 for none
}

// all yields the recipients of a publication in order, each with its link.
func (p *publication) all() iter.Seq2[ClientID, Link] {
	return func(yield func(ClientID, Link) bool) {
		if p.common != nil {
			for _, to := range p.common.to {
				if !yield(to, p.common.model) {
					return
				}
			}
		}
		for i := range p.links {
			if !yield(p.links[i].to, p.links[i].model) {
				return
			}
		}
	}
}

// publication returns the declared channel of that name, or nil.
func (c *client) publication(channel string) *publication {
	i, ok := slices.BinarySearchFunc(c.pubs, channel, func(p publication, s string) int {
		return strings.Compare(p.channel, s)
	})
	if !ok {
		return nil
	}
	return &c.pubs[i]
}

// connect makes the links: from each publication to each client that subscribes to it, the publisher included, as LCM
// delivers to oneself.
//
// Where many publish what many subscribe to, and all links are alike, the graph of safe times gets a hub instead of an
// edge for each pair: from the publishers to the hub it takes no time, from there the delay. The hub sends nothing of its
// own, so its S is the least of the publishers', and so is what the subscribers see.
func (d *Dispatcher) connect() {
	board := newBoard(d.clients)
	commons, _ := d.config.Delays.(CommonDelays)
	shared := make(map[string]*common) // looked up, never iterated
	d.out = make([][]edge, len(d.clients))
	for i := range d.clients {
		for p := range d.clients[i].pubs {
			pub := &d.clients[i].pubs[p]
			known, met := shared[pub.channel]
			if !met {
				known = &common{to: board.subscribers(pub.channel)}
				if commons != nil {
					if model, ok := commons.Common(pub.channel); ok {
						known.model = model
						d.hub(known, board.publishers[pub.channel])
					}
				}
				shared[pub.channel] = known
			}
			d.link(ClientID(i), pub, known)
		}
	}
}

// hub gives a common channel a node of its own, if that saves edges.
func (d *Dispatcher) hub(c *common, publishers int) {
	if publishers < 2 || len(c.to) < 2 {
		return
	}
	c.hub = ClientID(len(d.out))
	var edges []edge
	for _, to := range c.to {
		edges = append(edges, edge{to: to, link: c.model})
	}
	d.out = append(d.out, edges)
}

// link makes the links of one publication.
func (d *Dispatcher) link(from ClientID, pub *publication, known *common) {
	if known.model != nil {
		pub.common = known
		if known.hub != 0 {
			d.out[from] = append(d.out[from], edge{to: known.hub})
			return
		}
		for _, to := range known.to {
			d.out[from] = append(d.out[from], edge{to: to, link: known.model})
		}
		return
	}
	for _, to := range known.to {
		model := d.config.Delays.Link(d.clients[from].name, d.clients[to].name, pub.channel)
		pub.links = append(pub.links, link{to: to, model: model})
		d.out[from] = append(d.out[from], edge{to: to, link: model})
	}
}

// A board knows who subscribes to what, plain names by a look and only patterns one by one.
type board struct {
	plain      map[string][]ClientID
	patterns   []patternOf // in order of client
	publishers map[string]int
}

type patternOf struct {
	id ClientID
	pattern
}

func newBoard(clients []client) *board {
	b := &board{plain: map[string][]ClientID{}, publishers: map[string]int{}}
	for i := range clients {
		for _, s := range clients[i].subs {
			b.plain[s.name] = append(b.plain[s.name], ClientID(i))
			if s.expr != nil {
				b.patterns = append(b.patterns, patternOf{ClientID(i), s})
			}
		}
		for _, p := range clients[i].pubs {
			b.publishers[p.channel]++
		}
	}
	return b
}

// subscribers returns who subscribes to a channel, in order, each once.
func (b *board) subscribers(channel string) []ClientID {
	ids := slices.Clone(b.plain[channel])
	for _, p := range b.patterns {
		if p.match(channel) {
			ids = append(ids, p.id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// link returns the Link of a publication to a client, or nil.
func (p *publication) link(to ClientID) Link {
	if p.common != nil {
		if _, ok := slices.BinarySearch(p.common.to, to); ok {
			return p.common.model
		}
		return nil
	}
	i, ok := slices.BinarySearchFunc(p.links, to, func(l link, id ClientID) int { return int(l.to) - int(id) })
	if !ok {
		return nil
	}
	return p.links[i].model
}
