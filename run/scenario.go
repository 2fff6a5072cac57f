package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"metasim/client"
	"metasim/delay"
	"metasim/lcm/mirror"
	"metasim/metasim"
	"metasim/monitor"
	"metasim/monitor/worlds"
	"metasim/record/journal"
	"metasim/scenarios"
	"metasim/server"
)

// A runner carries out one scenario.
type runner struct {
	scenario  *scenarios.Scenario
	options   *Options
	dir       journal.Dir
	record    *recorder
	listeners *listeners
	clients   *clients
	mirror    *mirror.Mirror // nil if the run is not shown on LCM
	server    *server.Server
	live      *liveServer  // nil if the run cannot be watched
	maps      *worlds.Page // nil if no page shows worlds
	loads     *loads
	channels  *channelCheck
	restart   *server.Restart // nil: no process is started again
	rest      *rest           // of a run that was cut off; else nil
	doors     *doors          // likewise, if clients may come back to it
	warnings  []Warning       // once serve is over
	planned   *plan           // of the places of clients on other hosts; nil: there are none, or it is not made yet
	part      *part           // of a run with several dispatchers; nil: it has one
}

// names returns the names of all clients of a runner, in order.
func (r *runner) names() []string {
	names := sortedNames(r.scenario)
	if r.part != nil {
		names = append(names, r.part.proxies...)
		slices.Sort(names)
	}
	return names
}

// id returns the number of a client.
func (r *runner) id(name string) metasim.ClientID { return number(r.names(), name) }

// number returns that of a client whose run has these clients, in order.
func number(names []string, name string) metasim.ClientID {
	i, _ := slices.BinarySearch(names, name)
	return metasim.ClientID(i)
}

// prepare opens all that a run needs.
func prepare(ctx context.Context, sc *scenarios.Scenario, o *Options, p *part) (*runner, error) {
	table, err := delay.NewTable(sc.Seed, sc.Rules)
	if err != nil {
		return nil, err
	}
	r := &runner{scenario: sc, options: o, part: p}
	if err := r.planAhead(ctx); err != nil {
		return nil, err
	}
	slow := func() { o.Log.Warn("the disk of the run directory does not answer; the run waits for it") }
	if err := onDisk(ctx, slow, r.begin); err != nil {
		return nil, err
	}
	if err := onDisk(ctx, func() {}, func() error { return r.open(ctx, table) }); err != nil {
		return nil, errors.Join(err, onDisk(ctx, slow, r.record.abandon))
	}
	return r, nil
}

// planAhead plans where clients go, so that what is wrong there is told before there is a run directory.
func (r *runner) planAhead(ctx context.Context) error {
	if !r.options.far() {
		return nil
	}
	c := &clients{scenario: r.scenario, options: r.options}
	if r.part != nil {
		c.cells = r.part.cells
	}
	slow := func() {
		r.options.Log.Warn("the disk of the run of --placement-from does not answer, or that run is long; waiting for it")
	}
	planned := make(chan plan, 1)
	err := onDisk(ctx, slow, func() error {
		p, err := c.plan(ctx)
		planned <- p
		return err
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return &PlacementError{err}
	}
	p := <-planned
	r.planned = &p
	return nil
}

// abandon undoes what prepare has done, of a run that is not carried out.
func (r *runner) abandon(ctx context.Context) error {
	_, shown := closeMirror(r.mirror, r.scenario, r.options)
	return errors.Join(shown, r.live.close(), r.listeners.close(), onDisk(ctx, func() {}, r.record.abandon))
}

// carryOut carries out the run that was opened, and ends its record.
func (r *runner) carryOut(ctx context.Context) (*Outcome, error) {
	sc, o := r.scenario, r.options
	slow := func() { o.Log.Warn("the disk of the run directory does not answer; the run waits for it") }
	out := r.serve(ctx)
	if r.maps != nil {
		r.maps.End()
	}
	r.record.complete(out)
	shown := make(chan *LCMOutcome, 1)
	err := onDisk(ctx, slow, func() error {
		lcm, err := closeMirror(r.mirror, sc, o)
		shown <- lcm
		return errors.Join(err, r.live.close(), r.listeners.close(), r.record.finish())
	})
	select {
	case out.LCM = <-shown:
	default: // the disk hangs
	}
	if err != nil && out.OK {
		out.fail(err)
	}
	r.listeners.overflows(o)
	return out, nil
}

// begin makes the run directory, and says there that a run has begun.
func (r *runner) begin() (err error) {
	if r.dir, err = makeDir(r.scenario.Name, r.options.Out); err == nil {
		r.record, err = newRecorder(r.dir, r.scenario, r.options, r.names(), r.part)
	}
	return err
}

// makeDir makes the run directory.
func makeDir(name, out string) (journal.Dir, error) {
	if out == "" {
		return journal.NextDir("runs", name)
	}
	return journal.Create(out)
}

// open opens all that the run needs. If it fails, nothing is left open.
func (r *runner) open(ctx context.Context, table *delay.Table) (err error) {
	sc, o := r.scenario, r.options
	bound, err := bind(o, sc, r.dir, r.doors)
	if err != nil {
		return err
	}
	if r.listeners, err = listen(o, slices.ContainsFunc(sc.Clients, o.inside) || len(o.Idle) > 0, o.Outside(sc) || o.far(), sc.PeerTimeout, bound, r.doors); err != nil {
		return errors.Join(err, bound.forget())
	}
	if err = r.listeners.keepDoors(o, sc, r.dir); err != nil {
		return errors.Join(err, r.listeners.close())
	}
	r.clients = &clients{scenario: sc, options: o, dir: r.dir, listeners: r.listeners, scheduler: client.NewScheduler(), places: map[string]place{},
		resumed: r.record.manifest.Resumed, planned: r.planned}
	if r.part != nil {
		r.clients.cells, r.clients.around = r.part.cells, r.part.around()
	}
	defer func() {
		if err != nil {
			_, shown := closeMirror(r.mirror, sc, o)
			err = errors.Join(err, shown, r.listeners.close())
		}
	}()
	if r.mirror, err = openMirror(ctx, sc, o); err != nil {
		return err
	}
	config := r.config(table)
	if config.Permissions, err = permissions(sc); err != nil {
		return err
	}
	if config.About, err = abouts(sc, r.dir); err != nil {
		return err
	}
	if r.server, err = server.New(config); err != nil {
		return err
	}
	r.clients.server = r.server
	if o.Live != nil {
		m := monitor.NewMonitor(r.server, r.clients.whereabouts)
		if r.maps != nil {
			m.Serve(mapPage, r.maps.Handler())
		}
		r.live, err = newLiveServer(o, m, r.dir)
	}
	return err
}

func (r *runner) config(table *delay.Table) server.Config {
	sc, o := r.scenario, r.options
	r.channels, r.loads = newChannelCheck(sc, r.names()), &loads{Table: table}
	config := server.Config{
		Core:     metasim.Config{Delays: r.loads, Until: sc.Until, MaxSteps: sc.MaxSteps, AheadOf: sc.AheadOf(), Memory: sc.Memory, Cascade: sc.Cascade},
		Scenario: sc.Name, Seed: sc.Seed, Scopes: sc.Scopes, Token: r.listeners.token, Tokens: r.listeners.tokens(o, sc, r.part), Detach: map[string]bool{}, Inside: map[string]bool{}, Driven: sc.Rate > 0,
		Timed:        !r.options.NoTrace && !r.options.NoJournal, // a report reads the times in the journal
		Live:         len(sc.RealTime()) > 0,
		Patience:     r.options.patience(sc),
		StartTimeout: sc.StartTimeout, After: r.clients.scheduler.Served(),
		ProcessEnd: r.clients.lossReport, Log: r.clients.log(),
	}
	if limit := r.options.restarts(sc); len(limit) > 0 || r.rest != nil {
		r.restart = &server.Restart{Limit: limit, Past: r.record.past}
		config.Restart = r.restart
	}
	if r.rest != nil {
		config.Resume = r.rest
		config.Observers = append(config.Observers, r.rest)
	}
	if every := sc.Checkpoints(); r.record.writer != nil && len(every) > 0 {
		config.Checkpoints = &server.Checkpoints{Every: every, Keep: r.record.keep}
	}
	config.Observers = append(config.Observers, r.channels)
	if r.maps = mapsOf(r.options, sc); r.maps != nil {
		config.Observers = append(config.Observers, r.maps)
	}
	if r.options.Strict {
		config.MayBegin = r.checkStrictly
	}
	if r.record.writer != nil {
		config.Observers = append(config.Observers, r.record.writer)
		if r.options.Durable {
			config.Durable = r.record.writer
		}
	}
	if r.mirror != nil {
		config.Observers = append(config.Observers, r.mirror)
	}
	config.Core.Clients = r.names()
	if p := r.part; p != nil {
		config.Core.Groups, config.Core.Outside, config.Settled = p.groups, p.outside, p.settled
		config.Scopes = p.scopes
		config.Gateway = p.watch
	}
	for i := range sc.Clients {
		cl := &sc.Clients[i]
		if cl.Detach {
			config.Detach[cl.Name] = true
		}
		config.Inside[cl.Name] = r.options.inside(*cl)
	}
	return config
}

// serve serves the scenario, and waits until all goroutines and processes of the run have ended.
func (r *runner) serve(ctx context.Context) *Outcome {
	stopped := ctx
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(stopped))
	defer cancel(nil)
	// The server hears first that the run is stopped: a client that hears it says that it fails, which is not why.
	defer context.AfterFunc(stopped, func() {
		r.server.Fail(context.Cause(stopped))
		cancel(context.Cause(stopped))
	})()
	var work sync.WaitGroup
	r.prepareHosts(ctx, stopped, &work)
	if r.restart != nil {
		r.restart.Start = func(client string, life int) { r.clients.restart(ctx, client, life) }
	}
	r.live.start(ctx, &work)
	if r.listeners.inside != nil {
		work.Go(func() { r.acceptFailed(r.server.Accept(r.listeners.inside)) })
	}
	if r.listeners.outside != nil {
		work.Go(func() { r.acceptFailed(r.server.Accept(r.listeners.outside)) })
		work.Go(func() {
			select {
			case <-r.server.Joined():
				if !r.listeners.outside.Private && r.restart == nil && !r.server.Relayed() { // visitors find nothing; who can reach a private socket is told that it is too late
					_ = r.listeners.outside.Close() // it may be closed already
				}
			case <-ctx.Done():
			}
		})
	}
	if r.scenario.Rate > 0 && (r.part == nil || r.part.outside == nil) { // the outer run lets a nested one go on
		work.Go(func() { _ = server.Pace(ctx, r.server, r.scenario.Rate) }) // the error of Serve is the same
	}
	work.Go(func() { r.clients.start(ctx) })
	work.Go(func() { r.clients.endHung(ctx) })
	work.Go(func() { r.clients.relocate(ctx) })
	if !r.options.Strict {
		work.Go(func() { r.checkChannels(ctx) })
	}
	if r.options.Watch != nil {
		r.options.Watch(r.server)
	}
	err := r.server.Serve(stopped)
	cancel(nil)
	work.Wait()
	r.clients.restarts.Wait()
	_ = r.clients.waitInside() // the run is over: how its connection closes is of no interest
	r.clients.endProcesses(err == nil)
	out := newOutcome(r.scenario.Name, r.scenario.Seed, r.dir.Path(), r.server.Result())
	end := metasim.Time(out.EndNS)
	if out.OK && r.scenario.Until > 0 {
		end = r.scenario.Until
	}
	out.Hosts, out.placed = r.clients.outcomes(), r.clients.placed()
	out.nameLostHosts()
	if lost := r.clients.cells.lost(out.Err); lost != nil {
		out.fail(lost)
	}
	out.nameHosts(r.clients.hostName)
	r.clients.nameJob(out, stopped.Err() != nil)
	asItWas := r.rest != nil && !r.rest.goneOn // no client said anything new after it was resumed: a program was not there, for example, or is another one
	out.Resumable = !out.OK && r.part == nil && r.record.writer != nil && len(r.scenario.RealTime()) == 0 &&
		(stopped.Err() != nil || out.hasLostHosts() || r.clients.taken || asItWas)
	out.Live, out.Warnings = r.scenario.RealTime(), slices.Concat(r.warnings, out.disk(), r.loads.saturated(end))
	return out
}

// prepareHosts waits for the hosts of the run, however long a cluster takes: start_timeout begins after it. Until the server serves it does not hear that the run is
// stopped, so that ends the wait at once.
func (r *runner) prepareHosts(ctx, stopped context.Context, work *sync.WaitGroup) {
	notReady := r.clients.prepare(stopped)
	if notReady != nil && stopped.Err() == nil {
		work.Go(func() { r.server.Fail(notReady) })
	} else if notReady == nil && r.options.far() {
		r.clients.watchHosts(ctx)
		r.notePlaces(stopped)
	}
}

// notePlaces writes down which clients are on which host, for who asks while the run goes on, or after metasim was killed.
func (r *runner) notePlaces(ctx context.Context) {
	r.record.manifest.Placed = r.clients.placed()
	if err := onDisk(ctx, func() {}, func() error { return r.dir.WriteManifest(&r.record.manifest) }); err != nil {
		r.options.Log.Warn("it is not written down which client is on which host", "cause", err)
	}
}

// inVain says what was declared in vain. What clients of several runs have declared, which hear one another, is compared in the outer one.
func (r *runner) inVain() []Warning {
	declared := r.channels.declared
	switch p := r.part; {
	case p != nil && p.declared == nil:
		return nil
	case p != nil:
		declared = p.declared()
	}
	return warnings(declared, r.mirror != nil)
}

// checkStrictly returns an error if clients have declared anything in vain. The server has its turn: nobody who watches the run is told now.
func (r *runner) checkStrictly() error {
	if r.warnings = r.inVain(); len(r.warnings) > 0 {
		return strictError(r.warnings)
	}
	return nil
}

// checkChannels says what clients declared in vain. It returns at once if the run ends before all have joined.
func (r *runner) checkChannels(ctx context.Context) {
	select {
	case <-r.channels.begun:
	case <-ctx.Done():
		select {
		case <-r.channels.begun: // a short run
		default:
			return
		}
	}
	if r.warnings = r.inVain(); r.live != nil && len(r.warnings) > 0 {
		r.live.monitor.Warn(shortened(texts(r.warnings), "warnings in --json"))
	}
	g := r.scenario.Flow
	if known := g != nil && g.Complete && !g.TooLarge(); known || r.options.Warn == nil {
		return // what is known when a scenario is loaded is said then, with its place
	}
	for _, text := range shortened(texts(r.warnings), "warnings in --json") {
		r.options.Warn(text)
	}
}

func (r *runner) acceptFailed(err error) {
	if err != nil {
		r.server.Fail(fmt.Errorf("no more clients can come in: %w", err))
	}
}
