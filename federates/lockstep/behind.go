package lockstep

import (
	"errors"
	"fmt"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/ecm"
	"metasim/federates/world"
	"metasim/metasim"
)

// Laggards are systems that the world does not wait for: it may be some steps ahead of each. Their replies travel longer than that many steps, so that the
// server lets the world go on; and they carry nothing that the world needs, so that its states do not depend on them.
type laggards struct {
	world string // its client
	all   []laggard
}

// A laggard is one of them, with its calls that have no reply yet, the oldest first.
type laggard struct {
	slot  *world.Slot
	step  metasim.Time
	calls []late
}

// A late is a call whose reply is to come at a time.
type late struct {
	world.Call
	due metasim.Time
}

// travel returns how long replies travel if the world may be so many steps ahead: it needs a reply only when it would be one step further.
func travel(behind int, step metasim.Time) metasim.Time { return metasim.Time(behind+1) * step }

// asked notes a call.
func (l *laggards) asked(c *world.Call, now metasim.Time) {
	i := 0
	for i < len(l.all) && l.all[i].slot != c.Slot {
		i++
	}
	if i == len(l.all) {
		l.all = append(l.all, laggard{slot: c.Slot, step: c.Info.Step})
	}
	noted := *c
	noted.State = nil // it may be large
	l.all[i].calls = append(l.all[i].calls, late{noted, now.Add(travel(c.Slot.Behind, c.Info.Step))})
}

// due returns the first call whose reply is to come at a time or before; nil if there is none.
func (l *laggards) due(by metasim.Time) *late {
	var first *late
	for i := range l.all {
		if calls := l.all[i].calls; len(calls) > 0 && calls[0].due <= by && (first == nil || calls[0].due < first.due) {
			first = &calls[0]
		}
	}
	return first
}

// forget forgets the calls of a system.
func (l *laggards) forget(slot *world.Slot) {
	for i := range l.all {
		if l.all[i].slot == slot {
			l.all[i].calls = nil
		}
	}
}

// of returns the laggard that a message is a reply of; nil if it is none.
func (l *laggards) of(m client.Message) *laggard {
	for i := range l.all {
		if _, channel := catalog.LockStepChannels(l.world, l.all[i].slot.Name); m.Channel == channel && len(l.all[i].calls) > 0 {
			return &l.all[i]
		}
	}
	return nil
}

// take takes the reply to the oldest call.
func (l *laggard) take(m client.Message, world string) error {
	c := l.calls[0]
	l.calls = l.calls[1:]
	if took, want := m.Due.Time-m.Sent.Time, travel(l.slot.Behind, l.step); took != want {
		return fmt.Errorf("the world may be %d steps of %v ahead of system %s, and the replies of client %s travel %v; write a link for them: {from: %s, to: %s, delay: %v}",
			l.slot.Behind, l.step, l.slot.Name, m.From, took, m.From, world, want)
	}
	r, err := replyTo(&c.Call, m)
	if err != nil {
		return err
	}
	return readsOnly(&c.Call, r)
}

// readsOnly returns an error if a reply says that a system does more than read.
func readsOnly(c *world.Call, r reply) error {
	var err error
	switch {
	case !r.changes.Empty():
		err = errors.New("it wrote, and the world was ahead of it; take <metasim:behind> out, so that the world waits")
	case c.Phase == world.Configure && r.phases|1<<world.Configure != c.Slot.Reads|1<<world.Configure:
		err = fmt.Errorf("its runtime takes part in the phases %s, and here it takes part in %s; run the same metasim on both, or take <metasim:behind> out", world.PhasesText(r.phases), world.PhasesText(c.Slot.Reads))
	default:
		return nil
	}
	return &world.StepError{System: c.Slot.Name, Phase: c.Phase, Iteration: c.Info.Iteration, Err: err}
}

// replyTo decodes the reply to a call.
func replyTo(c *world.Call, m client.Message) (reply, error) {
	r, err := decodeReply(m.Payload)
	switch {
	case err != nil:
	case r.failed != "":
		err = errors.New(r.failed)
	case r.phase != c.Phase:
		err = fmt.Errorf("its runtime replied to %v, and was asked for %v", r.phase, c.Phase)
	default:
		return r, nil
	}
	return reply{changes: ecm.Changes{}}, &world.StepError{System: c.Slot.Name, Phase: c.Phase, Iteration: c.Info.Iteration, Err: err}
}
