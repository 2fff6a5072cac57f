// Package monitor shows a run while it goes on, to people and to their tools: what each client does and waits for, who holds
// up whom, and why nothing moves; and lets them pause it, step it and end it.
//
// A Monitor looks at a server now and then, for all who want to see it. Its Handler serves what it saw: a page, JSON,
// server-sent events and metrics for Prometheus. Whoever opens a listener says who may reach it, see Access. Dial and Find
// are the other end: they ask a run that is somewhere else.
//
// Nothing here can reach a result: a look takes the machine's turn for a moment, and a pause says when something is
// computed, never what. Nothing here ends a client, either.
package monitor
