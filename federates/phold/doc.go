// Package phold is the synthetic workload PHOLD. The client is in client.go; everything else is what its logical processes
// do, and knows no client.
//
// Each of n logical processes (LPs) starts with m events. An LP that executes an event draws a number from 0 to 1; at
// most the share `remote` and it draws a destination from all LPs, itself among them, otherwise it stays where it is;
// it then sends one event there, to be executed after the lookahead and an exponentially distributed time more, so
// that the mean is `mean`. The number of events under way never changes. (R. M. Fujimoto, "Performance of Time Warp
// under synthetic workloads", 1990; in the form that ROSS 8.1.1 runs, models/phold.)
//
// The LPs are spread over blocks, and what they do does not depend on how many: each LP draws from a stream of its own,
// keyed by the seed and its number, in the order of its own events, and events of one LP at one time are executed in
// order of (source, its count). The same bits come out on every processor; see log.go.
//
// The caller's duties: to hand every event that a block emits to the block that owns its destination, at its time at
// the latest, and to execute in order of time.
package phold
