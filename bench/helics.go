package bench

import (
	"fmt"
	"slices"

	"metasim/delay"
	"metasim/metasim"
)

// The benchmark set of HELICS, with its definitions: instants are whole nanoseconds. HELICS has no lookahead there; here
// every link has a delay of 1 ns, which is HELICS's outputdelay=1ns, except where a workload says otherwise.

// helicsSteps is how often a leaf of timing and echo steps; it publishes after all but the last two.
const helicsSteps = 5002

// helicsPlacements are all clients in one process, and each in a process of its own.
func helicsPlacements(n int) []placement {
	all := []placement{
		{transport: "mem"}, {transport: "unix", processes: n}, {transport: "tcp", processes: n},
	}
	if sharedMemory != nil {
		all = append(all, placement{transport: "shm", processes: n})
	}
	return all
}

func helics() []workload {
	return slices.Concat(helicsTiming(), helicsEcho("helics echo", false), helicsEcho("helics echoMessage", true), helicsRing(),
		helicsSend(), helicsPhold(), helicsWatts())
}

func helicsTiming() []workload {
	timing := func(leaves int, places []placement) []workload {
		return workload{
			name: "helics timing", params: Params{"leaves": leaves}, unit: "grants/s", first: 200, most: helicsSteps, fixed: true,
		}.at(places, func(amount int) scenario { return leafScenario(leaves, amount, 0, false) }, times(leaves))
	}
	return append(timing(4, helicsPlacements(5)), timing(64, []placement{{transport: "mem"}})...)
}

func helicsEcho(name string, endpoint bool) []workload {
	const leaves = 4
	return workload{
		name: name, params: Params{"leaves": leaves, "size": echoSize}, unit: "messages/s", first: 200, most: helicsSteps, fixed: true,
	}.at(helicsPlacements(leaves+1),
		func(amount int) scenario { return leafScenario(leaves, amount, amount-2, endpoint) },
		exactly(func(amount int) int { return 2 * leaves * (amount - 2) }))
}

func helicsRing() (list []workload) {
	for _, n := range []int{2, 4, 20} {
		list = append(list, workload{
			name: "helics ring", params: Params{"clients": n}, unit: "hops/s", first: 100, most: 5000, fixed: true,
		}.at(helicsPlacements(n),
			func(amount int) scenario { return ringScenario(n, amount) },
			exactly(func(amount int) int { return n * amount }))...)
	}
	return list
}

// ringScenario is a ring whose last link takes 1 ns and the others one step each, so that a round advances time by 1 ns.
func ringScenario(n, rounds int) scenario {
	c := scenario{links: []delay.Rule{{}, {To: "fed-00", Spec: delay.Spec{Delay: delay.Constant(1)}}}}
	for i := range n {
		p := ports{In: fmt.Sprintf("RING-%02d", (i+n-1)%n), Out: fmt.Sprintf("RING-%02d", i)}
		r := &relay{ports: p, Until: metasim.Time(rounds)}
		if i == 0 {
			r.Begin = 100
		}
		c.clients = append(c.clients, participant{fmt.Sprintf("fed-%02d", i), r})
	}
	return c
}

func helicsSend() (list []workload) {
	for _, size := range []struct{ bytes, count int }{{1, 1}, {1, 512}, {2048, 64}, {1 << 20, 1}} {
		list = append(list, workload{
			name: "helics messageSend", params: Params{"size": size.bytes, "count": size.count}, unit: "messages/s",
			first: 10, most: 1000, slow: size.bytes > 1 && size.bytes < 1<<20,
		}.at(helicsPlacements(2), func(amount int) scenario {
			member := func(p ports) *exchanger {
				return &exchanger{ports: p, Size: size.bytes, Messages: size.count, Until: metasim.Time(amount)}
			}
			return scenario{links: uniform(1), clients: []participant{
				{"fed-0", member(ports{Out: "SEND-0", In: "SEND-1"})}, {"fed-1", member(ports{Out: "SEND-1", In: "SEND-0"})},
			}}
		}, times(2*size.count))...) // sent, as what is sent in the last nanosecond arrives as they leave
	}
	return list
}

func helicsPhold() (list []workload) {
	for _, n := range []int{2, 8, 32} {
		places := helicsPlacements(n)
		if n > 8 {
			places = slices.DeleteFunc(places, func(a placement) bool { return a.transport == "tcp" })
		}
		list = append(list, workload{
			name: "helics phold", params: Params{"clients": n}, unit: "events/s", floor: "raw heap n=100",
			first: 200, most: 10_000, fixed: true,
		}.at(places, func(amount int) scenario { return helicsPholdScenario(n, metasim.Time(amount)) }, eventsDone)...)
	}
	return list
}

// helicsPholdScenario has one LP a client. An event that a client sends to itself stays there; in HELICS it is a message.
func helicsPholdScenario(n int, until metasim.Time) scenario {
	c := scenario{links: uniform(1)}
	for i := range n {
		c.clients = append(c.clients, participant{fmt.Sprintf("phold_%d", i), &logicalProcess{
			Index: i, Count: n, Remote: 0.1, Population: 16, Lookahead: 1, Mean: 9, Until: until,
		}})
	}
	return c
}

func helicsWatts() (list []workload) {
	const n, degree = 8, 4
	for _, a := range helicsPlacements(n) {
		for _, rewired := range []float64{0, 0.5} {
			list = append(list, workload{
				name: "helics wattsStrogatz", params: a.params(Params{"clients": n, "degree": degree, "rewired": rewired}),
				unit: "messages/s", first: 20, most: 500, fixed: true,
				measure: a.measure(func(amount int) scenario { return wattsScenario(n, degree, rewired, amount) },
					exactly(func(amount int) int { return tokens * n * amount })),
			})
		}
	}
	return list
}
