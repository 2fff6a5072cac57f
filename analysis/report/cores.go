package report

import (
	"fmt"
	"math"
	"slices"

	"metasim/analysis/predict"
	"metasim/analysis/trace"
)

// A Bound says what a run takes on so many cores: at least and, if no core idles while a client could compute, at most.
type Bound struct {
	Cores  int     `json:"cores"`
	LeastS float64 `json:"least_s"`
	MostS  float64 `json:"most_s"`
	// PlayedS is the prediction, with transport and dispatcher; 0: there is none.
	PlayedS float64 `json:"played_s"`
}

// bounds fills in what the run takes on 1, 2, 4, ... cores, on those that it had, and on one for each client: more are of no use.
func (r *Report) bounds() {
	const limit = 128
	clients := len(r.Clients)
	numbers := []int{min(clients, limit)}
	for p := 1; p < min(clients, limit); p *= 2 {
		numbers = append(numbers, p)
	}
	if r.Cores > 0 && r.Cores < min(clients, limit) {
		numbers = append(numbers, r.Cores)
	}
	slices.Sort(numbers)
	path := r.CriticalConservativeS
	for _, p := range slices.Compact(numbers) {
		share := (r.WorkS - r.AsleepS) / float64(p)
		most := share + path
		if r.AsleepS == 0 { // then the path takes a core all the time
			most -= path / float64(p)
		}
		r.Bounds = append(r.Bounds, Bound{Cores: p, LeastS: max(share, path), MostS: most})
	}
	r.CoresFor90 = 1
	if path > 0 { // the run is within 90 % of its speed where MostS <= path/0.9
		r.CoresFor90 = min(clients, max(1, int(math.Ceil(9*(r.WorkS-path)/path-1e-9))))
	}
}

// predictCores predicts what the run takes on each number of cores of the bounds. If that cannot be predicted, Unpredicted says why.
func (r *Report) predictCores(m *predict.Model) {
	for i := range r.Bounds {
		wall, err := m.OnCores(r.Bounds[i].Cores)
		if err != nil {
			r.Unpredicted = err.Error()
			return
		}
		// The error of a prediction must not make it less than what the work alone takes.
		r.Bounds[i].PlayedS = max(wall, r.Bounds[i].LeastS)
	}
}

func (r *Report) coreTable(p *printer) {
	if len(r.Bounds) < 2 {
		return // of one client
	}
	best := r.Bounds[len(r.Bounds)-1].PlayedS
	t := table{title: "Cores", columns: []column{
		{head: "cores"},
		{head: "predicted", note: "what the run would take on so many", hidden: best == 0},
		{head: "loses", note: "compared with a core for each client", rank: 2, hidden: best == 0},
		{head: "work: least", note: "what the work takes at least, without transport and dispatcher", rank: 3},
		{head: "work: most", note: "what it takes at most, if no core idles while a client could compute", rank: 4},
		{word: true, rank: 1},
	}}
	enough := false
	for i, bound := range r.Bounds {
		mark := ""
		if bound.Cores == min(r.Cores, len(r.Clients)) {
			mark = "as it was"
		}
		if enough && mark == "" && i < len(r.Bounds)-1 {
			continue // more cores are no better
		}
		enough = enough || best > 0 && bound.PlayedS < 1.005*best
		loses := percent(trace.Ratio(bound.PlayedS-best, best))
		t.add(fmt.Sprint(bound.Cores), Span(bound.PlayedS), loses, Span(bound.LeastS), Span(bound.MostS), mark)
	}
	t.write(p)
}
