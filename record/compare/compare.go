package compare

import (
	"encoding/json"

	"metasim/metasim"
	"metasim/record"
)

// A Verdict says whether two runs were the same: what metasim diff --json prints.
type Verdict struct {
	Equal bool        `json:"equal"` // as far as both go: see Notes
	First *Divergence `json:"first"` // nil: equal
	// Culprit is the client that caused the divergence; empty where the links caused it. CulpritAt is when.
	Culprit   string          `json:"culprit"`
	CulpritAt *record.Instant `json:"culprit_instant"`
	// Notes say in what the scenarios differ, and what is missing of a run.
	Notes []string `json:"notes"`
}

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
