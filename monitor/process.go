package monitor

import (
	"context"
	"fmt"
	"time"
)

// busy is the share of a core from which on a process computes, even if it was asleep at the last sample. A process that is ready to run
// and uses less has to wait for a processor.
const busy = 0.05

// examine watches a process for a time: 200 ms are enough.
func examine(ctx context.Context, pid int, over time.Duration) processState {
	before := probe(pid)
	if before.final() {
		return since(processState{}, before)
	}
	select {
	case <-time.After(over):
	case <-ctx.Done():
	}
	return since(before, probe(pid))
}

// final reports whether a later state has nothing to compare with.
func (v *processState) final() bool { return v.condition == unknown || v.condition == hasEnded }

// since compares two states of a process. Without an earlier one it is not known how much the process computed.
func since(before, after processState) processState {
	after.cores = -1
	if before.at.IsZero() || after.final() {
		return after
	}
	after.cores = (after.cpu - before.cpu).Seconds() / after.at.Sub(before.at).Seconds()
	if after.condition == sleeps && after.cores >= busy {
		after.condition, after.in = runs, ""
	}
	return after
}

// idle reports whether a process is known not to compute.
func (v *processState) idle() bool { return v.condition != unknown && v.condition != runs }

// words says what a process does, as the rest of a sentence about its client.
func (v *processState) words(pid int) string {
	in := ""
	if v.in != "" {
		in = " (" + v.in + ")"
	}
	load := ""
	if v.cores >= 0 {
		load = fmt.Sprintf(", %.0f %% of a core", 100*v.cores)
	}
	name := fmt.Sprintf("process %d", pid)
	switch v.condition {
	case runs:
		if v.cores >= 0 && v.cores < busy {
			return name + load + ", because other processes have the processors"
		}
		return name + load
	case sleeps:
		return name + " sleeps in the kernel" + in + load
	case stuck:
		return name + " is stuck in the kernel" + in + ", where no signal reaches it: it waits for a disk or a network file system"
	case stopped:
		return name + fmt.Sprintf(" was stopped by a signal: kill -CONT %d lets it go on", pid)
	case traced:
		if v.tracer != "" {
			return name + " is held by a debugger: " + v.tracer
		}
		return name + " is held by a debugger"
	case hasEnded:
		return name + " has ended"
	}
	return name
}
