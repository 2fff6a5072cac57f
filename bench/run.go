package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"metasim/client"
	"metasim/delay"
	"metasim/metasim"
	"metasim/record/journal"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/transport/all"
	"metasim/wire/transport/mem"
)

// params adds a placement to what tells workloads apart.
func (a placement) params(p Params) Params {
	p["transport"] = a.transport
	if a.processes > 0 {
		p["processes"] = a.processes
	}
	if a.packed {
		p["packed"] = true
	}
	return p
}

// measure measures how many of something there are in a second of a run, where scenarioOf makes the scenario.
func (a placement) measure(scenarioOf func(amount int) scenario, of count) measure {
	return func(ctx context.Context, h *harness, amount int) (sample, error) {
		s := scenarioOf(amount)
		r, err := h.run(ctx, s, a)
		if err != nil {
			return sample{}, err
		}
		n, err := of(amount, s, r)
		return rate(n, r.Wall), err
	}
}

// at is the workload at each of some placements, where scenarioOf makes the scenario.
func (w workload) at(places []placement, scenarioOf func(amount int) scenario, of count) (list []workload) {
	for _, a := range places {
		here := w
		here.params, here.measure = a.params(maps.Clone(w.params)), a.measure(scenarioOf, of)
		list = append(list, here)
	}
	return list
}

// times counts so many for each of the amount.
func times(each int) count {
	return func(amount int, _ scenario, _ server.Result) (float64, error) { return float64(each * amount), nil }
}

// delivered counts messages.
func delivered(_ int, _ scenario, r server.Result) (float64, error) {
	return float64(r.Totals.Delivered), nil
}

// exactly counts messages, and fails where they are not as many as there should be.
func exactly(want func(amount int) int) count {
	return func(amount int, s scenario, r server.Result) (float64, error) {
		if got := r.Totals.Delivered; got != uint64(want(amount)) {
			return 0, fmt.Errorf("%d messages, it should be %d", got, want(amount))
		}
		return delivered(amount, s, r)
	}
}

// run runs a scenario and returns what came of it. The Wall of the result is from when all had joined until the last left.
func (h *harness) run(ctx context.Context, s scenario, a placement) (result server.Result, err error) {
	config, done, err := s.config()
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, done()) }()
	here := connector{packed: a.packed, scheduler: client.NewScheduler()}
	config.After = here.scheduler.Served()
	srv, err := server.New(config)
	if err != nil {
		return result, err
	}
	listeners, url, err := here.listen(a)
	if err != nil {
		return result, err
	}
	var work sync.WaitGroup
	for _, l := range listeners {
		work.Go(func() {
			if err := srv.Accept(l); err != nil {
				srv.Fail(err)
			}
		})
	}
	stop, err := profile(h.profilePath("server"))
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	var left error
	work.Go(func() {
		if left = h.runPlaced(ctx, s.clients, a, here, url); left != nil {
			srv.Fail(left)
		}
	})
	err = srv.Serve(ctx)
	work.Wait()
	return srv.Result(), errors.Join(err, left)
}

// listen opens the listeners of a server: one for clients in this process, one for the others, as far as there are such. It
// sets how clients in this process dial, and returns the URL for others.
func (d *connector) listen(a placement) (listeners []wire.Listener, url string, err error) {
	if a.transport == "mem" || a.inside > 0 {
		inside := mem.NewNet()
		listeners = append(listeners, inside)
		d.dial = inside.Dial
	}
	if a.transport == "mem" {
		return listeners, "", nil
	}
	outside, err := all.Table().Listen(a.transport, "")
	if err != nil {
		return nil, "", err
	}
	url = outside.URL()
	if a.processes == 0 {
		d.dial = dialer(url)
		if !a.packed {
			d.scheduler = nil // each reads its own connection
		}
	}
	return append(listeners, outside), url, nil
}

func dialer(url string) func(context.Context) (wire.Conn, error) {
	return func(ctx context.Context) (wire.Conn, error) { return all.Table().Dial(ctx, url) }
}

// runPlaced runs clients where they belong, and returns when all have ended.
func (h *harness) runPlaced(ctx context.Context, clients []participant, a placement, here connector, url string) (err error) {
	if a.processes == 0 {
		return here.run(ctx, clients)
	}
	var started processGroup
	defer func() { err = errors.Join(err, started.wait()) }()
	others := clients[a.inside:]
	for i := range a.processes {
		block := others[i*len(others)/a.processes : (i+1)*len(others)/a.processes]
		if err := h.start(ctx, &started, job{Kind: clientsJob, URL: url, Clients: block, Packed: a.packed}); err != nil {
			return err
		}
	}
	return here.run(ctx, clients[:a.inside])
}

// MarshalJSON writes the participant for another process.
func (p participant) MarshalJSON() ([]byte, error) {
	spec, err := json.Marshal(p.simulator)
	if err != nil {
		return nil, err
	}
	return json.Marshal(packedClient{Name: p.name, Kind: fmt.Sprintf("%T", p.simulator), Simulator: spec})
}

// runClients runs the clients of one job, in the process that was started for it.
func runClients(ctx context.Context, j job) error {
	d := connector{dial: dialer(j.URL), packed: j.Packed}
	if j.Packed {
		d.scheduler = client.NewScheduler()
	}
	return d.run(ctx, j.Clients)
}

// config returns the configuration of the server, and what is to be called after the run. A journal is written as in an ordinary
// run, and removed at the end.
func (s *scenario) config() (config server.Config, done func() error, err error) {
	table, err := delay.NewTable(1, s.links)
	if err != nil {
		return config, nil, err
	}
	config = server.Config{
		Core: metasim.Config{Delays: table, Until: s.until, MaxSteps: 1 << 20, Memory: metasim.DefaultMemory, Cascade: metasim.DefaultCascade}, Scenario: "bench", Token: token,
		StartTimeout: measureTimeout, Timed: s.timed,
	}
	if s.noMemory {
		config.Core.Memory = 0
	}
	for _, p := range s.clients {
		config.Core.Clients = append(config.Core.Clients, p.name)
	}
	if s.noJournal {
		return config, func() error { return nil }, nil
	}
	path, err := os.MkdirTemp("", "metasim-bench-")
	if err != nil {
		return config, nil, err
	}
	dir, err := journal.Create(path)
	if err != nil {
		return config, nil, err
	}
	w, err := dir.NewJournal(slices.Sorted(slices.Values(config.Core.Clients)))
	if err != nil {
		return config, nil, err
	}
	config.Observers = []server.Observer{w}
	return config, func() error { return errors.Join(w.Close(), os.RemoveAll(path)) }, nil
}
