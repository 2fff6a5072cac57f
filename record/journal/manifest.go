package journal

import (
	"encoding/json"
	"time"

	"metasim/metasim"
)

// A Manifest says what a run was and how it ended. It is written when the run begins, with an Error that says that it
// has not ended, and again when it has: so a run that was killed tells.
type Manifest struct {
	Scenario      string          `json:"scenario"`           // its name
	Resolved      json.RawMessage `json:"resolved,omitempty"` // the scenario with all that was left open filled in
	Seed          uint64          `json:"seed"`
	Until         metasim.Time    `json:"until_ns"` // 0: until every client has left
	MaxSteps      uint32          `json:"max_steps"`
	Ahead         int             `json:"ahead_bytes"`             // metasim.Config.Ahead; 0: the default
	Dir           string          `json:"dir"`                     // where the paths of the scenario begin, absolute
	AllowOutside  bool            `json:"allow_outside,omitempty"` // models could read files outside of it
	NoJournal     bool            `json:"no_journal,omitempty"`    // it was to have no journal
	Clients       []string        `json:"clients"`                 // in order of name: a metasim.ClientID indexes it
	Transport     string          `json:"transport"`               // mem, unix, tcp or quic
	Go            string          `json:"go_version"`
	Metasim       string          `json:"metasim_version"`
	OS            string          `json:"os"`
	Arch          string          `json:"arch"`
	CPUs          int             `json:"cpus"`          // processors of the host that the run could use; 0: not known
	GoMaxProcs    int             `json:"gomaxprocs"`    // how many of them the server's process used at once, with the clients in it; 0: not known
	Started       time.Time       `json:"started"`       // wall clock, RFC 3339
	Deterministic bool            `json:"deterministic"` // false with a client in real time, or once one was cut off and the run went on
	OK            bool            `json:"ok"`
	Error         string          `json:"error"`             // why not
	Lost          string          `json:"lost,omitempty"`    // the client that was lost, where the run failed for that
	Digest        string          `json:"digest"`            // 64 hex digits; empty before the end
	Traffic       *Traffic        `json:"traffic,omitempty"` // nil before the end
}

// Traffic is what went over the connections of a run, as its server saw it; it depends on real time. Where clients live in
// the server's process a frame is what one side hands to the other in one go, and its bytes are those of the payloads in it.
type Traffic struct {
	FramesIn  uint64 `json:"frames_in"`  // read by the server
	FramesOut uint64 `json:"frames_out"` // written by it
	BytesIn   uint64 `json:"bytes_in"`   // of those frames, with their lengths
	BytesOut  uint64 `json:"bytes_out"`
	Wakeups   uint64 `json:"wakeups"` // rounds of the server in which something had come
}
