package metasim

// An Effect is what is to be done: one of the types below. Effects are carried out in their order.
type Effect interface{ effect() }

// Queue is QUEUED_MESSAGE: the message will be due for To at Message.Due, and waits until that is safe. It asks for
// nothing: it is there for journals and reports.
type Queue struct {
	To      ClientID
	Message Message
}

// Lose says that the link dropped the message on its way to To. Message.Due is meaningless.
type Lose struct {
	To      ClientID
	Message Message
}

// Deliver is DELIVERED_MESSAGE: give Message to client To. Number counts the deliveries to that client from 1.
type Deliver struct {
	To      ClientID
	Number  uint64
	Message Message
}

// Authorize is AUTHORIZE_ADVANCE: client To has been given everything due before Until, and may act before Until.
type Authorize struct {
	To    ClientID
	Until Instant
}

// Evict says that a client broke the rules. The run cannot be trusted from here on: Finish follows.
type Evict struct {
	Client ClientID
	Err    *Violation
}

// Reached says that everything strictly before Until has happened and every client waits: the answer to a Permit. Next
// is the earliest instant at which something is left to happen: the end of the run if nothing is.
type Reached struct{ Until, Next Instant }

// Finish says that the run is over: every client has left, or, with Err, that it cannot go on.
type Finish struct{ Err error }

func (Queue) effect()     {}
func (Lose) effect()      {}
func (Deliver) effect()   {}
func (Authorize) effect() {}
func (Evict) effect()     {}
func (Reached) effect()   {}
func (Finish) effect()    {}
