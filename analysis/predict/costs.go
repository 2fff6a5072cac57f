package predict

// A cost is what it takes the server and one client to communicate, in nanoseconds.
type cost struct {
	end   int64 // of a frame: for the writer, and again for the reader
	item  int64 // of each event and message in it, for the client
	serve int64 // of each event and message in it, for the server
	wake  int64 // until a waiting process has noticed the frame; this takes no core
	spin  int64 // afterwards that process looks for more to do, on another core
}

// The usual costs, measured with Go on Linux. On one core a write between processes costs an eighth less, as no process is woken on
// another core.
var (
	usualInside  = cost{end: 300, serve: 500, wake: 5000}
	usualOutside = cost{end: 8000, item: 700, serve: 1000, wake: 5000, spin: 20_000}
)

// costs are those of a run. The zero value: communication is free, and clients write every report at once.
type costs struct {
	inside  cost // of clients in the server's process; wake is until a worker of the process goes on that had nothing to do
	outside cost
	known   bool
}

// usualCosts returns the usual costs, those of frames and those of wake-ups times a factor each.
func usualCosts(frames, wakes float64) costs {
	return costs{usualInside.times(frames, wakes), usualOutside.times(frames, wakes), true}
}

func (c cost) times(frames, wakes float64) cost {
	times := func(ns int64, factor float64) int64 { return int64(float64(ns) * factor) }
	return cost{times(c.end, frames), times(c.item, frames), times(c.serve, frames), times(c.wake, wakes), times(c.spin, frames)}
}

// To wake a process or a thread took 5 us on a real machine and 70 us on a virtual one. A frame cost nearly the same on both. So frames and
// wake-ups have a factor each. The factor of frames makes the simulated rounds of the server as long as the manifest says. The factor of
// wake-ups explains the rest. A manifest without rounds gives one factor for both.
const (
	mostFrames = 2  // times what was measured or, if nothing was measured, times the usual costs
	mostWakes  = 20 // times the usual costs, if frames were measured
)

// at returns the costs at a point from 0 (all is free) to the last one that explains a run; 1 is what was measured, or what is usual.
func (w *workload) at(point float64) costs {
	if w.frames == 0 {
		return usualCosts(point, point)
	}
	more := max(0, point-1) / (mostWakes - 1) * (mostFrames - 1)
	return usualCosts(w.frames*min(1+min(more, mostFrames-1), point), w.frames*point)
}

// inProcess is the transport of clients in the server's process.
const inProcess = "mem"

// transportCosts is how long a round trip between two processes takes over each transport, over that of unix. The figures are those of
// docs/performance.md: 10,500 round trips/s with unix, 16,300 with shm, 6,810 with tcp and 3,190 with quic (ping-pong, processes=2, 64 bytes).
var transportCosts = []transportRatio{{"shm", 10_500. / 16_300, true}, {"unix", 1, true}, {"tcp", 10_500. / 6_810, false}, {"quic", 10_500. / 3_190, false}}

type transportRatio struct {
	name  string
	cost  float64
	local bool // on one host only
}

// transportCost returns what a frame costs over a transport, over what it costs over unix; 1 if that is not known.
func transportCost(name string) float64 {
	for _, t := range transportCosts {
		if t.name == name {
			return t.cost
		}
	}
	return 1
}
