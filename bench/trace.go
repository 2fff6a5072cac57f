package bench

import "context"

// traces is what it costs that clients say how long they computed, for reports on the run: the floor of each is the same run
// where nobody asks them. Both keep a journal, as reports need one. All other workloads are run without.
func traces() (list []workload) {
	for _, a := range []arrangement{{transport: "mem"}, {transport: "unix", processes: 1, packed: true}} {
		for _, n := range []int{8, 64} {
			row := func(timed bool) workload {
				return workload{
					name: "trace", params: a.params(Params{"workload": "lock step", "n": n, "computed": timed}), unit: "grants/s", first: 20,
					measure: func(ctx context.Context, h *harness, amount int) (sample, error) {
						c := lockCast(n, amount)
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
