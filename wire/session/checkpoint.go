package session

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"metasim/metasim"
	"metasim/wire"
)

// A checkpoint is the state of a client between two instants. A client that begins at it sends exactly what it sent after it, so the server need
// not give it again what was before.
//
// The state has three parts: which timers of Run are set, where random streams stand, and what the simulator has written down. A timer is a function, which cannot be written
// down. So a client that begins at a checkpoint sets its timers before Run as at the start, and BeginRun moves them to where they stood. A timer
// that was set in Run does not come back in this way: while one is set, no checkpoint is made.

// A client that is started again runs its setup code again, and draws from its random streams there. So the streams are moved to where they stood at the
// checkpoint only after that: in BeginRun, or when the client first advances.

// The first byte of a state.
const (
	stateVersion = 2
	stateCounted = 3 // it has after this byte how many messages the client had sent, which can come back to a server that was resumed
)

// A savedState is what a state has.
type savedState struct {
	counted   bool // sent is known
	sent      uint64
	timers    *runTimers // nil: it was not made in Run
	places    []streamPlace
	result    []byte // nil: none was set
	simulator []byte
}

// SaveDue reports whether the client is to make a checkpoint before it goes on, and can make one.
func (c *Client) SaveDue() bool {
	return c.save.every > 0 && c.save.next <= c.now.Time && c.timers.late == 0 && (c.running || c.timers.queue.Len() == 0) && !c.waits && c.err == nil
}

// Save puts a checkpoint, with what the simulator has written down. The simulator has handled all that it was given, and has not been told to
// advance yet. It fails if the state is too long; then nothing is put.
func (c *Client) Save(state []byte) error {
	if c.err != nil {
		return c.err
	}
	p := wire.Checkpoint{
		Now: c.now, NoSendBefore: c.promise, NextEvent: c.reported.next, Cause: c.reported.cause, Acked: c.handled,
		State: append(c.appendResult(c.appendStreams(c.appendTimers(c.beginState()))), state...),
	}
	if err := wire.Check(wire.Packet{Body: p}); err != nil {
		return err
	}
	c.saved()
	c.out.put(p)
	c.out.size += len(p.State)
	return nil
}

func (c *Client) beginState() []byte {
	if c.memory == nil {
		return []byte{stateVersion}
	}
	return binary.AppendUvarint([]byte{stateCounted}, c.memory.sent())
}

// NotSaved tells the server why there is no checkpoint now. The next one is due as always.
func (c *Client) NotSaved(reason error) {
	if c.err == nil {
		c.saved()
		c.out.put(wire.Checkpoint{Failed: reason.Error()})
	}
}

func (c *Client) saved() {
	c.save.next = c.now.Time.Add(c.save.every - c.now.Time%c.save.every)
}

// Begin returns the state at which the client begins; false where it begins at the start of the run.
func (c *Client) Begin() (state []byte, ok bool) {
	if c.save.begin == nil {
		return nil, false
	}
	return c.save.begin.State, true
}

// checkpoint takes what the server says of checkpoints, before Start.
func (c *Client) checkpoint(p *wire.Checkpoint) error {
	c.save.every, c.save.next = p.Every, p.Every
	if p.Every == 0 {
		return nil // there is none then
	}
	c.timers.noted = true
	if p.Now == metasim.Start {
		return nil
	}
	s, err := parseState(p.State)
	if err != nil {
		return fmt.Errorf("the checkpoint at %v cannot be read: %w; another program or another version of the client library made it: use that one, or remove the directory checkpoints of the run", p.Now, err)
	}
	p.State = s.simulator
	c.now, c.promise, c.handled = p.Now, p.NoSendBefore, p.Acked
	if c.memory != nil {
		if c.memory = nil; s.counted {
			c.memory = &memory{first: s.sent, base: p.Acked, waited: true}
		}
	}
	c.reported = reported{next: p.NextEvent, cause: p.Cause}
	c.save.begin, c.save.timers, c.save.places, c.result = p, s.timers, s.places, s.result
	c.saved()
	return nil
}

// appendTimers appends to a state the timers, in the order in which those of one instant fire.
func (c *Client) appendTimers(b []byte) []byte {
	if !c.running {
		return append(b, 0)
	}
	var set []*Timer
	for _, t := range c.timers.before {
		if t.index >= 0 {
			set = append(set, t)
		}
	}
	slices.SortFunc(set, func(a, b *Timer) int { return cmp.Compare(a.number, b.number) })
	b = binary.AppendUvarint(append(b, 1), uint64(len(c.timers.before)))
	b = binary.AppendUvarint(b, uint64(len(set)))
	for _, t := range set {
		b = binary.AppendUvarint(b, uint64(t.set))
		b = binary.AppendUvarint(b, uint64(t.at.Time))
		b = binary.AppendUvarint(b, uint64(t.at.Step))
	}
	return b
}

// appendStreams appends to a state where the random streams stand.
func (c *Client) appendStreams(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(c.streamNames)))
	for _, name := range c.streamNames {
		place, _ := c.streams[name].source.MarshalBinary() // which never fails
		b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
		b = append(binary.AppendUvarint(b, uint64(len(place))), place...)
	}
	return b
}

// appendResult appends to a state what SetResult has set.
func (c *Client) appendResult(b []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(c.result))), c.result...)
}

var errState = errors.New("its state is not one of this library")

// parseState reads what Save has written.
func parseState(b []byte) (s savedState, err error) {
	if len(b) < 2 || b[0] != stateVersion && b[0] != stateCounted {
		return s, errState
	}
	r := &stateReader{rest: b[1:]}
	if s.counted = b[0] == stateCounted; s.counted {
		s.sent = r.number(math.MaxUint64)
	}
	if r.number(1) == 1 {
		in := &runTimers{before: int(r.number(math.MaxInt32))}
		for n := r.number(uint64(in.before)); n > 0 && !r.bad; n-- {
			t := savedTimer{number: int(r.number(uint64(in.before - 1)))}
			t.at.Time, t.at.Step = metasim.Time(r.number(math.MaxInt64)), uint32(r.number(math.MaxUint32))
			in.set = append(in.set, t)
		}
		s.timers = in
	}
	for n := r.number(math.MaxInt32); n > 0 && !r.bad; n-- {
		p := streamPlace{name: string(r.bytes()), place: r.bytes()}
		s.places = append(s.places, p)
		r.bad = r.bad || new(rand.PCG).UnmarshalBinary(p.place) != nil
	}
	if set := r.bytes(); len(set) > 0 {
		s.result = set
	}
	if r.bad {
		return savedState{}, errState
	}
	s.simulator = r.rest
	return s, nil
}

// A stateReader reads a state. After an error it is bad.
type stateReader struct {
	rest []byte
	bad  bool
}

// number reads a number that is not above a limit.
func (r *stateReader) number(limit uint64) uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > limit {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *stateReader) bytes() []byte {
	n := r.number(uint64(len(r.rest)))
	n = min(n, uint64(len(r.rest)))
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}
