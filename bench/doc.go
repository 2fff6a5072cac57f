// Package bench measures metasim on the workloads of the field, each beside what the machine could do at best: a floor,
// measured in the same run.
//
//	bench.go      workloads, repetitions, medians, results
//	list.go       all workloads there are
//	print.go      the table, and the machine it is from
//	stage.go      a run of a cast: the server here, clients here or in other processes
//	player.go     what a client of a workload is
//	child.go      the other processes: this program again, with a job on its standard input
//	raw_*.go      floors: sockets, goroutines, a heap, the codec, without any metasim
//	(the others)  one family of workloads each
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
