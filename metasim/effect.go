package metasim

// An Effect is what is to be done: a pointer to one of the types below. Effects are carried out in their order, and are
// lent: see Dispatcher.Step.
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
//
// QuietUntil is the threshold up to which nobody needs its reports: as long as it may still send at QuietUntil or
// before, no report of it lets anybody go on who waits. Infinity: nobody waits for it. It is what is known now, and a hint:
// a client that keeps its reports for longer only holds others up.
type Authorize struct {
	To         ClientID
	Until      Instant
	QuietUntil Instant
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

func (*Queue) effect()     {}
func (*Lose) effect()      {}
func (*Deliver) effect()   {}
func (*Authorize) effect() {}
func (*Evict) effect()     {}
func (*Reached) effect()   {}
func (*Finish) effect()    {}

// effects gathers what follows from the events. The values lie in memory that is used again and again, as a message
// must not cost the core any.
type effects struct {
	list       []Effect // of the call at hand
	queued     slab[Queue]
	lost       slab[Lose]
	delivered  slab[Deliver]
	authorized slab[Authorize]
	settled    bool // a Settle has been since the memory was last reclaimed
}

// begin forgets what the call before returned. The memory that it lies in is kept until a batch is over: whoever
// carries out effects may do it once for all of the batch.
func (e *effects) begin(settle bool) {
	e.list = e.list[:0]
	if e.settled {
		e.queued.reclaim()
		e.lost.reclaim()
		e.delivered.reclaim()
		e.authorized.reclaim()
	}
	e.settled = settle
}

func (e *effects) add(rare Effect) { e.list = append(e.list, rare) }

func (e *effects) queue(to ClientID, m *Message) {
	v := e.queued.lend()
	v.To, v.Message = to, *m
	e.list = append(e.list, v)
}

func (e *effects) lose(to ClientID, m *Message) {
	v := e.lost.lend()
	v.To, v.Message = to, *m
	e.list = append(e.list, v)
}

// deliver returns the effect, whose message is still to be set.
func (e *effects) deliver(to ClientID, number uint64) *Deliver {
	v := e.delivered.lend()
	v.To, v.Number = to, number
	e.list = append(e.list, v)
	return v
}

func (e *effects) authorize(to ClientID, until, quietUntil Instant) {
	v := e.authorized.lend()
	v.To, v.Until, v.QuietUntil = to, until, quietUntil
	e.list = append(e.list, v)
}

// A slab lends memory for values of one type, and takes all of it back at once.
type slab[T any] struct{ lent []T }

// lend returns the memory of a zero value.
func (s *slab[T]) lend() *T {
	if len(s.lent) == cap(s.lent) {
		s.lent = make([]T, 0, max(16, 2*cap(s.lent))) // what was lent before stays where it is
	}
	s.lent = s.lent[:len(s.lent)+1]
	return &s.lent[len(s.lent)-1]
}

func (s *slab[T]) reclaim() {
	clear(s.lent) // so that payloads can be freed
	s.lent = s.lent[:0]
}
