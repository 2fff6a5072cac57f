package compare

import (
	"encoding/json"

	"metasim/lcm/types"
	"metasim/metasim"
	"metasim/record"
)

// Options say how two runs are compared.
type Options struct {
	Types  *types.Set // decode payloads; may be nil
	Anyway bool       // compare the clients that both runs have, where one of them has others too
}

// A Verdict says whether two runs were the same: what metasim diff --json prints.
type Verdict struct {
	Equal bool `json:"equal"` // as far as both go
	// Until is how far both runs go, if they have different ends, or if one was not recorded to its end. What happened before it was
	// compared. Nil: both were compared whole.
	Until *record.Instant `json:"until"`
	// Changes say in what the scenarios differ.
	Changes []record.Change `json:"changes"`
	First   *Divergence     `json:"first"` // nil: equal
	// Differ names the digests that differ: deliveries, sends, results. It is empty if one of the runs has no digest of all of it.
	Differ []string `json:"differ"`
	// Cause is what caused the divergence: causeClient, causeScenario or causeUnknown; empty where there is none.
	Cause string `json:"cause"`
	// Culprit is the client that caused the divergence, and CulpritAt is when; empty for another cause.
	Culprit   string          `json:"culprit"`
	CulpritAt *record.Instant `json:"culprit_instant"`
	// Notes say which part of a run is missing.
	Notes []string `json:"notes"`

	cutOff bool // Until is where the record of a run ends, and not its scenario's until
}

// The causes of a divergence.
const (
	// causeClient: one client sent something else, though it had received the same and its part of the scenario is the same.
	causeClient = "client"
	// causeScenario: see Verdict.Changes.
	causeScenario = "scenario"
	// causeUnknown: all clients sent the same and the scenarios are the same as far as is known, so the links differ.
	causeUnknown = "unknown"
)

// A Divergence is the first message that is not the same in two runs: the earliest delivery to any client; or, if no delivery
// differs, the earliest send without a recipient, or the earliest leave.
type Divergence struct {
	At      record.Instant `json:"instant"` // the earlier one, where they differ
	To      string         `json:"to"`      // empty without a recipient
	From    string         `json:"from"`
	Channel string         `json:"channel"` // empty for a leave
	A       *Message       `json:"a"`       // nil: A has no such message
	B       *Message       `json:"b"`
}

// A Message is one side of a divergence.
type Message struct {
	From    string          `json:"from"`
	Channel string          `json:"channel"` // empty for a leave
	Seq     uint64          `json:"seq"`     // counts the sender's publishes, from 0
	Sent    record.Instant  `json:"sent"`
	Due     *record.Instant `json:"due"` // nil: it was not delivered
	Size    int             `json:"size"`
	Payload []byte          `json:"payload"` // base64 in JSON; of a leave, its result
	// Type and Decoded are set where the payload is of a known LCM type.
	Type    string          `json:"type,omitempty"`
	Decoded json.RawMessage `json:"decoded,omitempty"`

	at metasim.Instant // when it is due; without a delivery, when it was sent
}
