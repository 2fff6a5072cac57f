package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"metasim/client"
	"metasim/delay"
	"metasim/metasim"
	"metasim/server"
)

// lockSizes are how many clients a lock step has; mostProcesses is up to how many they are processes of their own.
var lockSizes = []int{2, 8, 64, 512}

const mostProcesses = 64

// tick is the step of clients that step, and the delay of the links between them: no client can be two steps ahead.
const tick = metasim.Millisecond

// A stepper does nothing but step, and be waited for.
type stepper struct {
	Publish, Subscribe string        // channels on which nothing is ever published
	Steps              int           //
	Burn               time.Duration // wall-clock time that a step computes
	watch              func(int)     // called with the number of steps made, from 0: all have joined; may be nil
}

func (s *stepper) declare(b *client.Builder) error {
	b.Publication(s.Publish)
	return b.Subscribe(s.Subscribe, nil)
}

func (s *stepper) run(ctx context.Context, c *client.Client) error {
	for i := range s.Steps {
		if s.watch != nil {
			s.watch(i)
		}
		if _, err := c.Step(ctx, metasim.Time(i+1)*tick); err != nil {
			return err
		}
		if s.Burn > 0 {
			burn(s.Burn)
		}
	}
	return nil
}

// lockScenario is n clients on one channel: each waits for all in every step.
func lockScenario(n, steps int) scenario {
	c := scenario{links: uniform(tick)}
	for i := range n {
		c.clients = append(c.clients, participant{fmt.Sprintf("client-%03d", i), &stepper{Publish: "TICK", Subscribe: "TICK", Steps: steps}})
	}
	return c
}

// uniform are links that all have one delay.
func uniform(d metasim.Time) []delay.Rule {
	return []delay.Rule{{Spec: delay.Spec{Delay: delay.Constant(d)}}}
}

// lockStep is n clients that all step every tick.
func lockStep() (list []workload) {
	add := func(n int, a placement) {
		p := a.params(Params{"n": n})
		floor := workload{name: "raw lock step", params: p}
		list = append(list, workload{
			name: "lock step", params: p, unit: "grants/s", floor: floor.id(), first: 20,
			measure: a.measure(func(amount int) scenario { return lockScenario(n, amount) }, steps),
		})
	}
	for _, n := range lockSizes {
		add(n, placement{transport: "mem"})
		add(n, placement{transport: "unix", processes: 1})
		add(n, placement{transport: "unix", processes: 1, packed: true})
		if n <= mostProcesses {
			add(n, placement{transport: "unix", processes: n})
		}
	}
	for _, transport := range slices.DeleteFunc(transports(), func(t string) bool { return t == "unix" }) {
		a := placement{transport: transport, processes: 8}
		list = append(list, workload{
			name: "lock step", params: a.params(Params{"n": 8}), unit: "grants/s", first: 20,
			measure: a.measure(func(amount int) scenario { return lockScenario(8, amount) }, steps),
		})
	}
	return list
}

// steps counts the steps of steppers: each is one grant that a client asked for.
func steps(_ int, s scenario, _ server.Result) (float64, error) {
	n := 0
	for _, p := range s.clients {
		n += p.simulator.(*stepper).Steps
	}
	return float64(n), nil
}
