package run

import (
	"cmp"
	"context"
	"log/slog"

	"metasim/monitor"
	"metasim/record/journal"
	"metasim/server"
)

func (c *clients) setPlace(g group, p place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range g {
		c.places[g[i].Name] = p
	}
}

// around returns the nested run that each client inside is in.
func (p *part) around() map[string]string {
	of := map[string]string{}
	for _, g := range p.groups {
		for _, client := range g[1:] {
			of[client] = g[0]
		}
	}
	return of
}

// hostedBy returns the place of the process that a client is in: its own, or that of its nested run.
func (c *clients) hostedBy(client string) place {
	return c.placeOf(cmp.Or(c.around[client], client))
}

func (c *clients) placeOf(name string) place {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.places[name]
}

// hostName is the host on which a client was started last, or is to be; empty: on this one, or elsewhere.
func (c *clients) hostName(client string) string {
	if p := c.hostedBy(client).process; p != nil {
		return p.Host()
	}
	if h := c.placement[cmp.Or(c.around[client], client)]; h != nil {
		return h.name
	}
	return ""
}

// placed says which clients were on which host at the end. Nil: they have no place.
func (c *clients) placed() (all []journal.Placed) {
	if c.placement == nil {
		return nil
	}
	for _, h := range c.hosts {
		if h == nil || h.name == "" {
			continue
		}
		p := journal.Placed{Host: h.name, Clients: []string{}, RoundTripS: h.supervisor.RoundTrip().Seconds()}
		for i := range c.scenario.Clients {
			if name := c.scenario.Clients[i].Name; c.hostName(name) == h.name {
				p.Clients = append(p.Clients, name)
			}
		}
		for _, g := range c.cells.groups() { // with its clients, and its gateway, which has its name
			if cell := g[0].Name; c.hostName(cell) == h.name {
				p.Clients = append(append(p.Clients, cell), c.cells.own(cell)...)
			}
		}
		all = append(all, p)
	}
	return all
}

// lossReport says how a client ended that the server has lost.
func (c *clients) lossReport(name string) server.ProcessEnd {
	p := c.placeOf(name)
	if p.process != nil {
		return p.process.lossReport()
	}
	return server.ProcessEnd{} // a client in this process has said itself why it failed
}

// whereabouts tells the monitor where a client runs.
func (c *clients) whereabouts(name string) monitor.Process {
	p := c.hostedBy(name)
	if p.process != nil {
		pid := p.process.livePID()
		if p.process.Host() != "" {
			pid = 0 // of this host it would be another process
		}
		return monitor.Process{PID: pid, Said: p.process.lastLine, Host: p.process.Host(), RoundTrip: p.process.RoundTrip(), Nested: c.around[name]}
	}
	return monitor.Process{Inside: p.inside, Outside: p.outside, Nested: c.around[name]}
}

// log returns the log of the run in which each line that names a client names its host, where that is another one.
func (c *clients) log() *slog.Logger {
	if !c.options.far() {
		return c.options.Log
	}
	return slog.New(hostHandler{c.options.Log.Handler(), func(client string) string {
		if p := c.hostedBy(client).process; p != nil {
			return p.Host()
		}
		return ""
	}})
}

// A hostHandler adds the host of the client that a line of a log names.
type hostHandler struct {
	slog.Handler
	host func(client string) string
}

func (h hostHandler) Handle(ctx context.Context, r slog.Record) error {
	host := ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "client" {
			host = h.host(a.Value.String())
		}
		return host == ""
	})
	if host != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("host", host))
	}
	return h.Handler.Handle(ctx, r)
}

func (h hostHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return hostHandler{h.Handler.WithAttrs(attrs), h.host}
}

func (h hostHandler) WithGroup(name string) slog.Handler {
	return hostHandler{h.Handler.WithGroup(name), h.host}
}
