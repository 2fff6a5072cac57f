package live

import (
	"context"
	"fmt"
	"time"
)

// A Process is where a client lives.
type Process struct {
	PID    int  // 0: not known
	Inside bool // it is a model in the server's own process
	// Said returns the last line of its output, empty for none. Nil where somebody else started it.
	Said func() string
}

// Vitals are what the system knows of a process.
type Vitals struct {
	Condition Condition
	Cores     float64 // how many cores it used while it was watched; negative: not known
	In        string  // what it sleeps for, in words; empty where the system does not tell
}

// A Condition is what a process does.
type Condition uint8

const (
	Unknown  Condition = iota // this system does not tell
	Runs                      // it computes
	Sleeps                    // all of its threads wait in the kernel: for a timer, a message, a lock
	Stuck                     // in the kernel, where no signal reaches it: a disk, a network file system
	Stopped                   // by SIGSTOP, or a debugger
	HasEnded                  //
)

func (c Condition) String() string {
	return [...]string{"unknown", "running", "asleep in the kernel", "stuck in the kernel", "stopped", "ended"}[c]
}

// busy is the share of a core from which on a process counts as one that computes, though it was asleep when it was looked
// at.
const busy = 0.05

// Examine watches a process for a time: 200 ms tell enough.
func Examine(ctx context.Context, pid int, over time.Duration) Vitals {
	before, ok := probe(pid)
	if !ok {
		return Vitals{Condition: before.condition, Cores: -1}
	}
	timer := time.NewTimer(over)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	after, ok := probe(pid)
	if !ok {
		return Vitals{Condition: after.condition, Cores: -1}
	}
	v := Vitals{Condition: after.condition, In: after.in}
	v.Cores = (after.cpu - before.cpu).Seconds() / after.at.Sub(before.at).Seconds()
	if v.Condition == Sleeps && v.Cores >= busy {
		v.Condition, v.In = Runs, ""
	}
	return v
}

// A glimpse is a process at one moment.
type glimpse struct {
	at        time.Time
	condition Condition
	cpu       time.Duration // so far
	in        string
}

// words says it as part of a sentence that began with whose process it is.
func (v Vitals) words(pid int) string {
	in := ""
	if v.In != "" {
		in = " (" + v.In + ")"
	}
	load := ""
	if v.Cores >= 0 {
		load = fmt.Sprintf(", %.0f %% of a core", 100*v.Cores)
	}
	switch v.Condition {
	case Runs:
		return fmt.Sprintf("process %d%s", pid, load)
	case Sleeps:
		return fmt.Sprintf("process %d sleeps in the kernel%s%s", pid, in, load)
	case Stuck:
		return fmt.Sprintf("process %d is stuck in the kernel%s, where no signal reaches it: a disk, or a file system of the network", pid, in)
	case Stopped:
		return fmt.Sprintf("process %d is stopped, by a signal or a debugger: kill -CONT %d lets it go on", pid, pid)
	case HasEnded:
		return fmt.Sprintf("process %d has ended", pid)
	}
	return fmt.Sprintf("process %d", pid)
}
