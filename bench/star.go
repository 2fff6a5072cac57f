package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// straggler is a lock step in which one computes 100 times as long as the others: no client can be faster than that one, and
// none needs to be slower.
func straggler() []workload {
	const n, fast, slow = 8, time.Microsecond, 100 * time.Microsecond
	return []workload{{
		name: "straggler", params: Params{"n": n, "slow": slow.String(), "fast": fast.String(), "transport": "mem"}, unit: "grants/s",
		bound: n / slow.Seconds(), first: 20,
		measure: placement{transport: "mem"}.measure(func(amount int) scenario {
			s := lockScenario(n, amount)
			for i := range s.clients {
				s.clients[i].simulator.(*stepper).Burn = fast
			}
			s.clients[0].simulator.(*stepper).Burn = slow
			return s
		}, steps),
	}}
}

// starScenario is a centre and its leaves, which all step: a leaf waits for the centre, and the centre for all.
func starScenario(leaves, steps int) scenario {
	down, up := ports{Out: "DOWN", In: "UP"}, ports{Out: "UP", In: "DOWN"}
	c := scenario{links: uniform(tick), clients: []participant{{"centre", &stepper{ports: down, Tick: tick, Steps: steps}}}}
	for i := range leaves {
		c.clients = append(c.clients, participant{fmt.Sprintf("leaf-%05d", i), &stepper{ports: up, Tick: tick, Steps: steps}})
	}
	return c
}

func star() (list []workload) {
	const leaves = 1000
	for _, a := range lockPlacements(leaves) {
		list = append(list, workload{
			name: "star", params: a.params(Params{"leaves": leaves}), unit: "grants/s", first: 2,
			floor:   idOf("raw lock step", a.params(Params{"n": 512})),
			measure: a.measure(func(amount int) scenario { return starScenario(leaves, amount) }, steps),
		})
	}
	return list
}

// crowd is a star of very many: how long until all have joined, what each costs the server, how fast they step.
func crowd() (list []workload) {
	add := func(clients int, transport string, packed bool) {
		a := placement{transport: transport, processes: 1, inside: 1, packed: packed}
		p := a.params(Params{"clients": clients})
		list = append(list, workload{
			name: "crowd", params: p, unit: "grants/s", first: 10, once: true, slow: clients > 1000,
			measure: func(ctx context.Context, h *harness, amount int) (sample, error) {
				return h.crowd(ctx, clients, amount, a, p)
			},
		})
	}
	add(1000, "unix", false)
	add(10_000, "unix", false)
	add(10_000, "unix", true)
	add(2000, "quic", false)
	return list
}

// crowd lets the centre, which is in the server's process, look at the clock. The first step is not counted: what all clients
// are sent at the start is a figure of its own.
func (h *harness) crowd(ctx context.Context, clients, steps int, a placement, p Params) (sample, error) {
	var joined, stepping, over time.Duration
	var bytes int64
	before, began := memory(), time.Now()
	c := starScenario(clients-1, steps+1)
	c.clients[0].simulator.(*stepper).watch = func(step int) {
		switch step {
		case 0:
			joined = time.Since(began)
			bytes = memory() - before
		case 1:
			stepping = time.Since(began)
		case steps:
			over = time.Since(began)
		}
	}
	_, err := h.run(ctx, c, a)
	s := rate(float64(clients*(steps-1)), over-stepping)
	s.more = []Result{
		{Name: "crowd joins", Params: p, Value: joined.Seconds(), Unit: "s until all have joined"},
		{Name: "crowd starts", Params: p, Value: (stepping - joined).Seconds(), Unit: "s from there to the first step"},
		{Name: "crowd memory", Params: p, Value: float64(bytes) / 1024 / float64(clients), Unit: "KiB a client, in the server"},
	}
	return s, err
}

// memory is what this process uses after a collection: heap and stacks, in bytes. It is collected twice, as pools let go
// of what an earlier workload left in them only then.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
