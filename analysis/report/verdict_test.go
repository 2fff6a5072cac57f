package report

import (
	"cmp"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis/predict"
)

// A situation is a run of a second: who is how much of it on the critical path, and what else it was.
type situation struct {
	name     string
	path     []float64 // of the clients a, b, c, ...
	protocol float64
	machine  Machine
	twice    float64  // saved if the client of the verdict is twice as fast
	by       string   // that client; empty: a
	saves    []string // changes, the best first, each followed by what it saves in percent
	change   func(*Report)
	says     string
}

// The rules of the verdict, as situations and what is said of them.
func TestVerdicts(t *testing.T) {
	unpredicted := func(r *Report) { r.ranked, r.Unpredicted = false, "the machine was busy" }
	many := []float64{.04, .04, .04, .04, .04, .04, .04, .04, .04, .04, .04, .04, .04, .04, .04, .04, .04, .04, .04, .04}
	for _, s := range []situation{
		// The run itself.
		{name: "nobody came", change: func(r *Report) { r.WallS = 0 }, says: "the run ended before all clients had joined"},
		{name: "nested", path: []float64{.1}, change: func(r *Report) { r.PacedS, r.Nested = .9, true },
			says: "the run around this one took 90 % of it; see the report of that run, which says whom it waited for"},
		{name: "paced", path: []float64{.1}, change: func(r *Report) { r.PacedS = .9 },
			says: "the pace of the run, or a pause, took 90 % of it, so nothing else makes it faster"},
		{name: "no work", path: []float64{0, 0}, machine: Machine{TransportS: 1},
			says: "no client computed anything that can be measured: the run is transport and dispatcher"},
		{name: "failed", path: []float64{.9, .05}, twice: .4, change: func(r *Report) { r.Error = "a left" },
			says: "as far as the run came, a is 95 % of the critical path; twice as fast, it saves 40 % of the run"},
		{name: "broken off", path: []float64{.9, .05}, change: func(r *Report) { r.Torn, r.ranked = "at entry 7", false },
			says: "as far as the run came, a is 95 % of the critical path"},
		// One client computes.
		{name: "one client", path: []float64{.97}, twice: .48, says: "a is the only client, and computes for 97 % of the run; twice as fast, it saves 48 % of the run"},
		{name: "one leads", path: []float64{.8, .1, .05}, twice: .38, says: "a is 84 % of the critical path; twice as fast, it saves 38 % of the run"},
		{name: "one leads, with a change", path: []float64{.8, .1, .05}, twice: .38, saves: []string{"links[1].delay=4ms", "12"},
			says: "a is 84 % of the critical path; twice as fast, it saves 38 % of the run; the best change besides, links[1].delay=4ms, saves 12 %"},
		{name: "one leads, and more cores come first in the list", path: []float64{.8, .1}, twice: .4, saves: []string{"cores=4", "5", "client(b).promise=all", "4"},
			says: "a is 89 % of the critical path; twice as fast, it saves 40 % of the run; the best change besides, client(b).promise=all, saves 4 %"},
		{name: "one leads, and only cores help", path: []float64{.8, .1}, twice: .4, saves: []string{"cores=4", "3"},
			says: "a is 89 % of the critical path; twice as fast, it saves 40 % of the run"},
		{name: "one leads, and cores help most by far", path: []float64{.6, .1}, machine: Machine{CoreWaitS: .3}, twice: .2, saves: []string{"cores=4", "30", "links[0].delay=1ms", "2"},
			says: "a is 86 % of the critical path; twice as fast, it saves 20 % of the run; the best change besides, cores=4, saves 30 %"},
		{name: "one leads, and others are as slow", path: []float64{.9, .05}, says: "a is 95 % of the critical path; others are nearly as slow, so if it is twice as fast, that saves nothing"},
		{name: "less work is not named", path: []float64{.8, .1}, twice: .4, saves: []string{"client(a).period=4ms", "45"},
			says: "a is 89 % of the critical path; twice as fast, it saves 40 % of the run"},
		{name: "nothing is predicted", path: []float64{.8, .1}, change: unpredicted, says: "a is 89 % of the critical path; nothing is predicted of it"},
		// Several compute.
		{name: "two share", path: []float64{.5, .45}, twice: .2, says: "most of the critical path is a (53 %) and b (47 %); a, twice as fast, saves 20 % of the run"},
		{name: "two share, and the shorter part is the one that saves", path: []float64{.5, .45}, twice: .13, by: "b",
			says: "most of the critical path is a (53 %) and b (47 %); b, twice as fast, saves 13 % of the run"},
		{name: "three, none above 56 %", path: []float64{.56, .24, .2}, twice: .25,
			says: "most of the critical path is a (56 %) and b (24 %); a, twice as fast, saves 25 % of the run"},
		{name: "three alike", path: []float64{.32, .32, .32}, says: "most of the critical path is a (33 %), b (33 %) and c (33 %); if one of them alone is twice as fast, that saves nothing"},
		{name: "many alike", path: many, saves: []string{"links[0].delay=2ms", "9"},
			says: "the critical path goes through many clients: none of the 20 has more than 5 % of it; the best change, links[0].delay=2ms, saves 9 %"},
		{name: "many alike, and cores", path: many, saves: []string{"cores=8", "9"},
			says: "the critical path goes through many clients: none of the 20 has more than 5 % of it; the best change, cores=8, saves 9 %"},
		{name: "many alike, and nothing helps", path: many, says: "the critical path goes through many clients: none of the 20 has more than 5 % of it; no change that was tried does the same work faster"},
		// They wait for one another.
		{name: "short delays", path: []float64{.2, .1}, protocol: .6, saves: []string{"links[0].delay=5ms", "50"},
			says: "clients wait for one another for 60 % of the run, because of short delays or missing promises; the best change, links[0].delay=5ms, saves 50 %"},
		{name: "short delays, and two changes", path: []float64{.2, .1}, protocol: .6, saves: []string{"links[0].delay=5ms client(a b).promise=all", "55"},
			says: "clients wait for one another for 60 % of the run, because of short delays or missing promises; the best changes, links[0].delay=5ms and client(a b).promise=all, save 55 %"},
		{name: "short delays, and nothing helps", path: []float64{.2, .1}, protocol: .6,
			says: "clients wait for one another for 60 % of the run, because of short delays or missing promises; no change that was tried does the same work faster"},
		// The machine.
		{name: "too few cores", path: []float64{.2, .1}, machine: Machine{CoreWaitS: .6, TransportS: .1}, saves: []string{"cores=8", "40", "links[0].delay=5ms", "30"},
			says: "60 % of the run is waiting for a core, and 30 % what clients compute on the critical path; the best change, cores=8, saves 40 %"},
		{name: "transport", path: []float64{.2, .1}, machine: Machine{RoundsS: .1, TransportS: .6}, saves: []string{"transport=shm", "25"},
			says: "60 % of the run is transport, and 30 % what clients compute on the critical path; the best change, transport=shm, saves 25 %"},
		{name: "transport, and a process", path: []float64{.2, .1}, machine: Machine{TransportS: .7}, saves: []string{"client(ear-*).process=1", "25"},
			says: "70 % of the run is transport and dispatcher, and 30 % what clients compute on the critical path; the best change, client(ear-*).process=1, saves 25 %"},
		{name: "transport, and gains too small to tell", path: []float64{.05, .05}, machine: Machine{TransportS: .9}, change: func(r *Report) { r.Played = &predict.Played{Least: .14} },
			says: "90 % of the run is transport and dispatcher, and 10 % what clients compute on the critical path; no change that was tried saves more than a prediction may be off here, 14 %"},
		{name: "transport, and less work", path: []float64{.2, .1}, machine: Machine{RoundsS: .1, TransportS: .6}, saves: []string{"client(a).period=4ms", "40"},
			says: "60 % of the run is transport, and 30 % what clients compute on the critical path; no change that was tried does the same work faster"},
		{name: "dispatcher", path: []float64{.2, .1}, machine: Machine{RoundsS: .5, TransportS: .2},
			says: "70 % of the run is the machine, dispatcher (50 %) and transport (20 %), and 30 % what clients compute on the critical path; no change that was tried does the same work faster"},
	} {
		require.Equal(t, s.says, s.report(t).verdict(), s.name)
	}
}

func (s *situation) report(t *testing.T) *Report {
	t.Helper()
	r := &Report{WallS: 1, CriticalIdealS: 0, Machine: s.machine, ranked: true, twice: s.twice, twiceBy: cmp.Or(s.by, "a")}
	for i, c := range s.path {
		r.CriticalIdealS += c
		r.Clients = append(r.Clients, ClientReport{Name: string(rune('a' + i)), CriticalS: c, CriticalShare: c})
	}
	r.CriticalConservativeS = r.CriticalIdealS + s.protocol
	for i := 0; i < len(s.saves); i += 2 {
		var percent float64
		_, err := fmt.Sscan(s.saves[i+1], &percent)
		require.NoError(t, err)
		r.WhatIfs = append(r.WhatIfs, predict.Prediction{Change: s.saves[i], GainShare: percent / 100})
	}
	if s.change != nil {
		s.change(r)
	}
	return r
}

// What longer delays save is said of rules and of links, and of nothing else.
func TestLongerDelays(t *testing.T) {
	for change, is := range map[string]bool{
		"links[1].delay=5ms": true, "link(a->b:C).delay=5ms": true, "links[1].delay=5ms link(a b->c:D).delay=1ms": true,
		"links[1].delay=5ms cores=4": false, "client(a).promise=5ms": false, "client(link x).speed=2": false,
	} {
		r := &Report{ranked: true, WhatIfs: []predict.Prediction{{Change: change}}}
		require.Equal(t, is, r.longerDelays() != nil, change)
	}
}
