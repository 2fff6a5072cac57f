package metasim

// A graph has the links of the clients that have labels: of each client those to it and those from it lie side by side
// in memory.
type graph struct {
	first    []int32 // where in ways the links to a client begin, at twice its number, and those from it, behind that
	ways     []way
	carriers []carrier
}

// A way is a link as seen from one end.
type way struct {
	end     ClientID // the other one
	carrier int32
}

// A carrier says when what is sent arrives. Links that are alike have the same one.
type carrier struct {
	delay    Time
	until    Time // what is sent before it arrives after the delay, at a first step; 0 where that is not all
	link     Link // if it has to be asked
	timeless bool // to a hub
}

// never is the carrier of a link on which nothing ever arrives.
var never = carrier{delay: Forever}

func newGraph(out [][]edge) graph {
	g := graph{}
	known := map[carrier]int32{} // of those that need not be asked; looked up, never iterated
	in := make([][]way, len(out))
	from := make([][]way, len(out))
	for i := range out {
		for _, e := range out[i] {
			c := e.carrier()
			k, met := known[carrier{delay: c.delay, until: c.until, timeless: c.timeless}]
			if c.link != nil || !met {
				k = int32(len(g.carriers))
				g.carriers = append(g.carriers, c)
			}
			if c.link == nil {
				known[c] = k
			}
			from[i] = append(from[i], way{e.to, k})
			in[e.to] = append(in[e.to], way{ClientID(i), k})
		}
	}
	for i := range out {
		g.first = append(g.first, int32(len(g.ways)))
		g.ways = append(g.ways, in[i]...)
		g.first = append(g.first, int32(len(g.ways)))
		g.ways = append(g.ways, from[i]...)
	}
	g.first = append(g.first, int32(len(g.ways)))
	return g
}

func (e edge) carrier() carrier {
	if e.link == nil {
		return carrier{timeless: true}
	}
	if l, ok := e.link.(SteadyLink); ok && l.Steady() {
		if d := l.Min(); d > 0 {
			return carrier{delay: d, until: Forever - d}
		}
		return carrier{}
	}
	return carrier{link: e.link}
}

// sources are the links to a client.
func (g *graph) sources(id ClientID) []way { return g.ways[g.first[2*id]:g.first[2*id+1]] }

// targets are the links from a client.
func (g *graph) targets(id ClientID) []way { return g.ways[g.first[2*id+1]:g.first[2*id+2]] }

// earliest is when the earliest message arrives that is sent at x or later. It is short enough to be inlined.
func (c *carrier) earliest(x Instant) Instant {
	if x.Time < c.until { // most are like that
		return Instant{Time: x.Time + c.delay}
	}
	return c.ask(x)
}

func (c *carrier) ask(x Instant) Instant {
	switch {
	case c.link != nil:
		return c.link.Earliest(x)
	case c.timeless:
		return x
	}
	return x.Add(c.delay)
}
