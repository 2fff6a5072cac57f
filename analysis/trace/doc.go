// Package trace reads the journal of a run into a Timeline: what each client computed, when it waited, for which client and over which links,
// what the critical paths are, and what each client did, act by act.
//
//	run, err := record.OpenToReplay("runs/ping-pong-1")
//	source, err := trace.Open(run)
//	timeline, err := trace.Read(source)
//
// The journal has events and effects only. Read passes the events to a dispatcher again, and asks it what it does not write into the
// journal: which client holds which other client back. Package analysis defines the critical paths.
//
//	trace.go      the types
//	read.go       Read: entry by entry, pass by pass
//	events.go     what an event or an effect means for the clients
//	totals.go     the sums over the run, and how accurate promises were
//	path.go       both critical paths, as clocks that travel with messages
//	computing.go  how long a client computed, and how long it waited for a core
//	blame.go      which client holds a waiting client back, when that changes, and by how much simulated time
//	profile.go    how many clients computed at once
//	log.go        what every client did, with the acts that no report mentions
//	links.go      numbers of links and channels
//
// # Duties of the caller
//
//  1. The Config of a Source is that of the run, with fresh Delays: links have state.
//  2. The journal may break off. Timeline.Torn says so. The Timeline covers what comes before.
package trace
