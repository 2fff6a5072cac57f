package bench

import (
	"context"
	"errors"
)

// busy is a lock step while two other processes keep the machine busy: what spins while it waits loses far more than its
// share.
func busy() (list []workload) {
	for _, a := range []placement{{transport: "mem"}, {transport: "unix", processes: 8}} {
		quiet := workload{name: "lock step", params: a.params(Params{"n": 8})}
		list = append(list, workload{
			name: "busy machine", params: a.params(Params{"n": 8, "others": 2}), unit: "grants/s", floor: quiet.id(), first: 20,
			measure: func(ctx context.Context, h *harness, amount int) (s sample, err error) {
				var others processGroup
				defer func() { err = errors.Join(err, others.wait()) }()
				for range 2 {
					if err := h.start(ctx, &others, job{Kind: burnJob}); err != nil {
						return s, err
					}
				}
				return h.grants(ctx, lockScenario(8, amount), a)
			},
		})
	}
	return list
}

// journals is what a journal costs: the floor of each is the same without one.
func journals() (list []workload) {
	size := pholdSize{lps: 2048, population: 1, remote: 0.25, lookahead: 0.1}
	add := func(name string, first int, make func(amount int) scenario, count func(context.Context, *harness, scenario) (sample, error)) {
		without := workload{
			name: "journal", params: Params{"workload": name, "journal": false}, first: first,
			measure: func(ctx context.Context, h *harness, amount int) (sample, error) {
				c := make(amount)
				c.noJournal = true
				return count(ctx, h, c)
			},
		}
		with := workload{
			name: "journal", params: Params{"workload": name, "journal": true}, first: first, floor: without.id(),
			measure: func(ctx context.Context, h *harness, amount int) (sample, error) {
				return count(ctx, h, make(amount))
			},
		}
		list = append(list, without, with)
	}
	inside := placement{transport: "mem"}
	add("lock step n=8", 20, func(amount int) scenario { return lockScenario(8, amount) },
		func(ctx context.Context, h *harness, c scenario) (sample, error) { return h.grants(ctx, c, inside) })
	add("phold clients=2", 1, func(amount int) scenario { return size.scenario(2, amount) },
		func(ctx context.Context, h *harness, c scenario) (sample, error) { return h.events(ctx, c, inside) })
	add("throughput", 20, func(amount int) scenario { return throughputScenario(amount, 64) },
		func(ctx context.Context, h *harness, c scenario) (sample, error) {
			r, err := h.run(ctx, c, inside)
			return rate(float64(r.Totals.Delivered), r.Wall), err
		})
	units := []string{"grants/s", "grants/s", "events/s", "events/s", "messages/s", "messages/s"}
	for i := range list {
		list[i].unit = units[i]
	}
	return list
}

// traces is what it costs that clients say how long they computed, for reports on the run: the floor of each is the same run
// where the server does not ask them. Both keep a journal, as reports need one. All other workloads are run without.
func traces() (list []workload) {
	for _, a := range []placement{{transport: "mem"}, {transport: "unix", processes: 1, packed: true}} {
		for _, n := range []int{8, 64} {
			row := func(timed bool) workload {
				return workload{
					name: "trace", params: a.params(Params{"workload": "lock step", "n": n, "computed": timed}), unit: "grants/s", first: 20,
					measure: func(ctx context.Context, h *harness, amount int) (sample, error) {
						c := lockScenario(n, amount)
						c.timed = timed
						return h.grants(ctx, c, a)
					},
				}
			}
			without, with := row(false), row(true)
			with.floor = without.id()
			list = append(list, without, with)
		}
	}
	return list
}
