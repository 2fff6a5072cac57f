// Package bench measures metasim on the workloads of the field, each beside what the machine could do at best: a floor,
// measured in the same run.
//
//	bench.go      all workloads in order, repetitions, medians; what another process of this program does
//	(the others)  one family of workloads each
//	run.go        one run of a scenario: the server here, its clients here or in other processes
//	clients.go    connects and runs the clients of a scenario
//	processes.go  the other processes: this program again, with a job on its standard input
//	raw_*.go      floors: sockets, goroutines, a heap, the codec, without any metasim
//	result.go     figures, the table, and the machine that it is from
//	types.go      the types that all files share
//
// # How to read a result
//
// A value is the median of the repetitions. A ratio says how far we are from the floor: 1 is at the floor, 3 takes three
// times as long. Ratios travel from machine to machine, values do not.
//
// The run's digest and its journal (written to a temporary directory) are on, as they are for users, unless a workload's
// parameters say `journal: false`.
//
// # Duties of the caller
//
//  1. Options.Self starts a program that calls Child and nothing else.
//  2. Nothing else should run on the machine; where something does, floors suffer too, and ratios less than values.
//  3. Nothing fails on a time: benchmarks are no tests.
package bench
