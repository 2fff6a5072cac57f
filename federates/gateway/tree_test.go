package gateway

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"metasim/metasim"
)

// A tree is a network as several runs, one nested in another, with gateways between.
type tree struct {
	*network
	r      *rand.Rand
	cells  []*cell // the outermost run, then those that are nested in one before them
	err    error
	spoilt func(metasim.Event) // spoils what a gateway says inside; nil: nothing
	said   int                 // events from gateways to the dispatchers around
}

// A cell is one of the runs.
type cell struct {
	*stage
	path  string // "" for the outermost one
	outer *cell
	group []string // the clients that its gateway has in the outer run
	gate  *Gateway
	up    []metasim.Event  // from the gateway to the outer dispatcher
	down  []metasim.Effect // the other way
}

// has reports whether a client belongs to a cell, or to one that is nested in it.
func (c *cell) has(s *spec) bool {
	return c.path == "" || s.cell == c.path || strings.HasPrefix(s.cell, c.path+"/")
}

// proxies returns the clients of a cell and of those nested in it, or all others.
func (p *tree) proxies(c *cell, inside bool) (proxies []Proxy) {
	for i := range p.specs {
		if s := &p.specs[i]; c.has(s) == inside && len(s.pubs) > 0 {
			proxies = append(proxies, Proxy{Name: s.name, Channels: s.pubs})
		}
	}
	return proxies
}

// take carries out what the gateway of a cell returned.
func (p *tree) take(c *cell, e Events) {
	c.up = append(c.up, e.Outer...)
	for _, ev := range e.Inner {
		if p.spoilt != nil {
			p.spoilt(ev)
		}
		if p.err == nil && !c.finished {
			p.err = c.step(ev)
		}
	}
}

func newTree(n *network, order uint64) (*tree, error) {
	p := &tree{network: n, r: rand.New(rand.NewPCG(n.seed, order))}
	for _, path := range n.paths {
		c := &cell{path: path}
		for _, outer := range p.cells { // the last one that it lies in
			if outer.path == "" || strings.HasPrefix(path, outer.path+"/") {
				c.outer = outer
			}
		}
		p.cells = append(p.cells, c)
	}
	for _, c := range slices.Backward(p.cells) { // what is nested begins first
		if err := p.build(c, order); err != nil {
			return nil, err
		}
	}
	for _, c := range slices.Backward(p.cells[1:]) {
		if err := p.join(c, order); err != nil {
			return nil, err
		}
		p.connect(c)
	}
	return p, p.cells[0].step(&metasim.Begin{})
}

// build makes the dispatcher of a cell.
func (p *tree) build(c *cell, order uint64) (err error) {
	memory := p.memory
	if memory == 0 {
		memory = []int{0, 1, 1000, metasim.DefaultMemory}[(order+p.seed+uint64(len(c.path)))%4] // no client may notice
	}
	config := metasim.Config{Delays: p.links, Until: p.until, Memory: memory}
	for _, s := range p.specs {
		if s.cell == c.path {
			config.Clients = append(config.Clients, s.name)
		}
	}
	for _, o := range p.proxies(c, false) {
		config.Clients = append(config.Clients, o.Name)
		config.Outside = append(config.Outside, o.Name)
	}
	for _, nested := range p.cells {
		if nested.outer == c {
			config.Clients = append(config.Clients, nested.group...)
			config.Groups = append(config.Groups, nested.group)
		}
	}
	c.group = []string{c.path}
	for _, i := range p.proxies(c, true) {
		c.group = append(c.group, i.Name)
	}
	c.stage, err = newStage(p.r, p.network, config, func(s *spec) bool { return s.cell == c.path })
	return err
}

// join has the outside clients of a nested run join it, begins it, and has its group join the run around.
func (p *tree) join(c *cell, order uint64) error {
	number := func(of *stage, name string) metasim.ClientID {
		i, _ := slices.BinarySearch(of.d.Names(), name)
		return metasim.ClientID(i)
	}
	inside, outside := p.proxies(c, true), p.proxies(c, false)
	for _, o := range outside {
		if err := c.step(&metasim.Join{Client: number(c.stage, o.Name), Publications: o.Channels}); err != nil {
			return err
		}
	}
	if err := c.step(&metasim.Begin{}); err != nil {
		return err
	}
	reactions := c.d.OutsideReaction()
	if err := c.outer.step(&metasim.Join{Client: number(c.outer.stage, c.path), Subscriptions: []string{".*"}}); err != nil {
		return err
	}
	for k, i := range inside {
		join := &metasim.Join{Client: number(c.outer.stage, i.Name), Publications: i.Channels}
		if order%2 == 1 {
			inside[k].Reaction = reactions[number(c.stage, i.Name)]
			join.Reaction = inside[k].Reaction
		}
		if err := c.outer.step(join); err != nil {
			return err
		}
	}
	var err error
	c.gate, err = New(Config{
		Name: c.path, Inside: inside, Outside: outside, Inner: c.d.Names(), Outer: c.outer.d.Names(), End: c.d.End(),
	})
	return err
}

// connect lets the gateway of a cell hear both dispatchers.
func (p *tree) connect(c *cell) {
	before := c.outer.foreign
	c.outer.foreign = func(to metasim.ClientID, e metasim.Effect) {
		if slices.Contains(c.group, c.outer.d.Names()[to]) {
			c.down = append(c.down, e)
		} else if before != nil {
			before(to, e)
		}
	}
	c.stepped = func(ev metasim.Event) {
		p.take(c, c.gate.InnerStepped(ev))
		if c.finished {
			p.take(c, c.gate.InnerFinished())
		}
	}
	c.settled = func() { p.take(c, c.gate.InnerSettled(c.d)) }
	p.take(c, c.gate.InnerBegan())
}

func (p *tree) finished() bool {
	return !slices.ContainsFunc(p.cells, func(c *cell) bool { return !c.finished })
}

// moved grows with all that dispatchers and gateways say.
func (p *tree) moved() (n int) {
	for _, c := range p.cells {
		n += c.authorized + len(c.up)
	}
	return n
}

// can returns what may happen next. What a gateway says waits until the run around has begun.
func (p *tree) can() (can []func() error) {
	for _, c := range p.cells {
		can = append(can, c.can()...)
		if len(c.up) > 0 {
			can = append(can, func() error {
				ev := c.up[0]
				c.up = c.up[1:]
				p.said++
				return c.outer.step(ev)
			})
		}
		if len(c.down) > 0 {
			can = append(can, func() error {
				e := c.down[0]
				c.down = c.down[1:]
				p.take(c, c.gate.OuterSaid(e))
				return nil
			})
		}
	}
	return can
}

func (p *tree) settle() error {
	for _, c := range slices.Backward(p.cells) {
		if err := c.settle(); err != nil {
			return fmt.Errorf("in %q: %w", c.path, err)
		}
	}
	return nil
}

func (p *tree) run() error {
	for range 200_000 {
		if p.err != nil {
			return p.err
		}
		if p.finished() {
			return nil
		}
		can := p.can()
		if len(can) > 0 && p.r.IntN(4) > 0 {
			if err := can[p.r.IntN(len(can))](); err != nil {
				return err
			}
			continue
		}
		before := p.moved()
		if err := p.settle(); err != nil {
			return err
		}
		if len(can) == 0 && before == p.moved() && !p.finished() {
			return fmt.Errorf("nothing can happen any more: %s", p.status())
		}
	}
	return fmt.Errorf("no end: %s", p.status())
}

func (p *tree) status() (text string) {
	for _, c := range p.cells {
		text += fmt.Sprintf("\n%q%s", c.path, c.stage.status())
	}
	return text
}

func (p *tree) transcripts() map[string][]string {
	var stages []*stage
	for _, c := range p.cells {
		stages = append(stages, c.stage)
	}
	return transcripts(stages...)
}
