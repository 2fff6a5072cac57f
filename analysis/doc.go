// Package analysis says what a recorded run cost and why: how parallel it was, how parallel it could have been, who held
// whom back over which link, and what would make it faster.
//
//	tl, err := analysis.Read(analysis.Source{Config: config, Journal: reader})  // the run, as a timeline
//	report := analysis.New(tl)                                                  // the formulas
//	err = report.WriteText(os.Stdout, 80)
//
// Nothing is recorded for it but the journal. What a run's dispatcher knew and did not write down (who held whom back at
// each moment) is found by doing its work again, event by event, with the delays of the run.
//
//	source.go    what is read
//	tracer.go    the dispatcher again, entry by entry
//	watch.go     for how long a client computed
//	path.go      critical paths, as scalars that travel with the messages
//	cores.go     what of it the client waited for a core
//	blame.go     who holds whom back, and when that changes
//	deficit.go   by how much simulated time
//	claim.go     what reports promised, judged by what came of it
//	profile.go   how many computed at once, over the run
//	timeline.go  what is kept: grants, holds, messages
//	worklog.go   what every client did, to do it again
//	untold.go    ... without having told of it
//	ghost.go     who does it again
//	player.go    ... with the real dispatcher, and a wall clock that is counted
//	doing.go     what a ghost does with a core
//	desk.go      ... and what the dispatcher does
//	price.go     what it takes to talk
//	whatif.go    what could be different
//	predict.go   ... and what would come of it
//	report.go    the formulas
//	about.go     what else is known of a run
//	pack.go      what it would take on other numbers of cores
//	advice.go    what to do about it
//	text.go      the report for people
//
// Wall-clock times are nanoseconds since the run began to be served, as in the journal: int64 in what is kept, seconds in
// a Report. Instants are simulated time.
//
// # The formulas
//
// Let w be what a client computed between two of its events, W the sum of all w, and T the wall-clock time from Begin to
// the end. The achieved parallelism is W/T. Each client carries a clock C that w advances: after an event,
//
//	C = w + max(C before, C of the sender of each message that was handled)
//
// so that the greatest C is the ideal critical path: what the run takes where only messages make anybody wait (Berry and
// Jefferson 1985; Lin 1992 for the form without a trace). The conservative critical path has another clock, which also
// takes up that of the client whose report led to an authorization: the protocol's own waits. Of several who spoke at
// the same moment that is one on the path to the root; for an authorization that came ahead of need, from the instant on for which
// it is needed, it is who spoke last. What a client computed before a message reached it does not count as after it, so that
// ideal <= conservative <= T always. A test finds all of that anew as the longest paths of the graph of all pieces of work.
//
// With p cores a run takes at least max(W/p, path) and, if no core idles while somebody could compute, at most
// W/p + path (1 - 1/p) (Graham 1966, Brent 1974).
//
// On a machine with fewer cores than clients that compute, w is what is left of the time that a client says it computed
// when it has waited for a core: see cores.go. So W is at most what the cores can do.
//
// A client that waits for the instant T and is safe before E falls short by T - E and a tick. Were the least delay of a link on
// the path to the root longer by that, the path would hold it no longer: so V(x), what clients waited behind the link while they fell
// short by x at most, is what a delay longer by x ends, as far as nothing else holds them.
//
// # Duties of the caller
//
//  1. The Config is the one of the run, with fresh Delays: links have state.
//  2. The journal may be torn: Timeline.Torn says so, and what is before that is reported.
package analysis
