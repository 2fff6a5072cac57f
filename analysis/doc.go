// Package analysis is the root of the packages that say what a recorded run cost and why: how parallel it was, how parallel it could have
// been, which client held which other client back over which link, and what would make the run faster.
//
//	trace    reads the journal into a timeline: which client computed, which waited for which, over which links
//	predict  simulates the run under other conditions
//	report   computes the numbers and the advice, and writes them as text and JSON
//	show     writes a page, a trace for Perfetto and plots
//
// A package imports only those above it. The tests of all of them together are in this folder. Nothing is recorded for an analysis but the
// journal.
//
// # The formulas
//
// Let w be what a client computes between two of its events, W the sum of all w, and T the wall-clock time from Begin to the end. The
// parallelism is W/T. Each client has a clock C that w advances. After an event,
//
//	C = w + max(C before, C of the sender of each message that was handled)
//
// The greatest C is the ideal critical path: what the run takes if clients wait for messages alone (Berry and Jefferson 1985; Lin 1992 for
// the form without a trace). The conservative critical path has a second clock. That clock also takes the maximum with the clock of the
// client whose report led to an authorization: these are the waits of the protocol. If several clients reported in the same pass it is the
// one on the path to the root. For an authorization ahead of need it is the client that reported last, and it counts from the instant on
// for which the authorization is needed. What a client computed before a message reached it does not come after the message. So
// ideal <= conservative <= T. A test finds the same numbers as the longest paths in the graph of all pieces of work.
//
// With p cores a run takes at least max(W/p, path). If no core idles while a client could compute, it takes at most
// W/p + path (1 - 1/p) (Graham 1966, Brent 1974).
//
// If there are fewer cores than computing clients, w is the time that a client reports without the time that it waited for a core. So W is
// at most what the cores can do.
//
// A client that waits for the instant T and is safe before E lacks T - E and a nanosecond. If the least delay of a link on the path to the
// root were longer by that, the path would not hold the client. Let V(x) be how long clients waited behind the link while they lacked at
// most x. Then a delay that is longer by x ends V(x), if no other path holds the clients.
package analysis
