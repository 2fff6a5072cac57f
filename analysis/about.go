package analysis

import "metasim/record/journal"

// About takes up what the manifest of a run says of it beside its journal.
func (r *Report) About(m *journal.Manifest) {
	r.Scenario, r.Error, r.Digest, r.Deterministic = m.Scenario, m.Error, m.Digest, m.Deterministic
	if t := m.Traffic; t != nil {
		r.Traffic = t
		r.FramesPerGrant = ratio(float64(t.FramesIn+t.FramesOut), float64(r.Grants))
		r.BytesPerGrant = ratio(float64(t.BytesIn+t.BytesOut), float64(r.Grants))
	}
}

// paced is the share of the wall clock from which on it is the pace that says how long a run takes.
const paced = 0.5

// Paced reports whether the run took as long as it did because it was paced, or paused: then nothing else would have made it
// faster.
func (r *Report) Paced() bool { return r.PacedS >= paced*r.WallS && r.PacedS > 0 }

// Machine says in words what stands between the conservative critical path and the wall clock.
func (r *Report) Machine() string {
	const rest = "transport and dispatcher"
	switch {
	case r.Paced():
		return "the pace of the run, " + rest
	case r.CoreWaitS >= 0.01*r.WorkS && r.CoreWaitS > 0:
		return "waiting for one of " + plural(uint64(r.Cores), "core") + ", " + rest
	case r.Cores == 0:
		return "too few cores, " + rest
	case r.Cores >= len(r.Clients):
		return rest
	}
	return "only " + plural(uint64(r.Cores), "core") + ", " + rest
}
