package monitor

import (
	"context"
	"fmt"
	"time"
)

// A Process is where a client lives.
type Process struct {
	PID     int  // 0: not known
	Inside  bool // it is a model in the server's own process
	Outside bool // somebody else starts it
	// Said returns the last line of its output as plain text, empty for none. Nil where somebody else started it.
	Said func() string
}

// Vitals are what the system knows of a process.
type Vitals struct {
	Condition Condition
	Cores     float64 // how many cores it used while it was watched; negative: not known
	In        string  // what its threads wait for, in words; empty where the system does not tell
	Tracer    string  // of one that is held: by whom, in words; may be empty
}

// A Condition is what a process does.
type Condition uint8

const (
	Unknown  Condition = iota // this system does not tell
	Runs                      // it computes, or would if it had a processor
	Sleeps                    // all of its threads wait in the kernel: for a timer, a message, a lock
	Stuck                     // in the kernel, where no signal reaches it: a disk, a network file system
	Stopped                   // by a signal, as SIGSTOP
	Traced                    // by a debugger
	HasEnded                  //
)

func (c Condition) String() string {
	return [...]string{"unknown", "running", "asleep in the kernel", "stuck in the kernel", "stopped", "held by a debugger", "ended"}[c]
}

// busy is the share of a core from which on a process counts as one that computes, though it was asleep when it was looked
// at; one that is ready to run, and has less, is kept from it by others.
const busy = 0.05

// Examine watches a process for a time: 200 ms tell enough.
func Examine(ctx context.Context, pid int, over time.Duration) Vitals {
	before := probe(pid)
	if before.fleeting() {
		return since(glimpse{}, before)
	}
	timer := time.NewTimer(over)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return since(before, probe(pid))
}

// A glimpse is a process at one moment.
type glimpse struct {
	at         time.Time
	condition  Condition
	cpu        time.Duration // so far
	in, tracer string
}

// fleeting reports whether there is nothing to compare with later.
func (g *glimpse) fleeting() bool { return g.condition == Unknown || g.condition == HasEnded }

// since is what became of a process from one moment to another; without an earlier one it is not known how much it
// computed.
func since(before, after glimpse) Vitals {
	v := Vitals{Condition: after.condition, Cores: -1, In: after.in, Tracer: after.tracer}
	if before.at.IsZero() || after.fleeting() {
		return v
	}
	v.Cores = (after.cpu - before.cpu).Seconds() / after.at.Sub(before.at).Seconds()
	if v.Condition == Sleeps && v.Cores >= busy {
		v.Condition, v.In = Runs, ""
	}
	return v
}

// idle reports that a process does nothing of which it could be said that it computes.
func (v *Vitals) idle() bool { return v.Condition != Unknown && v.Condition != Runs }

// words says it as part of a sentence that began with whose process it is.
func (v *Vitals) words(pid int) string {
	in := ""
	if v.In != "" {
		in = " (" + v.In + ")"
	}
	load := ""
	if v.Cores >= 0 {
		load = fmt.Sprintf(", %.0f %% of a core", 100*v.Cores)
	}
	who := fmt.Sprintf("process %d", pid)
	switch v.Condition {
	case Runs:
		if v.Cores >= 0 && v.Cores < busy {
			return who + load + ", as others have the processors"
		}
		return who + load
	case Sleeps:
		return who + " sleeps in the kernel" + in + load
	case Stuck:
		return who + " is stuck in the kernel" + in + ", where no signal reaches it: a disk, or a file system of the network"
	case Stopped:
		return who + fmt.Sprintf(" was stopped by a signal: kill -CONT %d lets it go on", pid)
	case Traced:
		if v.Tracer != "" {
			return who + " is held by a debugger: " + v.Tracer
		}
		return who + " is held by a debugger"
	case HasEnded:
		return who + " has ended"
	}
	return who
}
