package report

import (
	"fmt"
	"math"
	"strings"

	"metasim/analysis/trace"
	"metasim/metasim"
)

// A ProfileReport is a part of the run: how many clients computed on average, and how many were authorized to.
type ProfileReport struct {
	EndS      float64 `json:"end_s"`
	EndNS     int64   `json:"end_sim_ns"`
	Computing float64 `json:"computing"`
	Running   float64 `json:"running"`
}

// A RunningReport says how long so many clients were authorized and did not wait.
type RunningReport struct {
	Clients int     `json:"clients"`
	WallS   float64 `json:"wall_s"`
}

func (r *Report) profile(t *trace.Timeline) {
	for _, p := range t.Profile {
		r.Profile = append(r.Profile, ProfileReport{trace.Seconds(p.End - t.Begin), int64(p.Now), p.Computing, p.Running})
	}
	for n, took := range t.Running {
		r.Running = append(r.Running, RunningReport{n, trace.Seconds(took)})
	}
}

// profileChart draws how many clients computed, over simulated time.
func (r *Report) profileChart(p *printer) {
	if len(r.Profile) < 2 || r.SimNS <= 0 {
		return
	}
	const rows = 10
	bars := make([]float64, rows) // client-seconds
	spans := make([]float64, rows)
	begin := 0.0
	for _, p := range r.Profile {
		row := min(rows-1, int(float64(p.EndNS)/float64(r.SimNS)*rows))
		bars[row] += p.Computing * (p.EndS - begin)
		spans[row] += p.EndS - begin
		begin = p.EndS
	}
	most := 1.0
	for i := range bars {
		bars[i] = trace.Ratio(bars[i], spans[i])
		most = max(most, bars[i])
	}
	p.title("Parallelism over simulated time")
	p.WriteString(p.toned(faint, "        from  clients      wall") + "\n")
	for i := range bars {
		if spans[i] == 0 {
			continue // no sample ends there
		}
		at := metasim.Time(float64(r.SimNS) * float64(i) / rows)
		bar := int(math.Round(bars[i] / most * float64(max(0, min(p.Width, 120)-35))))
		line := fmt.Sprintf("%12s  %7s  %8s  %s", coarse(at), Number(bars[i]), Span(spans[i]), strings.Repeat("#", bar))
		p.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
