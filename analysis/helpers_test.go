package analysis_test

import (
	"strconv"

	"metasim/metasim"
	"metasim/record/journal"
)

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// ratio returns a/b, or 0 if b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// passes returns the entries of a run by passes of its server.
func passes(entries []journal.Entry) (all [][]journal.Entry) {
	begin := 0
	for i := range entries {
		if i+1 == len(entries) || entries[i+1].Wall != entries[i].Wall {
			all, begin = append(all, entries[begin:i+1]), i+1
		}
	}
	return all
}

// us is a microsecond of wall clock.
const us = 1000

// pair returns two actors that send a message to and fro. Each computes for some time.
func pair(n int, work int64) []*actor {
	i := strconv.Itoa(n)
	return []*actor{
		{
			name: "a" + i, pubs: []string{"PING" + i}, subs: []string{"PONG" + i}, first: 1,
			act: func(metasim.Instant, []metasim.Message) outcome {
				return outcome{work: work, sends: []string{"PING" + i}}
			},
		},
		{
			name: "b" + i, pubs: []string{"PONG" + i}, subs: []string{"PING" + i}, first: metasim.Forever,
			act: func(metasim.Instant, []metasim.Message) outcome {
				return outcome{work: work, sends: []string{"PONG" + i}}
			},
		},
	}
}

// ms is a millisecond of simulated time.
const ms = metasim.Millisecond

// pairs are the delays of the channels of so many pairs.
func pairDelays(n int, d metasim.Time) fixed {
	f := fixed{}
	for i := range n {
		f["PING"+strconv.Itoa(i)], f["PONG"+strconv.Itoa(i)] = d, d
	}
	return f
}

// worker returns one of several actors that subscribe to one another and compute in each step of a millisecond.
func worker(name string, work int64) *actor {
	return &actor{
		name: name, pubs: []string{"ALL"}, subs: []string{"ALL"}, first: ms, steps: true,
		act: func(at metasim.Instant, _ []metasim.Message) outcome {
			return outcome{work: work, sends: []string{"ALL"}, next: at.Time + ms}
		},
	}
}
