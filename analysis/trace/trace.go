package trace

import (
	"fmt"

	"metasim/internal/fifo"
	"metasim/internal/scope"
	"metasim/metasim"
	"metasim/record/journal"
)

// A Source is a recorded run.
type Source struct {
	// Config is the configuration of the run's dispatcher. Read uses up its Delays: pass fresh ones.
	Config metasim.Config
	// Journal is read to its end. A *journal.Reader is one.
	Journal Journal
	// Cores is the number of cores that the clients shared. It lets Read tell computing from waiting for a core. Zero: not known.
	Cores int
	// Inside names the clients that ran in the server's process. Predictions need it.
	Inside []string
	// Transport is what most clients were connected over; empty: not known. BuiltIn says that metasim has all of them, so that they can be
	// in the server's process.
	Transport string
	BuiltIn   bool
	// Rounds is how long the rounds of the server took, in nanoseconds: dispatching and writing. Zero: not known.
	Rounds int64
	// Rate is how many simulated seconds a second of wall clock had at most; 0: any number.
	Rate float64
	// Scopes say what clients inside of scenarios call channels; nil: there are none.
	Scopes scope.Set
	// MaxGrants and MaxMessages limit how many of each a Timeline stores, from the beginning of the run. All are counted, and
	// all totals cover the whole run. Zero: one million.
	MaxGrants, MaxMessages int
}

// A Journal returns the entries of a run in order. After the last one it returns io.EOF, or a *journal.TornError.
type Journal interface {
	Next() (journal.Entry, error)
}

// A DivergedError means that the dispatcher, given the journal's events again, decides something else than the journal says.
type DivergedError struct {
	Entry uint64 // counted from 1
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("at entry %d of its journal the run does not come out the same again; "+
		"metasim replay says where, and the metasim that recorded it can report it", e.Entry)
}

// A Cut is the end of a client that was lost, and that the run went on without.
type Cut struct {
	Client metasim.ClientID
	At     metasim.Instant
}

// A Timeline is what happened in a run. Wall-clock times are nanoseconds since the server began to serve.
type Timeline struct {
	// Names are the names of the clients, in order: a metasim.ClientID is an index of it.
	Names []string
	// Cut are the clients that the run went on without, and where each was then.
	Cut []Cut
	// Begin is when all clients had joined, End when the last entry was written. The wall-clock time of the run is between them.
	Begin, End int64
	// Nested says that the run is inside another one: its Config has clients outside.
	Nested bool
	// Cores, Transport, BuiltIn, Rounds, Rate and Scopes are those of the Source.
	Cores     int
	Transport string
	BuiltIn   bool
	Rounds    int64
	Rate      float64
	Scopes    scope.Set
	// Grants are ordered by Granted.
	Grants []Grant
	// Holds are the parts of the blocked intervals: see Grant.Holds.
	Holds []Hold
	// Critical are the parts of the conservative critical path, in order. No two of them overlap.
	Critical []Part
	// Starts are the initializations of the clients, before their first requests.
	Starts []Start
	// Paths are the paths that Holds refer to. A path begins with the link to the waiting client, continues with the link to
	// that link's sender, and so on up to the root.
	Paths [][]metasim.Hop
	// Messages are ordered by Queued.
	Messages []Message
	// Channels are the names of the channels that Messages and LinkIDs refer to.
	Channels []string
	// Profile is how many clients were authorized and how many computed, over the run.
	Profile []Sample
	// Running[n] is for how many nanoseconds exactly n clients were authorized and did not wait.
	Running []int64
	// DroppedGrants and DroppedMessages count those that are not stored.
	DroppedGrants, DroppedMessages uint64
	// Torn says where the journal breaks off, if it does. It is a *journal.TornError.
	Torn error
	// Totals are the sums over the whole run.
	Totals Totals
	// Log is what each client did, for predictions.
	Log *Log
}

// Seconds returns nanoseconds of wall-clock time as seconds.
func Seconds(ns int64) float64 { return float64(ns) / 1e9 }

// Ratio returns a/b, or 0 if b is 0.
func Ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Wall returns how long the run took, in nanoseconds.
func (t *Timeline) Wall() int64 { return t.End - t.Begin }

// A Grant is the time from one request for an authorization to the next. In [Polled, Granted) the client is blocked. In
// [Granted, Reported) it computes; transport is part of that interval. A client that receives authorizations ahead of need
// does not ask again: then one Grant covers several of them.
type Grant struct {
	Client metasim.ClientID
	// Cause is the client whose report led to the authorization. It is Client itself if the client did not wait.
	Cause metasim.ClientID
	// Polled is when the client asked, Granted when it was authorized, Reported when it asked again or left, or the run ended.
	Polled, Granted, Reported int64
	// Work is how long it computed between Granted and Reported, without the time in which it waited for a core.
	Work int64
	// CoreWait is for how long it waited for a core meanwhile.
	CoreWait int64
	// Critical is how much of Work lies on the conservative critical path.
	Critical int64
	// From is the client's instant when it asked. Until is the exclusive bound of the authorization.
	From, Until metasim.Instant
	// Holds are the first and the last index (exclusive) in Timeline.Holds of the parts of the blocked interval.
	Holds [2]int32
}

// A Part is a part of the conservative critical path: from Begin to End the client computed, and the run waited for that. A grant has
// several parts, or a part is shorter than its grant, where a message that was sent meanwhile continues the path at another client.
type Part struct {
	Client     metasim.ClientID
	Begin, End int64
}

// A Start is what a client did from Begin of the run to its first request.
type Start struct {
	End                      int64
	Work, CoreWait, Critical int64 // as those of a Grant
}

// A Hold is a part of a blocked interval in which one root held the waiting client back, along one path.
type Hold struct {
	Begin, End int64
	// Root is the client that held it back. It is NoClient if no client of this run did: the run was paced or paused, or the client waited for the outer run.
	Root metasim.ClientID
	// Path is an index of Timeline.Paths. It is -1 if the path is not known: in the epsilon tick, or if there were too many paths.
	Path int32
}

// NoClient is the Root of a Hold that no client of this run caused: it was paced or paused, or waited for the run around it.
const NoClient = ^metasim.ClientID(0)

// A Message is a message that was queued for one recipient.
type Message struct {
	LinkID
	Size      uint32 // of the payload, in bytes
	Sent, Due metasim.Instant
	// Queued is when the dispatcher queued it. Delivered is when it was delivered; zero: never.
	Queued, Delivered int64
}

// A Sample is a part of the run's wall-clock time. It begins where the Sample before it ends.
type Sample struct {
	End int64
	// Now is how far the whole run had come at End.
	Now metasim.Time
	// Running is the average number of clients that were authorized and did not wait. Computing is the average number that computed.
	Running, Computing float64
}

// A LinkID identifies a link. Channel is an index of Timeline.Channels.
type LinkID struct {
	From, To metasim.ClientID
	Channel  uint32
}

// A MessageID identifies a message to one recipient. A duplicated message has the same one twice.
type MessageID struct {
	From, To metasim.ClientID
	Seq      uint64
}

// Totals are the sums over a whole run, also over what a Timeline does not store.
type Totals struct {
	Clients []ClientTotals // by metasim.ClientID
	Links   []LinkTotals   // that carried messages or held a client back, the most held first
	Pairs   []Pair         // the longest first
	// IdealPath and ConservativePath are the lengths of the critical paths, in nanoseconds.
	IdealPath, ConservativePath int64
	// Hops is how often the conservative path goes through the dispatcher: from one client to another, or from grant to grant of one.
	Hops uint64
	// End is the latest activity of any client.
	End metasim.Time
	// BlameResolution is how old the root of a Hold may be, in nanoseconds. Zero: it is exact.
	BlameResolution int64
}

// ClientTotals are the sums of one client. Times are wall-clock nanoseconds, if not said otherwise.
type ClientTotals struct {
	Work, Blocked, CPU int64
	Asleep             int64 // the part of Work that took no core: it slept, or waited for a device
	CoreWait           int64 // waited for a core
	Absent             int64 // from when it left to the end of the run
	StepP50, StepP99   int64 // half of the steps took at most so long, and 99 of 100; a step is from one report of work to the next
	Steps              uint64
	Starved            int64 // of Blocked: waited for memory
	Critical           int64 // its work on the conservative critical path
	Grants             uint64
	Ahead              uint64 // authorizations ahead of need
	Reports, Sends     uint64
	Released           uint64 // how often its report authorized another client that waited
	Delivered          uint64
	// Silent, Promised and Announced are simulated nanoseconds, from each report to the next send: all of them, those that were
	// promised, and those that were promised unless a message arrived.
	Silent, Promised, Announced float64
	Reaction                    metasim.Time // declared
	Publications, Subscriptions []string
}

// LinkTotals are the sums of one link.
type LinkTotals struct {
	LinkID
	Messages, Lost, Bytes uint64
	Declared              metasim.Time // the least delay, as declared
	Least                 metasim.Time // the least delay of a message; Forever: there was none
	// Reaction is the least time from a message that the sender handled to a send on the channel; -1: there was none.
	Reaction metasim.Time
	Held     int64       // how long clients waited with this link on the path to the root, in nanoseconds
	Short    []ShortWait // the parts of Held that a longer delay ends, the least delay first
	Critical Segment
}

// A ShortWait is for how many nanoseconds clients waited behind a link whose delay was too short by at most More.
type ShortWait struct {
	More metasim.Time
	Took int64
}

// A Segment is what lies on the conservative critical path behind a link, up to the next link.
type Segment struct {
	Work    int64  // in nanoseconds
	Entered uint64 // how often the path goes over the link
}

// A Pair is for how many nanoseconds one client waited for another. HeldBy may be NoClient.
type Pair struct {
	Waiting, HeldBy metasim.ClientID
	Blocked         int64
}

// A Log is what the clients of a run did, so that a simulation can repeat it under other conditions.
type Log struct {
	Config  metasim.Config
	Clients []ClientLog
	End     int64 // wall-clock time of the last event in the Log
	Timed   bool  // clients reported how long they computed
	// Answers are wall-clock nanoseconds from the authorization of a waiting client outside the server's process to its answer,
	// without computing.
	Answers []int64

	room int  // how many more acts are stored
	cut  bool // acts after End are missing
}

// A ClientLog is what one client did.
type ClientLog struct {
	Join     metasim.Join
	Acts     []Act // the first one is its initialization
	Sends    []Send
	Messages bool // messages wake it
	Inside   bool // it ran in the server's process

	waited bool // since its last act
	steps  stepLengths
}

// An Act is everything that a client did at one instant.
type Act struct {
	At    metasim.Instant
	Next  metasim.Instant // its next timer after the act
	Floor metasim.Instant // its promise after the act
	Work  int64           // in nanoseconds
	Sleep int64           // the part of Work that took no core
	Wall  int64           // when the dispatcher first learned of it
	Sends int32           // its sends end at this index of ClientLog.Sends
	Timed bool            // a timer caused it; otherwise the message Cause
	Cause MessageID
}

// A Send is one publish.
type Send struct {
	Channel uint32 // an index of Timeline.Channels
	Size    uint32 // of the payload, in bytes
}

// A tracer repeats the work of the run's dispatcher and builds the Timeline.
type tracer struct {
	d        *metasim.Dispatcher
	tl       *Timeline
	src      Source
	clients  []client
	nodes    []node              // of the critical paths, that may still be on the longest one
	pruneAt  int                 // with so many nodes, some are dropped
	segments map[LinkID]*Segment // of what is known to be on the longest path; looked up, never iterated
	behind   *Segment            // the last one that it has entered
	profile  *profile
	blame    *blame
	links    map[LinkID]*LinkTotals       // looked up; listed in order
	pubs     map[publication]metasim.Time // the least reaction; looked up, never iterated
	channels map[string]uint32            // looked up, never iterated
	inFlight map[MessageID]int32          // index in Timeline.Messages of those that are stored and not delivered; never iterated
	began    bool
	wall     int64  // of the current entry
	entries  uint64 // so far
	diverged error

	spoke []metasim.ClientID // the clients that sent an event since the last Settle, in order
	pass  uint32             // counts the calls of Settle
	asked []metasim.ClientID // the clients that began to wait since the last Settle
}

// A client is the tracer's state of one client.
type client struct {
	clock
	inbox    fifo.Queue[delivery] // delivered and not yet handled
	permits  fifo.Queue[permit]   // authorizations ahead of need that it has not used yet
	sends    fifo.Queue[sent]     // its messages, from the number settled on: those before are delivered
	settled  uint64
	wait     wait  // the current or the last blocked interval
	grant    int32 // index of the current one in Timeline.Grants; -1: not stored
	accuracy promiseAccuracy
	steps    stepTimes
	stopwatch

	running bool // authorized and not waiting
	waiting bool
	polled  bool // it has asked at least once: its initialization is over
	fresh   bool // it has computed nothing in its current grant
	gone    bool
	left    int64           // when it went
	spoke   uint32          // the pass of its last event
	granted metasim.Instant // the bound of its last authorization, exclusive
	now     metasim.Instant // of its last activity

	heard   bool            // it has handled a message
	heardAt metasim.Instant // the due instant of the last one
	last    MessageID       // the last one
	did     stint           // before its last event
}

// A wait is a blocked interval of a client.
type wait struct {
	polled int64           // when it began
	since  int64           // when its current part began
	from   metasim.Instant // the client's instant
	parts  []Hold          // that have ended, in order
	want   metasim.Instant // the instant that the client waits for
	eager  bool            // an earlier message ends the wait too

	known  bool             // the root has been looked up
	starve bool             // it waits for memory: the root is the client that has to come further
	root   metasim.ClientID // the client that holds it back
	path   int32            // index in Timeline.Paths; noPath: not known
	epoch  uint32           // counts changes of the path, over all waits: it invalidates older watchers
	looked int64            // when the root was last looked up

	need    metasim.Instant // the earlier of want and the first message, when last looked up
	safe    metasim.Instant // the safe time, when last looked up
	short   metasim.Time    // the shortfall from safe to need
	counted int64           // up to this time the wait is counted in blame.shortfalls
}

const noPath int32 = -1
