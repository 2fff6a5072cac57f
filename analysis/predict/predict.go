package predict

import (
	"fmt"
	"math"

	"metasim/analysis/trace"
	"metasim/internal/fifo"
	"metasim/internal/pq"
	"metasim/metasim"
)

// A Prediction says how long a run would take if something were different.
type Prediction struct {
	// Change is what would be different, as --what-if takes it; several are separated by blanks. Empty: nothing.
	Change string  `json:"change"`
	WallS  float64 `json:"wall_s"`
	// GainShare is the share of the wall-clock time that is saved; negative if the run gets slower.
	GainShare float64 `json:"gain_share"`
	// ChangesModel: messages would arrive at other times, so that the clients may do something else. The Prediction is the speed of
	// a run that does the same work. It does not predict the results of that run.
	ChangesModel bool `json:"changes_model"`
	// WorkShare is the share of the acts of the run that would still happen: less than 1 where other messages are lost.
	WorkShare float64 `json:"work_share"`
}

// Played compares a run with a simulation of the run as it was: so good is the simulation.
type Played struct {
	PlayedS   float64 `json:"played_s"`
	MeasuredS float64 `json:"measured_s"` // without pace and pauses
	// Beginning: both are of the beginning of a long run.
	Beginning bool `json:"beginning,omitempty"`
	// Trusted: they differ by at most 15 %. If not, nothing is predicted.
	Trusted bool `json:"trusted"`
	// Least is the least gain that is worth a line, as a share of the run: what gains less may gain nothing. It is the error of the
	// simulation, and 15 % of what the machine takes of the run: its costs are estimated, while the work is measured.
	Least float64 `json:"least_gain_share"`
}

// Error returns the relative error of the simulation.
func (p *Played) Error() float64 {
	return math.Abs(p.PlayedS-p.MeasuredS) / max(p.MeasuredS, 1e-9)
}

// An UntrustedError means that the simulation of the run as it was took another time than the run, so that nothing is predicted. Something
// slowed the run down that its journal does not show, such as other programs on the machine.
type UntrustedError struct{ Played Played }

func (e *UntrustedError) Error() string {
	return fmt.Sprintf("a simulation of the run as it was takes %.3g s instead of %.3g s, so no prediction is to be trusted; "+
		"was the machine busy with something else?", e.Played.PlayedS, e.Played.MeasuredS)
}

// A Model predicts a recorded run under other conditions. A Model has caches: use it from one goroutine at a time.
type Model struct {
	t         *trace.Timeline
	whole     *workload
	beginning *workload // nil: not needed yet
}

// A workload is what the simulator repeats, and at which costs.
type workload struct {
	*trace.Log
	free   bool // communication costs nothing, and every client has a core
	costs  costs
	frames float64 // with this factor of the usual costs the server's rounds take as long as they were measured to take; 0: not measured
	fitted int64   // what the simulator takes at these costs, in nanoseconds; 0: the costs are not fitted yet
}

// A simulator is a discrete-event simulation of a run on a machine: the real dispatcher, a model of each client and of the server, and a
// wall clock that is counted. To compute, to write and to read takes a core for some time, for clients and for the server.
type simulator struct {
	d        *metasim.Dispatcher
	clients  []*clientModel
	server   serverModel
	channels []string
	payload  []byte // as long as the longest one
	costs    costs
	cores    int // 0: as many as are wanted
	busy     int
	shared   bool                   // clients in the server's process share one worker, and the server uses it too
	line     line                   // for that worker
	lines    []*line                // of all processes with several clients, the server's first
	waiting  fifo.Queue[cpuRequest] // for a core
	events   pq.Queue[event]
	sends    pool[metasim.Send] // events that the dispatcher has taken, to be used again
	advances pool[metasim.Advance]
	polls    pool[metasim.PollWait]
	path     int64  // the longest chain of work
	computes int64  // the work that took a core
	waited   int64  // how long clients waited for a core, summed over them
	rounds   int64  // how long the server's rounds took, without reading
	acts     int    // of the run
	idle     int    // workers of the server's process whose client waits since the last round
	count    uint64 // of events so far
	wall     int64
	err      error
}

// A cpuRequest asks for a core for some time.
type cpuRequest struct {
	client *clientModel // nil: a process that was woken looks for more to do
	took   int64
	since  int64 // when it was made
}

// An event of the simulator ends an activity of a client or of the server.
type event struct {
	wall   int64
	order  uint64       // of two events at the same time the one that was scheduled first comes first
	client *clientModel // nil: the server, or a process that looked for more to do
	then   func(*simulator, *clientModel)
}

// A serverModel works in rounds. A round takes all events that have arrived, and ends with writing what the dispatcher decided.
type serverModel struct {
	state      serverState
	inbox      []metasim.Event
	spare      []metasim.Event // memory of the inbox before
	reading    int64           // what it costs to read the inbox, in nanoseconds
	stepping   int64           // the part of reading that is not about frames: the dispatcher takes the events
	writing    int64           // what it costs to write what this round decided
	recipients []*clientModel  // the clients that this round writes to
}

type serverState uint8

const (
	idle    serverState = iota
	waking              // it will notice its inbox
	ready               // there may be something in the inbox
	working             // in a round
)

// A clientModel repeats what a client did. It acts when a timer or a message made the client act. So if a message arrives at another
// time, its consequences move too: an act that a message caused happens when the message arrives, and a timer keeps its distance to
// the act that set it.
type clientModel struct {
	log     *trace.ClientLog
	id      metasim.ClientID
	inside  bool                      // in the server's process
	process *process                  // that it shares with other clients, not the server's; nil: none
	origins []uint64                  // by its sends: which send of the run it is; nil: the same
	again   bool                      // messages may come that came before, as a client has another period
	causes  map[trace.MessageID]int32 // the act that a message causes
	copies  map[int32]int32           // by the act that a message causes: the act that its duplicate causes
	setters []int32                   // by act: the act that set its timer; -1: none
	lastSet []int32                   // by act: the last act whose timer it set; 0: none
	speed   float64
	react   metasim.Time   // the reaction time
	ahead   metasim.Time   // how far it promises to send nothing, as far as that is true; 0: as in the run
	silence []metasim.Time // by act: how long the client sent nothing afterwards; only if ahead is set

	now, granted metasim.Instant
	timers       []timer                     // the next one first
	announced    metasim.Instant             // its next event if no timer is set
	floor        metasim.Instant             // its promise
	inbox        fifo.Queue[metasim.Message] // with the sequence numbers of the run
	sent         []uint64                    // by the new sequence number of a send: that of the run
	sentPath     []int64                     // by the same number: path at the send
	path         int64                       // the longest chain of work that ends here, in nanoseconds
	paths        fifo.Queue[int64]           // path of the sender, for each message in inbox
	acked        uint64
	undone       int     // acts that have not happened
	acts         []int32 // that it does now
	left         bool

	outbox  []metasim.Event // not written yet
	since   int64           // when the first of outbox was put there
	polls   bool            // it waits after writing
	waits   bool
	quiet   metasim.Instant // before it acts beyond this, its reports help no client
	inbound inbound
	unread  int   // messages that it has received and not read
	reading int64 // what it costs to read what it has received, in nanoseconds
	shares  bool  // it uses the worker of a line
	ready   bool  // it has not begun to compute
	late    bool  // what it writes goes with the next frame of its process
	slept   bool  // during its acts: only the end of them needs a core
}

// A line is where the clients of a process wait that compute little: they share one worker.
type line struct {
	waiting fifo.Queue[cpuRequest] // for the worker, and a core
	taken   bool                   // the worker is busy
}

// A process holds several clients, which share a connection: what they write while another one of them is ready goes in one frame.
type process struct {
	line   line
	active int            // clients that do not wait
	ready  int            // of these, those that have not begun to compute
	wakes  int64          // when it has noticed the frame that woke it
	late   []*clientModel // their outboxes go with the next frame
	told   bool           // the server's round writes to it
}

// inbound is what the server writes to a client at the end of a round.
type inbound struct {
	any            bool
	messages       []metasim.Message
	paths          []int64 // path of their senders
	granted, quiet metasim.Instant
}

// A timer makes a client model act.
type timer struct {
	at  metasim.Instant
	act int32
}
