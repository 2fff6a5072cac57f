package bench

import "slices"

// workloads are all there are, in the order of the table: floors first, then what a run is made of, then whole runs.
func workloads() []workload {
	return slices.Concat(
		rawLocal(), rawPingPong(), rawLockStep(),
		pingPong(), lockStep(), throughput(), decision(),
		pholds(), sparse(), helics(),
		idle(), straggler(), star(), crowd(),
		busy(), journals(), traces(),
	)
}
