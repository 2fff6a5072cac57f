// Package shard is what a simulation server does with a world that several compute together: it moves the bodies that it may move, tells the others what they
// see, believes of what it is told what the claims allow, and gives entities away where it has more work than the others.
//
// Who owns an entity is decided by package transfer; a Shard asks its Simserver for a transfer and sees what came of it. Who integrates an entity that its owner lets rest
// is decided by package claim: a server whose body touches it claims it, and moves it once the owner has confirmed.
//
// A Shard is pure: time and packets come in, packets go out. The caller's duties:
//
//  1. Every Packet and every transfer.Envelope that is returned is sent, in order. Links may lose, double and reorder packets.
//  2. Receive is called with the server that really sent the packet. What the Simserver receives is handed to it before Tick.
//  3. Tick is called at Wake, or later.
package shard

import (
	"fmt"
	"slices"

	"metasim/federates/authority/balance"
	"metasim/federates/authority/claim"
	"metasim/federates/authority/credit"
	"metasim/federates/authority/interest"
	"metasim/federates/authority/transfer"
	"metasim/metasim"
)

// Bytes of packets.
const (
	headBytes   = 1 + 8
	updateBytes = 1 + 2 + 2 + 2 + 1 + 8 + 8 + 8 + 4 + 4 // and the name
	maxName     = 255
)

// Config says what a shard is.
type Config struct {
	Name    string
	Servers []string     // all simulation servers of the world, this one too; at most 65,535
	Step    metasim.Time // of the simulation, as that of the Simserver; above 0
	Every   uint64       // steps from one Tick to the next; above 0
	Side    int64        // of the world, in micrometres
	Look    [2]int64     // where this server looks from, in micrometres
	Rings   []interest.Ring
	Reach   int64        // from body to body where they touch, in micrometres; 0: they never do
	Rest    uint64       // steps after which an entity at rest is nobody's; above 0. 60 in the scheme that package claim follows
	Window  uint64       // bytes on the way to one server at most; at least Packet
	Packet  uint64       // bytes of a packet at most; at least 303, which is one update
	Reads   uint64       // bytes of updates that it reads in one Tick; 0: all that there are
	Balance metasim.Time // from one comparison of loads to the next; 0: never
	Meter   bool         // the work of the balance is what Cost says, once in each round; else it is the steps that were computed
	Full    uint64       // work of a round for one server: server k, in the order of names and from 0, takes part while there is more than k times that; 0: all do
	Joins   metasim.Time // from when on it takes part
	Leaves  metasim.Time // when it gives everything away; metasim.Forever: never
}

// A ConfigError says what of a Config makes no sense.
type ConfigError struct{ Field, Why string }

func (e *ConfigError) Error() string { return "shard: " + e.Field + " " + e.Why }

// Validate says what makes no sense.
func (c *Config) Validate() error {
	switch {
	case !slices.Contains(c.Servers, c.Name) || len(c.Servers) > 1<<16-1:
		return &ConfigError{"Servers", fmt.Sprintf("has %d servers; write this one, %q, and at most 65,534 others", len(c.Servers), c.Name)}
	case c.Step <= 0 || c.Every == 0 || c.Rest == 0:
		return &ConfigError{"Step, Every or Rest", "is 0; write a number above 0"}
	case c.Packet < headBytes+updateBytes+maxName || c.Window < c.Packet:
		return &ConfigError{"Packet", fmt.Sprintf("is %d, and Window %d; write at least %d, and a window that is not smaller", c.Packet, c.Window, headBytes+updateBytes+maxName)}
	case c.Full > 0 && c.Balance == 0:
		return &ConfigError{"Full", "is set, and Balance is 0; write how often work is compared"}
	case c.Balance < 0 || c.Balance > 0 && c.Balance < 4*c.tick():
		return &ConfigError{"Balance", fmt.Sprintf("is %v; write 0s, or at least four ticks", c.Balance)}
	}
	return nil
}

// tick is the time from one Tick to the next.
func (c *Config) tick() metasim.Time { return c.Step * metasim.Time(c.Every) }

// restTicks is Rest in ticks.
func (c *Config) restTicks() uint64 { return (c.Rest + c.Every - 1) / c.Every }

// A Packet is for another server.
type Packet struct {
	To    string
	Bytes []byte
}

// A Moved says that the balance gave an entity away.
type Moved struct {
	NS     metasim.Time `json:"ns"`
	Entity string       `json:"entity"`
	To     string       `json:"to"`
}

// A Busy is what a server computed in one period of the balance.
type Busy struct {
	Round uint64 `json:"round"`
	Work  uint64 `json:"work"`              // steps of entities
	Cost  uint64 `json:"cost_ns,omitempty"` // processor time, with a meter
}

// A Part says from when on a server took part in a world that has more servers than it always needs, or did not.
type Part struct {
	NS    metasim.Time `json:"ns"`
	Takes bool         `json:"takes"`
}

// Counts says how often things happened.
type Counts struct {
	Sent    uint64 `json:"sent"`    // updates
	Waited  uint64 `json:"waited"`  // updates that had to wait for credit, ticks altogether
	Taken   uint64 `json:"taken"`   // updates that were accepted
	Late    uint64 `json:"late"`    // updates that were refused: their numbers are old, or another was first
	Touched uint64 `json:"touched"` // claims of entities at rest
	Won     uint64 `json:"won"`     // of them that the owner confirmed
	Rested  uint64 `json:"rested"`
}

// A Shard is the part of a world at one server.
type Shard struct {
	Counts Counts
	Moves  []Moved
	Work   []Busy
	Parts  []Part // with Full

	cfg      Config
	sim      *transfer.Simserver
	self     claim.Index
	peers    []*peer // by index - 1; that of the server itself is nil
	entities []*entity
	numbers  map[string]int // of entities; looked up, never iterated
	active   []int          // entities that this server integrates or tells of, in order
	moving   *interest.Grid // of them, those that others may see
	resting  *interest.Grid // entities that nobody integrates
	effects  int            // of the Simserver, that have been seen
	given    int            // likewise
	next     metasim.Time
	refused  int    // likewise
	round    uint64 // of the balance, from 1
	busy     uint64 // work of this round so far
	said     load   // at the beginning of this round, or once what it took is known
	unpriced bool   // what this server took in the last round is not known yet
	cost     uint64 // what it took, in ns of processor time
	priced   bool   // cost is that of the last round
	weighed  []balance.Weight
	planned  bool  // in this round
	readable int64 // bytes of updates that may be read
	overdue  []transfer.Envelope
}

// An entity is what a shard knows of one, its own or another's.
type entity struct {
	name   string
	claim  claim.Claim
	owner  claim.Index    // 0: unknown
	state  transfer.State // that of an owned entity is with the Simserver as well
	heard  uint64         // steps of the last update that was accepted
	answer claim.Index    // a guest that has said something, and is to be told what holds
	kick   [2]int64       // the speed that it gets when its claim is confirmed
	still  uint64         // ticks at rest
	tell   uint64         // ticks for which it is told of although it rests
	work   uint64         // in this round
	since  metasim.Time   // from when on in this round the server has it
	asked  bool           // its transfer is asked for
}

// A peer is another server, as this one sees it.
type peer struct {
	name string
	out  credit.Sender
	in   credit.Receiver

	known bool           // it has said so
	waits map[int]uint64 // since which tick an entity waits to be told of; looked up, never iterated
	order []int          // the entities of waits, in order
	inbox [][]byte       // packets of updates that were not read yet
	probe uint64         // ticks without credit
	said  load
}

// A load is what one server says to all others of a period.
type load struct {
	round   uint64
	work    uint64
	look    [2]int64
	leaving bool
}

// New makes a shard of a Simserver and the bodies of the entities that this owns, by name and in order.
func New(cfg Config, sim *transfer.Simserver, owned []string, bodies []transfer.Body) (*Shard, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Servers = slices.Sorted(slices.Values(cfg.Servers))
	cell := max(cfg.Side/512, 1)
	if len(cfg.Rings) > 0 {
		cell = max(cell, cfg.Rings[0].Within)
	}
	moving, err := interest.New(interest.Config{Side: cfg.Side, Cell: cell, Rings: cfg.Rings})
	if err != nil {
		return nil, err
	}
	s := &Shard{cfg: cfg, sim: sim, moving: moving, numbers: map[string]int{}}
	if cfg.Reach > 0 {
		near := []interest.Ring{{Within: cfg.Reach, Every: 1}}
		if s.resting, err = interest.New(interest.Config{Side: cfg.Side, Cell: max(cfg.Reach, cfg.Side/512, 1), Rings: near}); err != nil {
			return nil, err
		}
	}
	for i, name := range cfg.Servers {
		if name == cfg.Name {
			s.self = claim.Index(i + 1)
			s.peers = append(s.peers, nil)
			continue
		}
		s.peers = append(s.peers, &peer{name: name, out: credit.NewSender(cfg.Window), in: credit.NewReceiver(cfg.Window), waits: map[int]uint64{}})
	}
	s.said.leaving = cfg.Full > 0 && s.self > 1 // until there is enough for it
	for i, name := range owned {
		sim.Own(name)
		sim.Set(name, transfer.State{Body: &bodies[i]})
		e := s.entities[s.number(name)]
		e.owner, e.claim = s.self, claim.Claim{Confirmed: true}
		if bodies[i].Moves() {
			e.claim.Authority = s.self
		}
		e.tell = s.cfg.restTicks()
		s.activate(s.numbers[name])
	}
	return s, nil
}

// number returns the number of an entity, and remembers one that is new.
func (s *Shard) number(name string) int {
	n, known := s.numbers[name]
	if !known {
		n = len(s.entities)
		s.numbers[name] = n
		s.entities = append(s.entities, &entity{name: name})
	}
	return n
}

// activate has an entity looked at in each tick.
func (s *Shard) activate(n int) {
	if at, found := slices.BinarySearch(s.active, n); !found {
		s.active = slices.Insert(s.active, at, n)
	}
}

// Wake is when Tick has something to do.
func (s *Shard) Wake() metasim.Time { return max(s.next, s.cfg.Joins) }

// retire has an entity cost nothing from now on.
func (s *Shard) retire(n int) {
	if at, found := slices.BinarySearch(s.active, n); found {
		s.active = slices.Delete(s.active, at, at+1)
	}
	s.moving.Remove(n)
}

// now returns the state of an entity at an instant.
func (s *Shard) now(e *entity, now metasim.Time) *transfer.State {
	if e.owner == s.self {
		e.state = s.sim.State(e.name, now)
	} else {
		e.state.Integrate(now, s.cfg.Step)
	}
	return &e.state
}

// set changes the state of an entity.
func (s *Shard) set(e *entity, state transfer.State) {
	e.state = state
	if e.owner == s.self {
		s.sim.Set(e.name, state)
	}
}

// integrates reports whether this server moves an entity: it has the authority, and has not handed the entity over meanwhile.
func (s *Shard) integrates(e *entity) bool {
	return e.claim.Integrates(s.self) && (e.owner != s.self || s.sim.Owns(e.name))
}

// push sets an entity in motion that this server has claimed: from here on it has the speed of what touched it.
func (s *Shard) push(e *entity, now metasim.Time) {
	s.Counts.Won++
	st := *s.now(e, now)
	body := *st.Body
	body.VX, body.VY = e.kick[0], e.kick[1]
	st.Body = &body
	e.kick = [2]int64{}
	s.set(e, st)
}
