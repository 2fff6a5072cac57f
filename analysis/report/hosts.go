package report

import (
	"cmp"
	"fmt"
	"slices"

	"metasim/analysis/trace"
	"metasim/record/journal"
)

// A HostReport is what a run was on one of its hosts.
type HostReport struct {
	Name    string   `json:"name"`
	Clients []string `json:"clients"`
	// RoundTripS is the least time in which the host has answered metasim: over the network, ssh or srun, and the processes on the way. 0: not known.
	RoundTripS float64 `json:"round_trip_s"`
	WorkS      float64 `json:"work_s"`
	BlockedS   float64 `json:"blocked_s"`
	// HeldAwayS is how long clients on other hosts waited for its clients, summed over them.
	HeldAwayS float64 `json:"held_away_s"`
}

// A HostBlameReport is how long the clients of one host waited for those of another one, summed over them. An empty name is that of clients from outside.
type HostBlameReport struct {
	Waiting  string  `json:"waiting"`
	HeldBy   string  `json:"held_by"`
	BlockedS float64 `json:"blocked_s"`
	// RoundTripS is the sum of the times of both hosts, as what their clients say to one another goes through metasim. 0: one is not known.
	RoundTripS float64 `json:"round_trip_s"`
}

// outside is what a host is called of which nothing is known.
const outside = "outside"

// hosts fills in who held whom between hosts.
func (r *Report) hosts(placed []journal.Placed) {
	trips := map[string]float64{}
	on := map[string]string{}
	for _, p := range placed {
		trips[p.Host] = p.RoundTripS
		for _, client := range p.Clients {
			on[client] = p.Host
		}
	}
	if r.Hosts, r.HostBlame = nil, nil; len(placed) == 0 {
		return
	}
	sums := map[[2]string]float64{}
	for _, b := range r.pairs {
		if w, h := on[b.Waiting], on[b.HeldBy]; b.HeldBy != "" && w != h {
			sums[[2]string{w, h}] += b.BlockedS
		}
	}
	for i := range r.Blame {
		r.Blame[i].WaitingHost, r.Blame[i].HeldByHost = on[r.Blame[i].Waiting], on[r.Blame[i].HeldBy]
	}
	work, blocked, away := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for i := range r.Clients {
		c := &r.Clients[i]
		c.Host = on[c.Name]
		work[c.Host] += c.WorkS
		blocked[c.Host] += c.BlockedS
	}
	for pair, sum := range sums {
		b := HostBlameReport{Waiting: pair[0], HeldBy: pair[1], BlockedS: sum}
		if there, here := trips[pair[0]], trips[pair[1]]; there > 0 && here > 0 {
			b.RoundTripS = there + here
		}
		r.HostBlame = append(r.HostBlame, b)
		away[pair[1]] += sum
	}
	slices.SortFunc(r.HostBlame, func(x, y HostBlameReport) int {
		return cmp.Or(cmp.Compare(y.BlockedS, x.BlockedS), cmp.Compare(x.Waiting, y.Waiting), cmp.Compare(x.HeldBy, y.HeldBy))
	})
	for _, p := range placed {
		r.Hosts = append(r.Hosts, HostReport{Name: p.Host, Clients: p.Clients, RoundTripS: p.RoundTripS, WorkS: work[p.Host], BlockedS: blocked[p.Host], HeldAwayS: away[p.Host]})
	}
}

// trip is the text of a round trip.
func trip(s float64) string {
	if s == 0 {
		return "-"
	}
	return Span(s)
}

func (r *Report) hostTables(p *printer) {
	if len(r.Hosts) == 0 {
		return
	}
	t := table{title: "Hosts", more: len(r.Hosts) - maxRows, columns: []column{
		{head: "host", word: true}, {head: "clients"}, {head: "there and back", note: "the least time in which it answered metasim", rank: 1}, {head: "work"},
		{head: "blocked", note: "its clients waited to be authorized", rank: 2}, {head: "held", note: "how long clients on other hosts waited for its clients"},
	}}
	for _, h := range r.Hosts[:min(len(r.Hosts), maxRows)] {
		t.add(h.Name, fmt.Sprint(len(h.Clients)), trip(h.RoundTripS), Span(h.WorkS), Span(h.BlockedS), Span(h.HeldAwayS))
	}
	t.write(p)
	if len(r.HostBlame) == 0 {
		return
	}
	t = table{title: "Which host waited for which", more: len(r.HostBlame) - maxRows, columns: []column{
		{head: "waiting", word: true}, {head: "for", word: true}, {head: "time", note: "summed over clients"}, {head: "of the run", rank: 1},
		{head: "there and back", note: "to both, as what their clients say goes through metasim", rank: 2},
	}}
	for _, b := range r.HostBlame[:min(len(r.HostBlame), maxRows)] {
		t.add(cmp.Or(b.Waiting, outside), cmp.Or(b.HeldBy, outside), Span(b.BlockedS), percent(trace.Ratio(b.BlockedS, r.WallS)), trip(b.RoundTripS))
	}
	t.write(p)
}
