package analysis

import (
	"cmp"
	"math"
	"slices"

	"metasim/metasim"
	"metasim/record/journal"
)

// A Report says what a run cost and why: what `metasim report --json` prints. Names of fields are stable, and end in
// their unit: _s is seconds of wall clock, _sim_ns nanoseconds of simulated time, _share a number from 0 to 1.
type Report struct {
	Format   int    `json:"format"` // 1; it changes when a field changes its meaning or goes
	Scenario string `json:"scenario"`
	Torn     string `json:"torn,omitempty"`  // where the journal breaks off, if it does
	Error    string `json:"error,omitempty"` // why the run failed, or that it has not ended
	// Digest is of what happened, as 64 hex digits; empty where the run has not ended. Deterministic says that it is the same
	// each time.
	Digest        string `json:"digest"`
	Deterministic bool   `json:"deterministic"`

	WallS float64 `json:"wall_s"`
	WorkS float64 `json:"work_s"` // what clients computed, less what they waited for a core meanwhile
	// Cores is how many cores the clients could use on the host of the server; 0: not known. CPUS is the processor time of
	// clients that know theirs. CoreWaitS is for how long clients that were to compute waited for a core, summed over those.
	Cores     int     `json:"cores"`
	CPUS      float64 `json:"cpu_s"`
	CoreWaitS float64 `json:"core_wait_s"`
	// PacedS is for how long clients waited for nobody, but the pace of the run or whoever had paused it, on average.
	PacedS      float64 `json:"paced_s"`
	Parallelism float64 `json:"parallelism"` // work / wall
	SimNS       int64   `json:"end_sim_ns"`  // the latest activity of any client
	Grants      uint64  `json:"grants"`      // that a client waited for, or at least asked for
	Ahead       uint64  `json:"grants_ahead"`
	Reports     uint64  `json:"reports"`
	Sends       uint64  `json:"sends"`

	// Traffic is what went over connections, nil where nobody counted; FramesPerGrant and BytesPerGrant, both ways together,
	// are what it took to keep the clients in step.
	Traffic        *journal.Traffic `json:"traffic,omitempty"`
	FramesPerGrant float64          `json:"frames_per_grant"`
	BytesPerGrant  float64          `json:"bytes_per_grant"`

	// CriticalIdealS is the critical path where messages alone make anybody wait, CriticalConservativeS the one with the
	// waits of the protocol.
	CriticalIdealS        float64 `json:"critical_path_ideal_s"`
	CriticalConservativeS float64 `json:"critical_path_conservative_s"`
	// LookaheadPrice is conservative / ideal: what too short delays and missing promises cost. CorePrice is wall /
	// conservative: what too few cores, the transport and the dispatcher cost. Both are 1 where nothing is lost, and 0 where
	// nobody computed.
	LookaheadPrice float64 `json:"lookahead_price"`
	CorePrice      float64 `json:"core_price"`
	// CoresFor90 is how many cores bring the run within 90 % of its speed with any number of them, for sure.
	CoresFor90 int     `json:"cores_for_90_percent"`
	Bounds     []Bound `json:"bounds"`

	Clients []ClientReport `json:"clients"` // in order of name
	Links   []LinkReport   `json:"links"`   // that carried messages or held somebody back, the worst first
	Blame   []BlameReport  `json:"blame"`   // who waited for whom, the longest first
	// BlameRestS is what Blame leaves out, where it would be very long.
	BlameRestS float64 `json:"blame_rest_s"`
	// BlameResolutionS is how old the answer may be to who holds a client back; 0: it is exact.
	BlameResolutionS float64 `json:"blame_resolution_s"`

	Profile []ProfileReport `json:"parallelism_over_time"`
	Running []RunningReport `json:"running"`

	WhatIfs []Prediction `json:"what_ifs"`
	Advice  []Advice     `json:"advice"`
}

// A Bound says what a run takes on so many cores: at least and, where no core idles while somebody could compute, at most.
type Bound struct {
	Cores  int     `json:"cores"`
	LeastS float64 `json:"least_s"`
	MostS  float64 `json:"most_s"`
	// PlayedS is what is predicted, transport and dispatcher included; 0 where Pack was not asked, or could not say.
	PlayedS float64 `json:"played_s"`
}

// A ClientReport is what a run was for one client.
type ClientReport struct {
	Name        string  `json:"name"`
	WorkS       float64 `json:"work_s"`
	CPUS        float64 `json:"cpu_s"` // processor time, of clients that have a process to themselves; 0: not known
	BlockedS    float64 `json:"blocked_s"`
	OverheadS   float64 `json:"overhead_s"`        // neither: a core that was not free, transport, dispatcher, and not being there
	CoreWaitS   float64 `json:"core_wait_s"`       // for how long it waited for a core while it was to compute
	Utilisation float64 `json:"utilisation_share"` // work / wall
	// HeldS is how long others waited for it, summed over them. CriticalS is its work on the critical path.
	HeldS         float64 `json:"held_s"`
	CriticalS     float64 `json:"critical_s"`
	CriticalShare float64 `json:"critical_share"` // of the wall clock
	// TwiceAsFastS is what the run takes at best if this client computes in half the time.
	TwiceAsFastS float64 `json:"wall_if_twice_as_fast_s"`

	Grants          uint64  `json:"grants"`
	Reports         uint64  `json:"reports"`
	Sends           uint64  `json:"sends"`
	Delivered       uint64  `json:"delivered"`
	ReportsPerGrant float64 `json:"reports_per_grant"`
	// Released is how often a report of it let somebody go on who waited.
	Released uint64 `json:"released"`
	// PromisedShare is how much of the simulated time from each of its reports to its next send that promised, AnnouncedShare what it
	// had promised unless a message came: 1 is perfect. Both are 0 for one that sends nothing.
	PromisedShare  float64 `json:"promised_share"`
	AnnouncedShare float64 `json:"announced_share"`
	ReactionNS     int64   `json:"declared_reaction_sim_ns"`
}

// A LinkReport is what a run was for one link.
type LinkReport struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Channel  string `json:"channel"`
	Messages uint64 `json:"messages"`
	Lost     uint64 `json:"lost"`
	Bytes    uint64 `json:"bytes"`
	// DeclaredNS is the lookahead of the link: 0 is one step. ObservedNS is the least delay of any message, -1 where there
	// was none. A link that never comes near its lookahead could declare more.
	DeclaredNS int64 `json:"declared_delay_sim_ns"`
	ObservedNS int64 `json:"observed_delay_sim_ns"`
	// ReactionNS is the least time from a message that the sender handled to what it then sent on the channel; -1 where it
	// handled none. DeclaredReactionNS is what the sender declared.
	ReactionNS         int64 `json:"observed_reaction_sim_ns"`
	DeclaredReactionNS int64 `json:"declared_reaction_sim_ns"`
	// HeldS is how long somebody waited with this link on the path to whom it waited for.
	HeldS float64 `json:"held_s"`
	// Critical is how often the critical path goes over it, and CriticalS the work that the path then has before it goes over
	// the next.
	Critical  uint64  `json:"critical_count"`
	CriticalS float64 `json:"critical_s"`
	// MoreDelay says how much of HeldS would end if the link were longer, for several lengths, the least first; and HalfNS by
	// how much it had to be, at the least, to end half of it: -1 where nothing does. What is won is less where another link
	// holds the same clients.
	MoreDelay []DelayReport `json:"more_delay,omitempty"`
	HalfNS    int64         `json:"more_delay_for_half_sim_ns"`
}

// A DelayReport says how much waiting behind a link would end if its delay were longer by MoreNS.
type DelayReport struct {
	MoreNS int64   `json:"more_sim_ns"`
	EndsS  float64 `json:"ends_s"`
}

// A BlameReport says how long one client waited for another. HeldBy is empty where the run was paced or paused.
type BlameReport struct {
	Waiting  string  `json:"waiting"`
	HeldBy   string  `json:"held_by"`
	BlockedS float64 `json:"blocked_s"`
}

// A ProfileReport is a piece of the run: how many clients computed at once in it, and how many were authorized to, on
// average.
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

// maxBlame is how many rows a report has of who waited for whom.
const maxBlame = 4096

// New computes the report of a timeline, all but its WhatIfs.
func New(t *Timeline) *Report {
	s := &t.stats
	r := &Report{
		Format: 1, WallS: seconds(t.Wall()), CriticalIdealS: seconds(s.ideal), CriticalConservativeS: seconds(s.path.length),
		SimNS: int64(s.end), Cores: t.Cores, BlameResolutionS: seconds(s.blurred), WhatIfs: []Prediction{},
	}
	if t.Torn != nil {
		r.Torn = t.Torn.Error()
	}
	held := r.blame(t)
	for i := range s.clients {
		r.Clients = append(r.Clients, client(t, i, held[i]))
		c := &s.clients[i]
		r.WorkS += seconds(c.work)
		r.CPUS += seconds(c.cpu)
		r.CoreWaitS += seconds(c.coreless)
		r.Grants += c.grants
		r.Ahead += c.ahead
		r.Reports += c.reports
		r.Sends += c.sends
	}
	r.Parallelism = ratio(r.WorkS, r.WallS)
	r.LookaheadPrice = ratio(r.CriticalConservativeS, r.CriticalIdealS)
	r.CorePrice = ratio(r.WallS, r.CriticalConservativeS)
	r.bounds(len(s.clients))
	r.links(t)
	for _, p := range t.Profile {
		r.Profile = append(r.Profile, ProfileReport{seconds(p.End - t.Begin), int64(p.Now), p.Computing, p.Running})
	}
	for n, took := range t.Running {
		r.Running = append(r.Running, RunningReport{n, seconds(took)})
	}
	r.Advice = advise(t, r)
	return r
}

func client(t *Timeline, i int, held int64) ClientReport {
	c, path := &t.stats.clients[i], &t.stats.path.clients[i]
	wall := t.Wall()
	return ClientReport{
		Name: t.Names[i], WorkS: seconds(c.work), CPUS: seconds(c.cpu), BlockedS: seconds(c.blocked),
		CoreWaitS: seconds(c.coreless), OverheadS: seconds(wall - c.work - c.blocked),
		Utilisation: ratio(seconds(c.work), seconds(wall)), HeldS: seconds(held), CriticalS: seconds(path.work),
		CriticalShare: ratio(seconds(path.work), seconds(wall)), TwiceAsFastS: seconds(wall - path.work/2),
		Grants: c.grants, Reports: c.reports, Sends: c.sends, Delivered: c.delivered,
		ReportsPerGrant: ratio(float64(c.reports), float64(c.grants)), Released: c.released,
		PromisedShare: ratio(c.promised, c.could), AnnouncedShare: ratio(c.announced, c.could), ReactionNS: int64(c.reaction),
	}
}

// blame fills in who waited for whom, and returns how long others waited for each client.
func (r *Report) blame(t *Timeline) []int64 {
	held := make([]int64, len(t.Names))
	r.Blame = []BlameReport{}
	var rest int64
	for _, p := range t.stats.pairs {
		b := BlameReport{Waiting: t.Names[p.Waiting], BlockedS: seconds(p.Blocked)}
		if p.HeldBy != Nobody {
			b.HeldBy = t.Names[p.HeldBy]
			held[p.HeldBy] += p.Blocked
		} else {
			r.PacedS += seconds(p.Blocked) / float64(len(t.Names))
		}
		if len(r.Blame) < maxBlame {
			r.Blame = append(r.Blame, b)
		} else {
			rest += p.Blocked
		}
	}
	r.BlameRestS = seconds(rest)
	return held
}

// bounds says what the run takes on so many cores: 1, 2, 4, ..., those that it had, and one for each client, as more are of no
// use.
func (r *Report) bounds(clients int) {
	const most = 128
	numbers := []int{min(clients, most)}
	for p := 1; p < min(clients, most); p *= 2 {
		numbers = append(numbers, p)
	}
	if r.Cores > 0 && r.Cores < min(clients, most) {
		numbers = append(numbers, r.Cores)
	}
	slices.Sort(numbers)
	path := r.CriticalConservativeS
	for _, p := range slices.Compact(numbers) {
		share := r.WorkS / float64(p)
		r.Bounds = append(r.Bounds, Bound{Cores: p, LeastS: max(share, path), MostS: share + path - path/float64(p)})
	}
	// The run is within 90 % of its speed where MostS <= path/0.9.
	r.CoresFor90 = 1
	if path > 0 {
		r.CoresFor90 = min(clients, max(1, int(math.Ceil(9*(r.WorkS-path)/path-1e-9))))
	}
}

// links fills in the table of links.
func (r *Report) links(t *Timeline) {
	r.Links = []LinkReport{}
	ids := make([]LinkID, 0, len(t.stats.links))
	for id := range t.stats.links {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b LinkID) int {
		return cmp.Or(cmp.Compare(t.stats.links[b].blamed, t.stats.links[a].blamed), a.compare(b))
	})
	for _, id := range ids {
		l := t.stats.links[id]
		row := LinkReport{
			From: t.Names[id.From], To: t.Names[id.To], Channel: t.Channels[id.Channel],
			Messages: l.messages, Lost: l.lost, Bytes: l.bytes, DeclaredNS: int64(l.declared), ObservedNS: -1, ReactionNS: -1,
			DeclaredReactionNS: int64(t.stats.clients[id.From].reaction),
			HeldS:              seconds(l.blamed), Critical: t.stats.path.links[id].entered,
			CriticalS: seconds(t.stats.path.links[id].work),
		}
		row.MoreDelay, row.HalfNS = curve(t.stats.curves[id], l.blamed)
		if l.least != metasim.Forever {
			row.ObservedNS = int64(l.least)
		}
		if reaction, known := t.stats.pubs[publication{id.From, row.Channel}]; known {
			row.ReactionNS = int64(reaction)
		}
		r.Links = append(r.Links, row)
	}
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// ratio is a/b, or 0 where there is no b.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
