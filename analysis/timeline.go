package analysis

import (
	"metasim/metasim"
)

// A Timeline is a run as it went. Wall-clock times are in nanoseconds since it began to be served.
type Timeline struct {
	// Names are those of the clients, in order: a metasim.ClientID indexes it.
	Names []string
	// Begin is when all had joined, and End when the last entry was written: a run's wall-clock time is between them.
	Begin, End int64
	// Cores is Source.Cores.
	Cores int
	// Grants are in order of Granted.
	Grants []Grant
	// Holds are the pieces of what grants waited for: see Grant.Holds.
	Holds []Hold
	// Paths are those that holds name: the link to the client that waits first, then what its sender waits for, and so on
	// to the root.
	Paths [][]metasim.Hop
	// Messages are in the order in which they were queued.
	Messages []Message
	// Channels are those that messages name.
	Channels []string
	// Profile is how many clients were authorized and computed at once, over the run.
	Profile []Sample
	// Running is how long so many clients were authorized and did not wait, in nanoseconds: Running[0] nobody.
	Running []int64
	// DroppedGrants and DroppedMessages are how many more there were than are kept.
	DroppedGrants, DroppedMessages uint64
	// Torn says where the journal breaks off, if it does. It is a *journal.TornError.
	Torn error

	stats stats
	log   *worklog
	part  *worklog // its beginning, once that is needed
}

// Wall is how long the run took.
func (t *Timeline) Wall() int64 { return t.End - t.Begin }

// A Grant is a client's way from asking for an authorization to asking for the next: [Polled, Granted) blocked,
// [Granted, Reported) computing, with what the transport takes. A client that was authorized ahead and need not ask
// computes on in one grant.
type Grant struct {
	Client metasim.ClientID
	// Cause is the client whose report led to the authorization; the client itself where it did not wait.
	Cause metasim.ClientID
	// Critical says that the grant lies on the conservative critical path.
	Critical bool
	// Polled is when it asked, Granted when it was authorized, Reported when it asked again, left, or the run ended.
	Polled, Granted, Reported int64
	// Work is what it computed of the time from Granted to Reported; what it waited for a core meanwhile is not in it.
	Work int64
	// From is where its clock stood when it asked. Until is the bound of the authorization, exclusive.
	From, Until metasim.Instant
	// Holds is where in Timeline.Holds the pieces of the blocked interval begin and end.
	Holds [2]int32
}

// A Hold is a piece of a blocked interval in which one client held the waiting one back, along one path.
type Hold struct {
	Begin, End int64
	// Root is who held it back; Nobody where the run was paced or not allowed to go on.
	Root metasim.ClientID
	// Path indexes Timeline.Paths; -1 where it is not known: in the epsilon tick, or where there were too many.
	Path int32
}

// Nobody is the Root of a Hold where no client is to blame: the run was not allowed to go on.
const Nobody = ^metasim.ClientID(0)

// A Message is one that was queued for one recipient.
type Message struct {
	From, To  metasim.ClientID
	Channel   uint32 // indexes Timeline.Channels
	Size      uint32 // of the payload, in bytes
	Sent, Due metasim.Instant
	// Queued is when the dispatcher took it in, Delivered when it was given to the recipient: 0 where it never was.
	Queued, Delivered int64
}

// A Sample is a piece of the run's wall-clock time.
type Sample struct {
	// End is when it ended; it begins with the one before.
	End int64
	// Now is how far the run as a whole had come at its end.
	Now metasim.Time
	// Running is how many clients were authorized and did not wait, on average: how much could be computed at once.
	Running float64
	// Computing is how many did compute, on average.
	Computing float64
}
