// Package supervisor starts the programs of a run, and makes sure that no process which they start outlives the run.
//
// The supervisor is a process of its own between metasim and the programs, because a metasim that is killed cannot clean up. Its
// standard input ends when metasim ends, for whatever reason; then the supervisor ends every process below it. On Linux it is a child
// subreaper: it becomes the parent of each process that loses its own, even in another process group or session. On other systems it
// can end the process groups only.
//
// Requests and events are JSON objects, one a line: requests on the standard input, events on the standard output. So a supervisor may be on another
// host, where ssh or a cluster starts it: it ends when the connection ends, with all that it has started there. Then the environment of a
// program is that of the supervisor with more behind it, what the program writes comes back in events, and it is signalled by a request. The connection may
// break without a word. So metasim asks for an answer again and again: who hears nothing for a while, on either side, takes the other for lost.
package supervisor

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
)

// A Program is what the supervisor starts for a client.
type Program struct {
	Client string   `json:"client"`
	Argv   []string `json:"argv"`
	Dir    string   `json:"dir"`
	Env    []string `json:"env"`    // the whole environment; on another host, what is added to the one there
	Stdout string   `json:"stdout"` // a file on the host of metasim
	Stderr string   `json:"stderr"`
	Limit  int64    `json:"limit"` // of each of these two outputs, in bytes
}

// MarkName is the variable of the environment by which it is known whose supervisor has started a process on another host. What that starts inherits it.
const MarkName = "METASIM_SUPERVISOR"

// marked adds a mark to the environment of a program; empty: none.
func marked(p Program, mark string) Program {
	if mark != "" {
		p.Env = append(slices.Clone(p.Env), MarkName+"="+mark)
	}
	return p
}

// A Stray is a process that went on without the process that the supervisor had started.
type Stray struct {
	Client  string `json:"client"` // whose program started it; empty if that cannot be told
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

func (s Stray) String() string { return fmt.Sprintf("process %d (%s)", s.PID, s.Command) }

// A request asks the supervisor to start a program, whose process has the number of the request; or to signal the group of that process.
type request struct {
	ID     int    `json:"id"`
	Signal demand `json:"signal,omitempty"`
	Remote bool   `json:"remote,omitempty"` // metasim is on another host
	// Within is when the next request comes at the latest. After that metasim is lost.
	Within time.Duration `json:"within,omitempty"`
	Mark   string        `json:"mark,omitempty"` // of a sweep: whose
	Program
}

// A demand is what a request asks of a process: that a process ends, or that it is ended. Systems have other numbers for that. Or it asks whether the
// supervisor is there.
type demand string

const (
	ask   demand = "terminate"
	force demand = "kill"
	beat  demand = "beat"
	sweep demand = "sweep" // end what another supervisor has left on this host, which was killed
)

// An event tells what became of a process, or of the strays. Text is empty where an exit status is 0.
type event struct {
	Kind   eventKind     `json:"kind"`
	ID     int           `json:"id"`
	PID    int           `json:"pid,omitempty"`
	Text   string        `json:"text,omitempty"`
	Errno  syscall.Errno `json:"errno,omitempty"` // why a program cannot be started, if the system said it
	Strays []Stray       `json:"strays,omitempty"`
	Data   []byte        `json:"data,omitempty"`   // that the process wrote
	Error  bool          `json:"stderr,omitempty"` // to its standard error, not to its standard output
	Caller string        `json:"caller,omitempty"` // of ready: the address of metasim, as this host sees it, where a cluster tells it
}

type eventKind string

const (
	ready   eventKind = "ready" // the supervisor itself; Text is its version
	alive   eventKind = "alive" // the answer to a beat
	started eventKind = "started"
	wrote   eventKind = "wrote"
	refused eventKind = "refused" // it cannot be started
	lossy   eventKind = "lossy"   // its output cannot be written
	noticed eventKind = "noticed" // the host is about to be taken away: a signal says so
	exited  eventKind = "exited"
	alone   eventKind = "alone" // what it had started, and went on without it, has ended too
	ended   eventKind = "ended" // the strays that the supervisor ended
)

const (
	// strayGrace is how long what a program has started may take to end with it, before it is called a stray.
	strayGrace = 200 * time.Millisecond
	// termWait is the time between the request to end (SIGTERM) and the kill.
	termWait = time.Second
	// killWait is how long the system may take to end processes that were killed.
	killWait = 5 * time.Second
	// lookEvery is the time between two looks at processes that are to end.
	lookEvery = 20 * time.Millisecond
	// drainWait is how long after the end of a program its last output may take to arrive.
	drainWait = 50 * time.Millisecond
	// beats is how many answers are asked for in the time after which a side that says nothing is lost.
	beats = 6
	// writeWait is how long the disk may take to write that.
	writeWait = time.Second
)

// terminate asks a process and its group to end.
func terminate(pid int) { signalGroup(pid, syscall.SIGTERM) }

// kill ends a process and its group.
func kill(pid int) { signalGroup(pid, os.Kill) }
