package report

import (
	"cmp"
	"fmt"
	"slices"

	"metasim/analysis/trace"
)

// A CutReport is where a client was that was lost, and that the run went on without.
type CutReport struct {
	Client string `json:"client"`
	AtNS   int64  `json:"at_ns"`
}

// A ClientReport is what a run was for one client.
type ClientReport struct {
	Name      string  `json:"name"`
	Host      string  `json:"host,omitempty"` // where it ran, if metasim has started it on another host
	WorkS     float64 `json:"work_s"`
	CPUS      float64 `json:"cpu_s"` // processor time, of clients with a process of their own; 0: not known
	BlockedS  float64 `json:"blocked_s"`
	MemoryS   float64 `json:"memory_s"`    // of blocked_s: waited for the slower ones to free memory
	OverheadS float64 `json:"overhead_s"`  // neither work nor blocked: the sum of the next four
	CoreWaitS float64 `json:"core_wait_s"` // how long it waited for a core
	AbsentS   float64 `json:"absent_s"`    // from when it left to the end of the run
	// DispatcherS is how long the dispatcher took for it: the average round of the server for each of its grants. 0: rounds were not
	// measured, and TransportS contains them. TransportS is the rest: encoding, the kernel, wake-ups, decoding.
	DispatcherS float64 `json:"dispatcher_s"`
	TransportS  float64 `json:"transport_s"`
	Utilisation float64 `json:"utilisation_share"` // work / wall
	// HeldS is how long others waited for it, summed over them. CriticalS is its work on the critical path.
	HeldS         float64 `json:"held_s"`
	CriticalS     float64 `json:"critical_s"`
	CriticalShare float64 `json:"critical_share"` // of the wall-clock time
	// TwiceAsFastS is what the run takes at best if this client computes in half the time.
	TwiceAsFastS float64 `json:"wall_if_twice_as_fast_s"`

	// Steps is how often it reported that it had computed. Half of these steps took at most StepP50S, 99 of 100 at most StepP99S.
	Steps    uint64  `json:"steps"`
	StepP50S float64 `json:"step_p50_s"`
	StepP99S float64 `json:"step_p99_s"`

	Grants          uint64  `json:"grants"`
	Reports         uint64  `json:"reports"`
	Sends           uint64  `json:"sends"`
	Delivered       uint64  `json:"delivered"`
	ReportsPerGrant float64 `json:"reports_per_grant"`
	// Released is how often its report authorized a client that waited.
	Released uint64 `json:"released"`
	// PromisedShare is how much of the simulated time from each report to the next send that report promised. AnnouncedShare is how
	// much it promised unless a message arrived. 1 is perfect. Both are 0 for a client that sends nothing.
	PromisedShare  float64 `json:"promised_share"`
	AnnouncedShare float64 `json:"announced_share"`
	ReactionNS     int64   `json:"declared_reaction_sim_ns"`
}

// clients fills in the clients and the sums over them. held is for how long others waited for each client, in nanoseconds.
func (r *Report) clients(t *trace.Timeline, held []int64) {
	wall, seconds, ratio := t.Wall(), trace.Seconds, trace.Ratio
	for i := range t.Totals.Clients {
		c := &t.Totals.Clients[i]
		row := ClientReport{
			Name: t.Names[i], WorkS: seconds(c.Work), CPUS: seconds(c.CPU), BlockedS: seconds(c.Blocked), MemoryS: seconds(c.Starved), CoreWaitS: seconds(c.CoreWait),
			OverheadS: seconds(wall - c.Work - c.Blocked), Utilisation: ratio(seconds(c.Work), r.WallS),
			HeldS: seconds(held[i]), CriticalS: seconds(c.Critical), CriticalShare: ratio(seconds(c.Critical), r.WallS),
			TwiceAsFastS: seconds(wall - c.Critical/2), Steps: c.Steps, StepP50S: seconds(c.StepP50), StepP99S: seconds(c.StepP99),
			Grants: c.Grants, Reports: c.Reports, Sends: c.Sends, Delivered: c.Delivered, Released: c.Released,
			ReportsPerGrant: ratio(float64(c.Reports), float64(c.Grants)), ReactionNS: int64(c.Reaction),
			PromisedShare: ratio(c.Promised, c.Silent), AnnouncedShare: ratio(c.Announced, c.Silent),
		}
		row.AbsentS = min(seconds(c.Absent), row.OverheadS)
		row.CoreWaitS = min(row.CoreWaitS, row.OverheadS-row.AbsentS)
		row.TransportS = row.OverheadS - row.AbsentS - row.CoreWaitS
		r.Clients = append(r.Clients, row)
		r.WorkS += row.WorkS
		r.AsleepS += seconds(c.Asleep)
		r.CPUS += row.CPUS
		r.CoreWaitS += row.CoreWaitS
		r.MemoryS += row.MemoryS
		r.Grants += c.Grants
		r.Ahead += c.Ahead
		r.Reports += c.Reports
		r.Sends += c.Sends
	}
}

// measured takes the dispatcher's part out of the rest. round is how long a round of the server took on average.
func (c *ClientReport) measured(round float64) {
	c.TransportS += c.DispatcherS
	c.DispatcherS = min(c.TransportS, float64(c.Grants)*round)
	c.TransportS -= c.DispatcherS
}

// ByCost returns the clients, those with the most work on the critical path first, and then those that others waited for longest. Only what
// is on the path makes the run longer.
func (r *Report) ByCost() []ClientReport {
	rows := slices.Clone(r.Clients)
	slices.SortStableFunc(rows, func(x, y ClientReport) int {
		return cmp.Or(cmp.Compare(y.CriticalS, x.CriticalS), cmp.Compare(y.HeldS, x.HeldS))
	})
	return rows
}

// leastCritical is the share of the run from which on work on the critical path stands out.
const leastCritical = 0.1

func (r *Report) clientTable(p *printer) {
	rows := r.ByCost()
	measured := slices.ContainsFunc(rows, func(c ClientReport) bool { return c.DispatcherS > 0 })
	absent := slices.ContainsFunc(rows, func(c ClientReport) bool { return c.AbsentS >= 0.01*r.WallS })
	transport := "encoding, the kernel, wake-ups, decoding"
	if !measured {
		transport += ", and the dispatcher"
	}
	t := table{title: "Clients, the most critical first", more: len(rows) - maxRows, columns: []column{
		{head: "client", word: true},
		{head: "work", rank: 1},
		{head: "busy", note: "work / the run", rank: 4},
		{head: "blocked", note: "waited to be authorized", rank: 3},
		{head: "memory", note: "of blocked: waited for the slower ones to handle what was sent", rank: 5, hidden: r.MemoryS == 0},
		{head: "no core", note: "waited for a core", rank: 5, hidden: r.CoreWaitS == 0},
		{head: "transport", note: transport, rank: 9},
		{head: "dispatcher", note: "an average round of the server for each grant", rank: 10, hidden: !measured},
		{head: "absent", note: "from when it left to the end of the run", rank: 11, hidden: !absent},
		{head: "held", note: "how long others waited for it, in total", rank: 2},
		{head: "critical", note: "its work on the critical path / the run", tone: bad},
		{head: "grants", rank: 6},
		{head: "reports/grant", rank: 8},
		{head: "released", note: "reports that let another client go on", rank: 10},
		{head: "promised", note: "of the time in which it sent nothing", rank: 7},
		{head: "announced", note: "the same, unless a message came", rank: 11},
		{head: "sends", rank: 12},
		{head: "step p50", note: "half of its steps took at most so long", rank: 14},
		{head: "step p99", note: "99 of 100 did", rank: 15},
		{head: "cpu", note: "processor time", rank: 13, hidden: r.CPUS == 0},
	}}
	for _, c := range rows[:min(len(rows), maxRows)] {
		promised, announced := "-", "-"
		if c.Sends > 0 {
			promised, announced = percent(c.PromisedShare), percent(c.AnnouncedShare)
		}
		t.addSlight(c.CriticalShare < leastCritical, c.Name, Span(c.WorkS), percent(c.Utilisation), Span(c.BlockedS), Span(c.MemoryS), Span(c.CoreWaitS), Span(c.TransportS), Span(c.DispatcherS), Span(c.AbsentS), Span(c.HeldS),
			percent(c.CriticalShare), fmt.Sprint(c.Grants), fmt.Sprintf("%.1f", c.ReportsPerGrant), fmt.Sprint(c.Released), promised, announced,
			fmt.Sprint(c.Sends), Span(c.StepP50S), Span(c.StepP99S), Span(c.CPUS))
	}
	t.write(p)
}
