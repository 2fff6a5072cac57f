package report

import (
	"io"
	"time"

	"metasim/analysis/predict"
	"metasim/analysis/trace"
	"metasim/record/journal"
)

// A Report says what a run cost and why. `metasim report --json` prints it. Names of fields are stable and end in their unit: _s is
// seconds of wall-clock time, _sim_ns nanoseconds of simulated time, _share a number from 0 to 1.
type Report struct {
	Format   int    `json:"format"` // 1; it changes when a field changes its meaning or goes
	Scenario string `json:"scenario"`
	// Started is when the run began, in RFC 3339; Host, Metasim and Command are where, by which version, and how. They are empty if not known.
	Started string   `json:"started,omitempty"`
	Host    string   `json:"host,omitempty"`
	Metasim string   `json:"metasim,omitempty"`
	Seed    uint64   `json:"seed"`
	Command []string `json:"command,omitempty"`
	// Transport is what most clients were connected over: mem, unix, shm, tcp or quic; empty: not known.
	Transport string `json:"transport"`
	Torn      string `json:"torn,omitempty"`  // where the journal breaks off, if it does
	Error     string `json:"error,omitempty"` // why the run failed, or that it has not ended
	// Digest is the digest of the run, as 64 hex digits; empty if the run has not ended. Deterministic: it is the same each time.
	Digest        string `json:"digest"`
	Deterministic bool   `json:"deterministic"`
	// Cut names the clients that were lost, and that the run went on without.
	Cut []CutReport `json:"cut_off,omitempty"`

	WallS float64 `json:"wall_s"`
	WorkS float64 `json:"work_s"` // what clients computed, without waiting for a core
	// AsleepS is the part of it that took no core: clients slept, or waited for a device.
	AsleepS float64 `json:"asleep_s"`
	// Cores is how many cores the clients could use on the host of the server; 0: not known. CPUS is the processor time of the clients
	// that know theirs. CoreWaitS is how long clients waited for a core, summed over those.
	Cores     int     `json:"cores"`
	CPUS      float64 `json:"cpu_s"`
	CoreWaitS float64 `json:"core_wait_s"`
	// MemoryS is how long clients waited for memory, summed over those.
	MemoryS float64 `json:"memory_s"`
	// Nested says that this is a run inside another one, with a dispatcher of its own.
	Nested bool `json:"nested,omitempty"`
	// PacedS is how long clients waited for the pace of the run, for the end of a pause, or for the run around it, on average.
	PacedS      float64 `json:"paced_s"`
	Parallelism float64 `json:"parallelism"` // work / wall
	SimNS       int64   `json:"end_sim_ns"`  // the latest activity of any client
	Grants      uint64  `json:"grants"`      // that a client asked for
	Ahead       uint64  `json:"grants_ahead"`
	Reports     uint64  `json:"reports"`
	Sends       uint64  `json:"sends"`

	// Traffic is what went over connections; nil: it was not counted. FramesPerGrant and BytesPerGrant are the sums of both directions.
	Traffic        *journal.Traffic `json:"traffic,omitempty"`
	FramesPerGrant float64          `json:"frames_per_grant"`
	BytesPerGrant  float64          `json:"bytes_per_grant"`

	// CriticalIdealS is the critical path if clients wait for messages alone. CriticalConservativeS has the waits of the protocol too.
	CriticalIdealS        float64 `json:"critical_path_ideal_s"`
	CriticalConservativeS float64 `json:"critical_path_conservative_s"`
	// LookaheadPrice is conservative / ideal: the price of short delays and missing promises. CorePrice is wall / conservative: the
	// price of too few cores, the transport and the dispatcher. Both are 1 if nothing is lost, and 0 if no client computed.
	LookaheadPrice float64 `json:"lookahead_price"`
	CorePrice      float64 `json:"core_price"`
	// Machine splits what lies between the conservative critical path and the wall-clock time.
	Machine Machine `json:"machine"`
	// CoresFor90 is how many cores bring the run, for sure, within 90 % of its speed with any number of them.
	CoresFor90 int     `json:"cores_for_90_percent"`
	Bounds     []Bound `json:"bounds"`

	Clients []ClientReport `json:"clients"` // in order of name
	Links   []LinkReport   `json:"links"`   // that carried messages or held a client back, the most held first
	Blame   []BlameReport  `json:"blame"`   // which client waited for which, the longest first
	// Hosts are the other hosts on which clients ran, and HostBlame is which of them waited for which, the longest first. Nil: there were none.
	Hosts     []HostReport      `json:"hosts,omitempty"`
	HostBlame []HostBlameReport `json:"host_blame,omitempty"`
	// BlameRestS is what a very long Blame leaves out.
	BlameRestS float64 `json:"blame_rest_s"`
	// BlameResolutionS is how old the holder in Blame may be; 0: it is exact.
	BlameResolutionS float64 `json:"blame_resolution_s"`

	Profile []ProfileReport `json:"parallelism_over_time"`
	Running []RunningReport `json:"running"`

	// Played is how good predictions are; absent: nothing was simulated. Unpredicted says why nothing is predicted, if that is so.
	Played      *predict.Played `json:"played,omitempty"`
	Unpredicted string          `json:"unpredicted,omitempty"`
	// Verdict says in one sentence what made the run as long as it was, and what would help most.
	Verdict string               `json:"verdict"`
	WhatIfs []predict.Prediction `json:"what_ifs"`
	Advice  []Advice             `json:"advice"`

	pairs   []BlameReport // all of which Blame has the first
	twice   float64       // what the run saves if the client that the verdict is about is twice as fast
	twiceBy string        // that client
	ranked  bool          // WhatIfs are the best of all changes that were tried, not those that were asked for
}

// New computes the report of a timeline, without predictions: see Predict.
func New(t *trace.Timeline) *Report {
	s := &t.Totals
	r := &Report{
		Format: 1, Nested: t.Nested, WallS: trace.Seconds(t.Wall()), SimNS: int64(s.End), Cores: t.Cores, WhatIfs: []predict.Prediction{},
		CriticalIdealS: trace.Seconds(s.IdealPath), CriticalConservativeS: trace.Seconds(s.ConservativePath),
		BlameResolutionS: trace.Seconds(s.BlameResolution),
	}
	if t.Torn != nil {
		r.Torn = t.Torn.Error()
	}
	for _, c := range t.Cut {
		r.Cut = append(r.Cut, CutReport{t.Names[c.Client], int64(c.At.Time)})
	}
	r.clients(t, r.blame(t))
	r.splitMachine(t)
	r.Parallelism = trace.Ratio(r.WorkS, r.WallS)
	r.LookaheadPrice = trace.Ratio(r.CriticalConservativeS, r.CriticalIdealS)
	r.CorePrice = trace.Ratio(r.WallS, r.CriticalConservativeS)
	r.bounds()
	r.links(t)
	r.profile(t)
	r.Advice = advise(t, r)
	r.Verdict = r.verdict()
	return r
}

// About adds what the manifest of the run says.
func (r *Report) About(m *journal.Manifest) {
	r.Scenario, r.Error, r.Digest, r.Deterministic = m.Scenario, m.Error, m.Digest, m.Deterministic
	r.Transport, r.Host, r.Metasim, r.Seed, r.Command = m.Transport, m.Host, m.Metasim, m.Seed, m.Command
	if !m.Started.IsZero() {
		r.Started = m.Started.Format(time.RFC3339)
	}
	if t := m.Traffic; t != nil {
		r.Traffic = t
		r.FramesPerGrant = trace.Ratio(float64(t.FramesIn+t.FramesOut), float64(r.Grants))
		r.BytesPerGrant = trace.Ratio(float64(t.BytesIn+t.BytesOut), float64(r.Grants))
		round := trace.Ratio(t.RoundsS, float64(t.Wakeups))
		r.Machine.measured(round)
		for i := range r.Clients {
			r.Clients[i].measured(round)
		}
	}
	r.hosts(m.Placed)
	r.Verdict = r.verdict()
}

// WriteText prints the report as text: the verdict, the best changes, and the numbers.
func (r *Report) WriteText(w io.Writer, style Style) error {
	style.Width = max(style.Width, 40)
	p := &printer{Style: style}
	r.lead(p)
	r.opening(p)
	sections := []func(*printer){
		r.headline, r.machineTable, r.adviceList, r.clientTable, r.hostTables, r.blameTable, r.linkTable, r.profileChart, r.coreTable, r.moreChanges,
	}
	if r.WallS == 0 {
		p.say("There is nothing to report: the run ended before all clients had joined.")
		sections = nil
	}
	for _, write := range sections {
		write(p)
	}
	_, err := io.WriteString(w, p.String())
	return err
}
