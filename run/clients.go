package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"metasim/client"
	"metasim/federates"
	"metasim/internal/outward"
	"metasim/internal/plain"
	"metasim/metasim"
	"metasim/record/output"
	"metasim/run/supervisor"
	"metasim/scenarios"
	"metasim/server"
)

// start starts all clients that are not started elsewhere. It stops when the run ends.
func (c *clients) start(ctx context.Context) {
	if c.listeners.outside != nil && c.options.Ready != nil {
		token, bound := c.listeners.token, c.listeners.bound
		if bound.byName != nil || c.options.beyondHost() {
			token = "" // it is for the processes of the run, or the user knows it; what is printed may be kept in a log
		}
		if err := c.options.Ready(outward.From(c.listeners.outside.URL(), ""), token, bound.file); err != nil {
			c.server.Fail(err)
			return
		}
	}
	gone := c.gone()
	var all sync.WaitGroup
	for _, lane := range c.lanes() {
		all.Go(func() {
			for _, g := range lane {
				if gone[g[0].Name] {
					continue
				}
				if ctx.Err() != nil || c.options.far() && c.placement == nil {
					return
				}
				if err := c.begin(ctx, g); err != nil {
					c.server.Fail(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// lanes are the groups that are started one after the other: those of each host, and those of none.
func (c *clients) lanes() (all [][]group) {
	of := map[*host]int{}
	for _, g := range slices.Concat(c.cells.groups(), c.options.groups(c.scenario)) {
		h := c.placement[g[0].Name]
		i, known := of[h]
		if !known {
			i = len(all)
			of[h], all = i, append(all, nil)
		}
		all[i] = append(all[i], g)
	}
	return all
}

// begin starts a group, if it is not started elsewhere.
func (c *clients) begin(ctx context.Context, g group) error {
	switch {
	case g[0].External || c.options.Serve:
		c.setPlace(g, place{outside: true})
		return nil
	case g[0].Model == cellModel:
		return c.startOutside(ctx, g)
	case c.options.idles(g[0].Name):
		return c.lodge(ctx, &g[0], 0)
	case c.options.inside(g[0]):
		return c.startInside(ctx, g)
	}
	return c.startOutside(ctx, g)
}

// gone names the clients that had left, or were cut off, before the run was.
func (c *clients) gone() map[string]bool {
	if c.resumed == 0 {
		return nil
	}
	gone := map[string]bool{}
	for _, s := range c.server.Snapshot().Clients {
		gone[s.Name] = s.State == server.Left || s.State == server.Lost
	}
	return gone
}

// startInside starts a group of built-in models in this process.
func (c *clients) startInside(ctx context.Context, g group) error {
	c.setPlace(g, place{inside: true})
	if c.host == nil {
		conn, err := c.listeners.inside.Dial(ctx)
		if err != nil {
			return err
		}
		if c.host, err = client.Connect(ctx, client.WithConn(conn)); err != nil {
			return err
		}
	}
	c.inside.Go(func() {
		if err := c.runInside(ctx, g); err != nil {
			c.exited(g.names(), 0, err.Error())
		}
	})
	return nil
}

func (c *clients) runInside(ctx context.Context, g group) error {
	var parts []Part
	for i := range g {
		env := c.scenario.Env(&g[i])
		env.Busy = func(client string) metasim.Time { return c.busy(g[i].Scope.Client(client)) }
		m, err := federates.New(g[i].Model, g[i].With, env)
		if err != nil {
			return err
		}
		parts = append(parts, Part{g[i].Name, m})
	}
	return runParts(ctx, c.scheduler, parts, c.listeners.token, c.host)
}

// lodge starts a client of Options.Idle in this process, in this life of it.
func (c *clients) lodge(ctx context.Context, cl *scenarios.Client, life int) error {
	m, err := federates.New(cl.Model, cl.With, c.scenario.Env(cl))
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	conn, err := c.listeners.inside.Dial(ctx)
	if err != nil {
		stop()
		return err
	}
	host, err := client.Connect(ctx, client.WithConn(conn))
	if err != nil {
		stop()
		return err
	}
	l := &lodger{stop, make(chan struct{})}
	c.setPlace(group{*cl}, place{inside: true, lodger: l})
	c.inside.Go(func() {
		defer close(l.done)
		err := runParts(ctx, c.scheduler, []Part{{cl.Name, m}}, c.listeners.token, host)
		stop()
		_ = host.Close() // it has left, or has moved
		if err != nil {
			c.exited([]string{cl.Name}, life, err.Error())
		}
	})
	return nil
}

// busy returns how much processor time a client has taken so far, as it has reported.
func (c *clients) busy(name string) metasim.Time {
	for _, s := range c.server.Snapshot().Clients {
		if s.Name == name {
			return metasim.Time(s.Spent)
		}
	}
	return 0
}

// waitInside waits for the models in this process, after start.
func (c *clients) waitInside() error {
	c.inside.Wait()
	if c.host == nil {
		return nil
	}
	return c.host.Close()
}

// exited tells the server that clients have ended; it ignores those that have left.
func (c *clients) exited(names []string, life int, how string) {
	for _, name := range names {
		c.server.Exited(name, life, how)
	}
}

// startOutside starts a group as a process: a command of the scenario, or this program with built-in models.
func (c *clients) startOutside(ctx context.Context, g group) error {
	if err := c.makeLogs(ctx); err != nil {
		return err
	}
	return c.launch(ctx, g, 0)
}

// launch starts the process of a group: the first one, or in another life one that replaces it.
func (c *clients) launch(ctx context.Context, g group, life int) error {
	argv, workDir, err := c.command(g)
	if err != nil {
		return err
	}
	c.opening.Lock()
	h, err := c.hostOf(g)
	c.opening.Unlock()
	if err != nil {
		return err
	}
	h.has(slices.Concat(g.names(), c.cells.own(g[0].Name)))
	where, token := h.server, c.listeners.forStarted()
	if g[0].Model == cellModel {
		where, token = outward.From(c.cells.server, h.supervisor.Caller()), c.cells.token
	}
	env := slices.Concat(c.options.Env, g[0].Env, []string{"METASIM_SERVER=" + where, "METASIM_CLIENT=" + g[0].Name, "METASIM_TOKEN=" + token})
	p, err := startProcess(ctx, h.supervisor, g.names(), c.logName(g[0].Name, life), argv, workDir, env, c.dir.File("clients"), c.scenario.OutputLimit)
	if err != nil {
		return err
	}
	p.nests = g[0].Model == cellModel
	c.setPlace(g, place{process: p})
	c.mu.Lock()
	c.processes = append(c.processes, p)
	c.mu.Unlock()
	go func() { // until the process and its strays end, which endProcesses waits for
		<-p.Done()
		if errors.Is(p.Err(), supervisor.ErrGone) {
			c.server.Fail(p.Err())
		}
		c.goOn(p)
		<-p.Alone()
		if errors.As(p.Err(), new(*supervisor.LostHostError)) {
			c.unreachable(ctx, p, life)
			return
		}
		if g[0].Restarts > 0 {
			within(ctx.Done(), helloGrace)
		}
		c.cells.hear(g[0].Name)
		c.exited(p.clients, life, "its process ended")
	}()
	return nil
}

// unreachable tells the server again and again that the host of clients was lost, until their on_exit has said what follows. Their connection may seem to be
// there for a while, and then the server would wait for them to come back.
func (c *clients) unreachable(ctx context.Context, p *process, life int) {
	for !within(ctx.Done(), helloGrace) {
		c.exited(p.clients, life, p.Err().Error())
	}
}

// logName is the name of the files of the output of a client: that of the client, and after it whose life it is, if not the first one.
func (c *clients) logName(client string, life int) string {
	client = output.Name(client)
	if c.resumed > 0 {
		client += fmt.Sprintf("~resumed-%d", c.resumed) // no client is called so
	}
	if life > 0 {
		client += fmt.Sprintf("~%d", life)
	}
	return client
}

// goOn names what goes on after the command that has started it, while the run needs it: it may be the client.
func (c *clients) goOn(p *process) {
	if len(p.Strays()) == 0 || p.nests {
		return
	}
	for _, name := range p.clients {
		c.server.Suspect(name)
	}
	shot := c.server.Snapshot()
	if shot.Over || !slices.ContainsFunc(shot.Clients, func(s server.ClientSnapshot) bool {
		return s.State != server.Left && slices.Contains(p.clients, s.Name)
	}) {
		return
	}
	for _, s := range p.Strays() {
		c.log().Warn("the command of a client has ended, and a program that it started goes on without it; "+
			"start what is the client in the foreground, or with exec", "client", p.clients[0], "pid", strconv.Itoa(s.PID), "program", plain.Text(s.Command))
	}
}

// restart starts the process of a client again, when the one before has ended. It does not wait for that. A client that idles and has a process that lives goes on in this one.
func (c *clients) restart(ctx context.Context, name string, life int) {
	c.restarts.Go(func() {
		moves := false // into this process
		old, lodged := c.placeOf(name).process, c.placeOf(name).lodger
		if lodged != nil {
			lodged.stop()
			<-lodged.done
		}
		if old != nil {
			if moves = c.options.idles(name) && !isClosed(old.Done()); moves {
				old.Terminate()
			}
			old.end(replacedPatience)
			c.mu.Lock()
			c.processes = slices.DeleteFunc(c.processes, func(p *process) bool { return p == old })
			c.mu.Unlock()
		}
		if ctx.Err() != nil {
			return
		}
		i := slices.IndexFunc(c.scenario.Clients, func(cl scenarios.Client) bool { return cl.Name == name })
		var err error
		if moves {
			err = c.lodge(ctx, &c.scenario.Clients[i], life)
		} else {
			err = errors.Join(c.makeLogs(ctx), c.launch(ctx, group{c.scenario.Clients[i]}, life))
		}
		if err != nil {
			c.server.Fail(err)
		}
	})
}

// command returns the command of the process of a group, and its working directory.
func (c *clients) command(g group) (argv []string, workDir string, err error) {
	cl := &g[0]
	self := c.options.Self
	if c.options.far() {
		self = []string{c.options.Remote}
		if cl.Model == "" && !strings.ContainsRune(cl.Run[0], '/') {
			return cl.Run, cl.WorkDir, nil // it is looked up in the PATH there
		}
	}
	if cl.Model == "" {
		program, err := c.scenario.Command(cl)
		if err != nil {
			return nil, "", fmt.Errorf("client %q: %w", cl.Name, err)
		}
		return append([]string{program}, cl.Run[1:]...), cl.WorkDir, nil
	}
	if cl.Model == cellModel {
		return append(slices.Clone(self), "cell"), "", nil
	}
	text, err := json.Marshal(g.instances(c.scenario.Seed, c.options.AllowOutside))
	if err != nil {
		return nil, "", fmt.Errorf("client %q: its parameters cannot be written as JSON: %w", cl.Name, err)
	}
	argv = append(argv, self...)
	return append(argv, "client", "--instance", string(text)), "", nil
}

// endProcesses waits for the processes to end, and ends those that take too long, and all that they have started. Processes that
// end badly after a run that went well are only a warning.
func (c *clients) endProcesses(ok bool) {
	patience := abortPatience
	if ok {
		patience = c.options.Patience
	}
	var all sync.WaitGroup
	for _, p := range c.processes {
		all.Go(func() {
			patience := patience
			if p.nests {
				patience += abortPatience + termWait // it ends processes itself
			}
			if p.end(patience) && ok {
				c.log().Warn("a process had to be ended after its client left", "client", p.clients[0],
					"pid", strconv.Itoa(p.PID()), "waited", patience)
			}
		})
	}
	all.Wait()
	for _, p := range c.processes {
		if ok && p.Err() != nil {
			c.log().Warn("a process ended badly after its client left", "client", p.clients[0], "exit", p.exit())
		}
	}
	strays, err := c.closeHosts(ok)
	for _, s := range strays {
		if ok {
			c.log().Warn("a program went on after the process of its client had ended, and was ended with the run",
				"client", s.Client, "pid", strconv.Itoa(s.PID), "program", plain.Text(s.Command))
		}
	}
	if ok && err != nil {
		c.log().Warn("the supervisor of the programs of this run did not end well", "cause", err)
	}
}
