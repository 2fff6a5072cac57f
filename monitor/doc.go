// Package monitor shows a run while it goes on, to people and to their tools: what each client does and waits for, which client holds up
// the others, and why nothing moves. It also lets them pause the run, step it and end it.
//
// A Monitor takes a snapshot of a server when a view is asked for, and not too often; Remember takes one now and then for the history. Its
// Handler serves the views: a page, JSON, server-sent events and metrics for Prometheus. Dial, Open and Find are the other end: they ask a
// run in another process.
//
// Nothing here can change a result: a snapshot takes a moment of the server's time, and a pause changes when something is computed, never
// what. Nothing here ends a client.
//
//	monitor.go    the types: a monitor, a view, a process
//	why.go        why a run or a client does not go on; a warning when nothing moves
//	view.go       a view from a snapshot
//	rates.go      what was measured over a time: rates, who held up others, until when it takes
//	rows.go       which rows are wanted: sorted, filtered, grouped
//	explain.go    sentences that say what waits for what
//	blame.go      which client the others wait for
//	process.go    what the process of a client does; _linux: from /proc
//	snapshot.go   questions to a snapshot
//	text.go       instants and times as text
//	handler.go    HTTP: the page, JSON, events; what needs the token
//	login.go      who is known from outside: a password, and the cookie for it
//	answer.go     how HTTP is answered
//	metrics.go    Prometheus
//	control.go    commands
//	remote.go     a run in another process
//
// # Duties of the caller
//
//  1. Find out with AccessOf what a listener needs, and give Handler a token unless access is Private.
//  2. Call Close when the run is over, so that viewers see its end.
package monitor
