package metasim

// A graph has the links of the clients that have labels, in rows: the links from one client, and those to it, lie side by
// side in memory.
type graph struct {
	out, in rows
	links   []Link // those that have to be asked
}

type rows struct {
	first []int32 // where the row of each client begins; one more at the end
	ways  []way
}

// A way is a link as seen from one end.
type way struct {
	end   ClientID // the other one
	link  int32    // which to ask, or one of those below
	delay Time
}

const (
	steady   int32 = -1 // it always takes its delay: nobody need be asked
	timeless int32 = -2 // to a hub
)

func newGraph(out [][]edge) graph {
	g := graph{}
	in := make([][]way, len(out))
	for i := range out {
		g.out.first = append(g.out.first, int32(len(g.out.ways)))
		for _, e := range out[i] {
			w := e.way()
			if w.link >= 0 {
				w.link = int32(len(g.links))
				g.links = append(g.links, e.link)
			}
			g.out.ways = append(g.out.ways, w)
			w.end = ClientID(i)
			in[e.to] = append(in[e.to], w)
		}
	}
	g.out.first = append(g.out.first, int32(len(g.out.ways)))
	for i := range in {
		g.in.first = append(g.in.first, int32(len(g.in.ways)))
		g.in.ways = append(g.in.ways, in[i]...)
	}
	g.in.first = append(g.in.first, int32(len(g.in.ways)))
	return g
}

// way is an edge without its Link, where that need not be asked; else link is 0.
func (e edge) way() way {
	if e.link == nil {
		return way{end: e.to, link: timeless}
	}
	w := way{end: e.to, delay: e.link.Min()}
	if l, ok := e.link.(SteadyLink); ok && l.Steady() {
		w.link = steady
	}
	return w
}

// targets are the links from a client.
func (g *graph) targets(id ClientID) []way { return g.out.of(id) }

// sources are the links to a client.
func (g *graph) sources(id ClientID) []way { return g.in.of(id) }

func (r *rows) of(id ClientID) []way { return r.ways[r.first[id]:r.first[id+1]] }

// earliest is when the earliest message arrives that is sent at x or later.
func (g *graph) earliest(w *way, x Instant) Instant {
	if w.link == steady && w.delay > 0 && x.Time < Forever-w.delay {
		return Instant{Time: x.Time + w.delay}
	}
	return g.ask(w, x)
}

func (g *graph) ask(w *way, x Instant) Instant {
	if w.link >= 0 {
		return g.links[w.link].Earliest(x)
	}
	return w.after(x)
}

// after is earliest for a way that need not be asked.
func (w way) after(x Instant) Instant {
	if w.link == timeless {
		return x
	}
	return x.Add(w.delay)
}
