package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"

	"metasim/client"
	"metasim/metasim"
	"metasim/server"
)

// window is how many bursts a source may be ahead of its sink, and burst how many messages each has.
const window, burst = 16, 256

// A source publishes bursts, one each tick. Its sink could answer, window ticks later, so it cannot run away from it.
type source struct {
	ports
	Bursts int
}

func (s *source) Run(ctx context.Context, c *client.Client) error {
	payload := make([]byte, 64)
	before := mallocs()
	for i := range s.Bursts {
		if _, err := c.Step(ctx, metasim.Time(i+1)*tick); err != nil {
			return err
		}
		for range burst {
			if err := s.out.PublishOwned(payload); err != nil {
				return err
			}
		}
	}
	return c.SetResult(map[string]int{"mallocs": int(mallocs() - before)})
}

// A sink takes all that comes.
type sink struct {
	ports
	Messages int
}

func (s *sink) Run(ctx context.Context, c *client.Client) error {
	before := mallocs()
	for got := 0; got < s.Messages; {
		messages, err := c.Next(ctx, metasim.Forever)
		if errors.Is(err, client.ErrEnd) {
			return fmt.Errorf("%d messages arrived, it should be %d", got, s.Messages)
		}
		if err != nil {
			return err
		}
		got += len(messages)
	}
	return c.SetResult(map[string]int{"mallocs": int(mallocs() - before)})
}

// mallocs counts what this process has allocated so far.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

func throughputScenario(bursts int) scenario {
	return scenario{links: uniform(window * tick), clients: []participant{
		{"source", &source{ports: ports{Out: "DATA", In: "ANSWER"}, Bursts: bursts}},
		{"sink", &sink{ports: ports{Out: "ANSWER", In: "DATA"}, Messages: bursts * burst}},
	}}
}

// throughput is how many small messages pass the dispatcher, and what is allocated on their way.
func throughput() (list []workload) {
	for _, a := range []placement{{transport: "mem"}, {transport: "unix", processes: 2}, {transport: "tcp", processes: 2}} {
		p := a.params(Params{"size": 64})
		list = append(list, workload{
			name: "throughput", params: p, unit: "messages/s", floor: "raw codec code=generated size=64", first: 20, most: 20_000,
			measure: func(ctx context.Context, h *harness, amount int) (sample, error) {
				before := mallocs()
				r, err := h.run(ctx, throughputScenario(amount), a)
				if err != nil {
					return sample{}, err
				}
				s := rate(float64(r.Totals.Delivered), r.Wall)
				if a.processes == 2 {
					s.more, err = allocations(r, mallocs()-before, p)
				}
				return s, err
			},
		})
	}
	return append(list, workload{
		name: "allocations", params: Params{"where": "dispatcher"}, unit: "per message", cost: true, once: true, first: 100_000,
		measure: func(_ context.Context, _ *harness, amount int) (sample, error) { return dispatcherAllocations(amount) },
	})
}

// allocations splits what was allocated by process.
func allocations(r server.Result, inServer uint64, p Params) ([]Result, error) {
	n := float64(r.Totals.Delivered)
	line := func(where string, count float64) Result {
		return Result{Name: "allocations", Params: Params{"where": where, "transport": p["transport"]}, Value: count / n, Unit: "per message"}
	}
	list := []Result{line("server", float64(inServer))}
	for _, c := range r.Clients {
		var result struct{ Mallocs float64 }
		if err := json.Unmarshal(c.Result, &result); err != nil {
			return nil, err
		}
		list = append(list, line(c.Name, result.Mallocs))
	}
	return list, nil
}

// dispatcherAllocations sends messages from one client to another, a burst at a time, and counts what the machine
// allocates: the events are made before, so that they are not counted.
func dispatcherAllocations(amount int) (s sample, err error) {
	d, err := metasim.New(metasim.Config{Clients: []string{"from", "to"}, Delays: linkGraph{delay: always(tick)}})
	if err != nil {
		return s, err
	}
	payload := make([]byte, 64)
	const from, to = 0, 1
	events := []metasim.Event{
		&metasim.Join{Client: from, Publications: []string{"DATA"}}, &metasim.Join{Client: to, Subscriptions: []string{"DATA"}}, &metasim.Begin{},
	}
	acked := uint64(0)
	for i := range amount/burst + 1 {
		now := metasim.At(metasim.Time(i) * tick)
		for range burst {
			events = append(events, &metasim.Send{Client: from, Channel: "DATA", Sent: now, Payload: payload})
		}
		next := metasim.At(metasim.Time(i+1) * tick)
		events = append(events,
			&metasim.PollWait{Client: from, Want: next, Report: metasim.Report{Now: now, NoSendBefore: next, NextEvent: next}},
			&metasim.PollWait{Client: to, Want: next, Report: metasim.Report{Now: now, NoSendBefore: next, NextEvent: next, Acked: acked}})
		if i > 0 {
			acked += burst
		}
	}
	warm := len(events) / 2
	var before uint64
	for i, ev := range events {
		if i == warm {
			before = mallocs()
		}
		if err := fatal(d.Step(ev)); err != nil {
			return s, err
		}
		if _, waits := ev.(*metasim.PollWait); waits {
			if err := fatal(d.Settle()); err != nil {
				return s, err
			}
		}
	}
	return sample{value: float64(mallocs()-before) / float64(len(events)-warm)}, nil
}
