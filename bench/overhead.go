package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"metasim/metasim"
	"metasim/server"
)

// busy is a lock step while two other processes keep the machine busy: what spins while it waits loses far more than its
// share.
func busy() (list []workload) {
	for _, a := range []placement{{transport: "mem"}, {transport: "unix", processes: 8}} {
		quiet := lockStepAt(8, a)
		list = append(list, workload{
			name: "busy machine", params: a.params(Params{"n": 8, "others": 2}), unit: quiet.unit, floor: quiet.id(), first: quiet.first,
			measure: func(ctx context.Context, h *harness, amount int) (s sample, err error) {
				var others processGroup
				defer func() { err = errors.Join(err, others.wait()) }()
				for range 2 {
					if err := h.start(ctx, &others, job{Kind: burnJob}); err != nil {
						return s, err
					}
				}
				return quiet.measure(ctx, h, amount)
			},
		})
	}
	return list
}

// withAndWithout returns two workloads, which differ in one feature. The one without it is the floor of the other.
func withAndWithout(row func(with bool) workload) []workload {
	without, with := row(false), row(true)
	with.floor = without.id()
	return []workload{without, with}
}

// journals is what a journal costs.
func journals() []workload {
	return switched("journal", func(s *scenario, on bool) { s.noJournal = !on }, func(c count) count { return c })
}

// memories is what the bound on memory costs where nothing comes near it.
func memories() []workload {
	return switched("memory", func(s *scenario, on bool) { s.noMemory = !on }, func(c count) count {
		return func(amount int, s scenario, r server.Result) (float64, error) {
			if far := metasim.DefaultMemory / 4; r.Held > far {
				return 0, fmt.Errorf("%d bytes were held; more than %d are no run that the bound does not concern", r.Held, far)
			}
			return c(amount, s, r)
		}
	})
}

// switched is what a feature costs in three workloads that differ in what the server has to do.
func switched(feature string, set func(s *scenario, on bool), counted func(count) count) []workload {
	rows := func(name, unit string, first int, scenarioOf func(amount int) scenario, of count) []workload {
		return withAndWithout(func(on bool) workload {
			return workload{
				name: feature, params: Params{"workload": name, feature: on}, unit: unit, first: first,
				measure: placement{transport: "mem"}.measure(func(amount int) scenario {
					s := scenarioOf(amount)
					set(&s, on)
					return s
				}, counted(of)),
			}
		})
	}
	size := pholdSize{lps: 2048, population: 1, remote: 0.25, lookahead: 0.1}
	return slices.Concat(
		rows("lock step n=8", "grants/s", 20, func(amount int) scenario { return lockScenario(8, amount) }, steps),
		rows("phold clients=2", "events/s", 1, func(amount int) scenario { return size.scenario(2, amount) }, eventsDone),
		rows("throughput", "messages/s", 20, func(amount int) scenario { return throughputScenario(amount) }, delivered),
	)
}

// traces measures what computation times cost: in one run the clients report how long they computed, in the other the server does
// not ask them. Both runs keep a journal, because a report on a run needs one. No other workload keeps one.
func traces() (list []workload) {
	for _, a := range []placement{{transport: "mem"}, {transport: "unix", processes: 1, packed: true}} {
		for _, n := range []int{8, 64} {
			list = append(list, withAndWithout(func(timed bool) workload {
				return workload{
					name: "trace", params: a.params(Params{"workload": "lock step", "n": n, "computed": timed}), unit: "grants/s", first: 20,
					measure: a.measure(func(amount int) scenario {
						s := lockScenario(n, amount)
						s.timed = timed
						return s
					}, steps),
				}
			})...)
		}
	}
	return list
}
