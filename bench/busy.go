package bench

import (
	"context"
	"errors"
)

// busy is a lock step while two other processes keep the machine busy: what spins while it waits loses far more than its
// share.
func busy() (list []workload) {
	for _, a := range []arrangement{{transport: "mem"}, {transport: "unix", processes: 8}} {
		quiet := workload{name: "lock step", params: a.params(Params{"n": 8})}
		list = append(list, workload{
			name: "busy machine", params: a.params(Params{"n": 8, "others": 2}), unit: "grants/s", floor: quiet.id(), first: 20,
			measure: func(ctx context.Context, h *harness, amount int) (s sample, err error) {
				var others children
				defer func() { err = errors.Join(err, others.wait()) }()
				for range 2 {
					if err := h.start(ctx, &others, job{Kind: burnJob}); err != nil {
						return s, err
					}
				}
				return h.grants(ctx, lockCast(8, amount), a)
			},
		})
	}
	return list
}

// journals is what a journal costs: the floor of each is the same without one.
func journals() (list []workload) {
	size := pholdSize{lps: 2048, population: 1, remote: 0.25, lookahead: 0.1}
	add := func(name string, first int, make func(amount int) cast, count func(context.Context, *harness, cast) (sample, error)) {
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
	inside := arrangement{transport: "mem"}
	add("lock step n=8", 20, func(amount int) cast { return lockCast(8, amount) },
		func(ctx context.Context, h *harness, c cast) (sample, error) { return h.grants(ctx, c, inside) })
	add("phold clients=2", 1, func(amount int) cast { return size.cast(2, amount) },
		func(ctx context.Context, h *harness, c cast) (sample, error) { return h.events(ctx, c, inside) })
	add("throughput", 20, func(amount int) cast { return throughputCast(amount, 64) },
		func(ctx context.Context, h *harness, c cast) (sample, error) {
			r, err := h.run(ctx, c, inside)
			return rate(float64(r.Totals.Delivered), r.Wall), err
		})
	units := []string{"grants/s", "grants/s", "events/s", "events/s", "messages/s", "messages/s"}
	for i := range list {
		list[i].unit = units[i]
	}
	return list
}
