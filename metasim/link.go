package metasim

// Delays says how long messages travel. The machine declares here what it needs; package delay satisfies it.
type Delays interface {
	// Link returns the link from one client to another on a channel, in its initial state. It is called once a link,
	// in order of (from, channel, to).
	Link(from, to, channel string) Link
}

// CommonDelays are Delays that know channels on which all links are alike and have no state. Such a channel costs as
// much as it has clients, not as many links as it has pairs of them.
type CommonDelays interface {
	Delays
	// Common returns the Link that serves every link on a channel, and true, if there is one. Its Transit is called with
	// the number 0, for messages of all senders in turn, and its Earliest is always its least delay after x.
	Common(channel string) (Link, bool)
}

// A Link carries the messages of one sender on one channel to one recipient. It may have a state (messages queue
// behind one another), which is a function of the messages sent on it so far: never of real time.
type Link interface {
	// Min is the least delay of any message on this link, in nanoseconds: its lookahead.
	Min() Time
	// Transit appends to dues when the n-th message of this link (from 0) arrives, sent at sent with a payload of
	// size bytes: nothing for a lost message, two instants for a duplicated one. Each is at or after Earliest(sent),
	// asked before. It is called once a message, in order of n, with sent never going back.
	Transit(dues []Instant, n uint64, sent Instant, size int) []Instant
	// Earliest is the earliest due of any message that is still to be sent, at x or later. It is strictly after x, and
	// never falls as x rises. As a message is sent at some instant, it does not fall for any x at or before that: then safe
	// times do not fall, as they ask for no x after what the sender may still send.
	Earliest(x Instant) Instant
}

// A SteadyLink is a Link that can say that it is steady: that Earliest(x) is x.Add(Min()) always, whatever was sent. Then
// nobody need ask it, and safe times cost less.
type SteadyLink interface {
	Link
	Steady() bool
}
