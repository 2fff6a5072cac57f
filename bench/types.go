package bench

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"metasim/delay"
	"metasim/federates"
	"metasim/metasim"
	"metasim/server"
)

// Options say what is measured and how.
type Options struct {
	// Quick measures once and briefly, and leaves out what takes long: for a look, not for a record.
	Quick bool
	// Only is a regular expression: workloads whose name and parameters ("lock step n=8 transport=mem") do not match
	// are left out. Floors that are needed are measured all the same. Empty: all.
	Only string
	// Self is the command that starts a process which calls Child.
	Self []string
	// Profile is a directory for CPU profiles, one of each process that serves or takes part. It is made if it is not there.
	// Empty: none.
	Profile string
	// Progress gets a line for each workload. Nil: no lines.
	Progress io.Writer
}

// Params are what tells workloads of one name apart.
type Params map[string]any

// A Result is one figure.
type Result struct {
	Name   string  `json:"name"`
	Params Params  `json:"params"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Floor  float64 `json:"floor"` // what the machine can do, in the same unit; 0: there is none
	Ratio  float64 `json:"ratio"` // how many times as long as the floor it takes; 0: there is no floor
}

// A harness is a benchmark run.
type harness struct {
	Options
	known map[string]Result // by id
	list  []workload
}

// A workload is one line of the table.
type workload struct {
	name    string
	params  Params
	unit    string
	cost    bool    // the smaller the better: not a rate
	floor   string  // the id of the workload that is its floor
	bound   float64 // the floor where it is known without measuring
	slow    bool    // left out of a quick run
	fixed   bool    // its amount is most, by definition, in all but a quick run
	once    bool    // it takes care of repetitions itself
	first   int     // amount of the first measurement
	most    int     // never more than this; 0: no bound
	measure measure
}

// A measure runs a workload. amount says how much of it, in a unit of the workload's own.
type measure func(ctx context.Context, h *harness, amount int) (sample, error)

// A count is how much of something a run did, in the unit of the workload. err says that it did not do what it should.
type count func(amount int, s scenario, r server.Result) (n float64, err error)

// A sample is one measurement.
type sample struct {
	value float64
	took  time.Duration // what the amount is chosen by
	more  []Result      // further figures that came with it
}

// measureTimeout is how long one measurement may take before it counts as stuck.
const measureTimeout = 2 * time.Minute

// A scenario is what is run: its clients, the links between them, until when.
type scenario struct {
	clients   []participant
	links     []delay.Rule
	until     metasim.Time // 0: until all have left
	noJournal bool
	noMemory  bool // what the run holds is not bounded
	timed     bool // clients are asked how long they compute
}

// A participant is a simulator with the name that it joins under. The simulator is a plain struct, so that it can be handed
// to another process as JSON. It may be used once.
type participant struct {
	name      string
	simulator federates.Participant
}

// A placement says where the clients of a scenario are.
type placement struct {
	transport string // mem, unix, tcp, quic, shm
	inside    int    // how many of the first clients are in the server's process, over mem, where there are other processes
	processes int    // that the others are spread over, in blocks; 0: all are in the server's process, over transport
	packed    bool   // the clients of a process share a connection
}

// A job is what another process has to do.
type job struct {
	Kind    string
	URL     string
	Clients []participant
	Packed  bool   // the clients share a connection
	Count   int    // connections of a raw job
	Size    int    // bytes of a message of a raw job
	Profile string // a file
}

// The kinds of job.
const (
	clientsJob = "clients" // take part in a run
	echoJob    = "echo"    // raw: return what comes
	lockJob    = "lock"    // raw: send, and send again when something comes, as a client of a lock step
	burnJob    = "burn"    // keep a processor busy until the input ends
)

// A packedClient is a participant on its way to another process.
type packedClient struct {
	Name      string
	Kind      string // the type of the simulator
	Simulator json.RawMessage
}

// A rawTransport carries bytes between two processes, with nothing of metasim.
type rawTransport struct {
	listen func(dir string) (*rawListener, error) // dir is for its files
	dial   func(ctx context.Context, address string) (io.ReadWriteCloser, error)
}

// A rawListener takes in streams of one transport.
type rawListener struct {
	address string
	accept  func(context.Context) (io.ReadWriteCloser, error)
	close   func() error
}
