package bench

import (
	"context"
	"fmt"
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

// echoSize is the length of what is echoed.
const echoSize = 106

// A stepper steps, and is waited for.
type stepper struct {
	ports
	Tick    metasim.Time
	Steps   int
	Publish int           // after this many of the steps it publishes a message, and each comes back
	Burn    time.Duration // wall-clock time that a step computes
	watch   func(int)     // called with the number of steps made, from 0: all have joined; may be nil
}

func (s *stepper) Run(ctx context.Context, c *client.Client) error {
	payload, echoes := make([]byte, echoSize), 0
	for i := range s.Steps {
		if s.watch != nil {
			s.watch(i)
		}
		messages, err := c.Step(ctx, metasim.Time(i+1)*s.Tick)
		if err != nil {
			return err
		}
		echoes += len(messages)
		if i < s.Publish {
			if err := s.out.PublishOwned(payload); err != nil {
				return err
			}
		}
		if s.Burn > 0 {
			burn(s.Burn)
		}
	}
	if echoes != s.Publish {
		return fmt.Errorf("%d echoes of %d messages", echoes, s.Publish)
	}
	return nil
}

// lockScenario is n clients on one channel: each waits for all in every step.
func lockScenario(n, steps int) scenario {
	c := scenario{links: uniform(tick)}
	for i := range n {
		s := &stepper{ports: ports{Out: "TICK", In: "TICK"}, Tick: tick, Steps: steps}
		c.clients = append(c.clients, participant{fmt.Sprintf("client-%03d", i), s})
	}
	return c
}

// uniform are links that all have one delay.
func uniform(d metasim.Time) []delay.Rule {
	return []delay.Rule{{Spec: delay.Spec{Delay: delay.Constant(d)}}}
}

// lockPlacements are all clients in one process, and in processes of their own up to a number.
func lockPlacements(n int) []placement {
	list := []placement{{transport: "mem"}, {transport: "unix", processes: 1}, {transport: "unix", processes: 1, packed: true}}
	if n <= mostProcesses {
		list = append(list, placement{transport: "unix", processes: n})
	}
	return list
}

// lockStep is n clients that all step every tick.
func lockStep() (list []workload) {
	for _, n := range lockSizes {
		for _, a := range lockPlacements(n) {
			w := lockStepAt(n, a)
			w.floor = idOf("raw lock step", w.params)
			list = append(list, w)
		}
	}
	for _, transport := range transports() {
		if transport != "unix" {
			list = append(list, lockStepAt(8, placement{transport: transport, processes: 8}))
		}
	}
	return list
}

func lockStepAt(n int, a placement) workload {
	return workload{
		name: "lock step", params: a.params(Params{"n": n}), unit: "grants/s", first: 20,
		measure: a.measure(func(amount int) scenario { return lockScenario(n, amount) }, steps),
	}
}

// steps counts the steps of steppers: each is one grant that a client asked for.
func steps(_ int, s scenario, _ server.Result) (float64, error) {
	n := 0
	for _, p := range s.clients {
		n += p.simulator.(*stepper).Steps
	}
	return float64(n), nil
}
