package journal

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"metasim/metasim"
)

const (
	version    = 1             // of the format
	maxRecord  = 1<<28 + 1<<20 // bytes of a body: the largest LCM message (256 MiB) and a megabyte beside it
	magic      = "MSIMJRNL"
	headerSize = len(magic) + 4 // and the version
	frameSize  = 8              // length and checksum before each body
)

// castagnoli is the polynomial of all checksums. A change would make old journals unreadable.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// The kinds of record.
const (
	step   = 1 // one event and the effects of its Step
	settle = 2 // the effects of a Settle
	more   = 3 // more effects of the record before
)

// An Entry is one call of the dispatcher: a Step or a Settle.
type Entry struct {
	Wall    int64            // wall clock: nanoseconds since the run began
	Event   metasim.Event    // what was stepped; nil for a Settle
	Effects []metasim.Effect // what the call returned; the slice is the caller's, payloads must not be changed
}

// A Manifest says what a run was and how it ended. It is written when the run begins, with an Error that says that the run has not
// ended, and again when it has ended. So a run that was killed can be recognized.
type Manifest struct {
	Scenario      string          `json:"scenario"`           // its name
	Resolved      json.RawMessage `json:"resolved,omitempty"` // the scenario with all defaults filled in
	Seed          uint64          `json:"seed"`
	Until         metasim.Time    `json:"until_ns"` // 0: until every client has left
	MaxSteps      uint32          `json:"max_steps"`
	Ahead         int             `json:"ahead_bytes"`             // metasim.Config.Ahead; 0: the default
	AheadOf       map[string]int  `json:"ahead_of,omitempty"`      // metasim.Config.AheadOf
	Memory        int             `json:"memory_bytes,omitempty"`  // metasim.Config.Memory; 0: no bound, as in journals before there was one
	Cascade       int             `json:"cascade_bytes,omitempty"` // metasim.Config.Cascade, likewise
	Dir           string          `json:"dir"`                     // where relative paths of the scenario begin, absolute
	Groups        [][]string      `json:"groups,omitempty"`        // metasim.Config.Groups
	Outside       []string        `json:"outside,omitempty"`       // metasim.Config.Outside
	Inside        []string        `json:"inside,omitempty"`        // clients in the process of metasim, whatever the transport
	Launch        string          `json:"launch,omitempty"`        // how processes were started: ssh or slurm; empty or local: on this host
	Hosts         []string        `json:"hosts,omitempty"`         // where
	Nodes         int             `json:"nodes,omitempty"`         // how many hosts Slurm was asked for
	LaunchOptions []string        `json:"launch_options,omitempty"`
	Remote        string          `json:"remote,omitempty"`        // what metasim is called there
	AllowOutside  bool            `json:"allow_outside,omitempty"` // models could read files outside of Dir
	Serve         bool            `json:"serve,omitempty"`         // all clients were started elsewhere
	NoJournal     bool            `json:"no_journal,omitempty"`    // the run was carried out without a journal
	Clients       []string        `json:"clients"`                 // in order of name: a metasim.ClientID indexes it
	Transport     string          `json:"transport"`               // mem, unix, tcp or quic
	Go            string          `json:"go_version"`
	Metasim       string          `json:"metasim_version"`
	OS            string          `json:"os"`
	Arch          string          `json:"arch"`
	CPUs          int             `json:"cpus"`              // processors of the host that the run could use; 0: not known
	GoMaxProcs    int             `json:"gomaxprocs"`        // how many of them the server's process, with its clients, used at once; 0: not known
	Started       time.Time       `json:"started"`           // wall clock, RFC 3339
	Host          string          `json:"host,omitempty"`    // the name of the server's host
	Command       []string        `json:"command,omitempty"` // what was typed, without secrets; empty: not known
	Resumed       int             `json:"resumed,omitempty"` // how often the run was cut off, and went on
	Deterministic bool            `json:"deterministic"`     // false with a client in real time, or after one was cut off and the run went on
	OK            bool            `json:"ok"`
	Error         string          `json:"error"`             // why OK is false
	Lost          string          `json:"lost,omitempty"`    // the client whose connection was lost, where the run failed for that
	Stopped       bool            `json:"stopped,omitempty"` // the run did not fail by itself: a signal ended it, or its hosts were taken away. It can go on
	Digests
	Traffic *Traffic `json:"traffic,omitempty"` // nil before the end
	Placed  []Placed `json:"placed,omitempty"`  // which clients were on which of the other hosts, at the end
}

// Placed are the clients of another host.
type Placed struct {
	Host    string   `json:"host"`
	Clients []string `json:"clients"`
	// RoundTripS is the least time in which the host has answered metasim: over the network, ssh or srun, and the processes on the way. 0: not known.
	RoundTripS float64 `json:"round_trip_s,omitempty"`
}

// Digests prove what came of a run: 64 hex digits each, and empty before its end. Older runs have only the first one.
type Digests struct {
	Digest        string `json:"digest"`         // of what each client handled
	SendsDigest   string `json:"sends_digest"`   // of what each client sent, heard or not
	ResultsDigest string `json:"results_digest"` // of what each client left with
}

// Differ names those that are not the same, as far as both are known.
func (d Digests) Differ(other Digests) []string {
	var names []string
	for _, of := range []struct{ name, a, b string }{
		{"deliveries", d.Digest, other.Digest},
		{"sends", d.SendsDigest, other.SendsDigest},
		{"results", d.ResultsDigest, other.ResultsDigest},
	} {
		if of.a != of.b && of.a != "" && of.b != "" {
			names = append(names, of.name)
		}
	}
	return names
}

// Traffic is what the server of a run saw on its connections; it depends on real time. For clients in the server's process a frame
// is what one side hands to the other at once, and its bytes are those of the payloads in it.
type Traffic struct {
	FramesIn  uint64 `json:"frames_in"`  // read by the server
	FramesOut uint64 `json:"frames_out"` // written by the server
	BytesIn   uint64 `json:"bytes_in"`   // of the frames read, with their lengths
	BytesOut  uint64 `json:"bytes_out"`  // of the frames written
	Wakeups   uint64 `json:"wakeups"`    // rounds of the server in which it had input
	// RoundsS is how long these rounds took, in seconds: dispatching and writing. 0: not known, as in runs before it was measured.
	RoundsS float64 `json:"rounds_s,omitempty"`
}

// ErrNotJournal tells that a file is not a journal.
var ErrNotJournal = errors.New("this file is not a journal of metasim; " +
	"name the file called journal in the directory of a run")

// ErrGoesOn tells that a process of metasim writes a journal.
var ErrGoesOn = errors.New("the run still goes on: another metasim writes its journal; end that first, or wait for it")

// ErrNoJournal tells that a run was carried out without a journal: there is only its manifest, with its digest.
var ErrNoJournal = errors.New("the run has no journal, because it was carried out with --no-journal; " +
	"carry it out again without that flag")

// ErrForeign tells that an entry has a client that the manifest does not name.
var ErrForeign = errors.New("the journal has a client that the manifest does not name; they are not of one run")

// A VersionError tells that a journal has another version of the format.
type VersionError struct{ Version uint32 }

func (e *VersionError) Error() string {
	return fmt.Sprintf("this journal has format %d, and this metasim reads format %d; read it with the metasim that wrote it",
		e.Version, version)
}

// A TornError tells that a journal is damaged, or was cut off while it was written. Everything before Offset was returned;
// everything after it is lost. Where a run was killed, its journal may end so.
//
// The last entry before Offset may lack effects, because they can lie in a record of their own.
type TornError struct {
	File    string // the path of the journal; empty where it was not read from a file
	Offset  int64  // bytes from the start of the file to the end of the good part
	Records int64  // records of the good part
	// Reason is what is wrong at Offset. It is empty where nothing is: the file ends there, and nothing says that the run did.
	Reason string
}

func (e *TornError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("%s ends at byte %d (%d records), and nothing says that the run ended there: it was killed or still goes on, "+
			"or the file was cut off",
			cmp.Or(e.File, "the journal"), e.Offset, e.Records)
	}
	return fmt.Sprintf("%s is good up to byte %d (%d records), and damaged from there on: %s",
		cmp.Or(e.File, "the journal"), e.Offset, e.Records, e.Reason)
}
