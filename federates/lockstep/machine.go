package lockstep

import (
	"errors"
	"fmt"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/world"
)

// A machine is the runtime of one system, without a client: it turns calls into replies.
type machine struct {
	make   func(p *sdf.Plugin) (any, error)
	topics []string    // that somebody hears
	own    *sdf.Plugin // of its configuration, in the place of what the world says; nil: it has none
	state  stage
	system any
	phases uint8
	store  *ecm.Store
	setup  world.Setup
	number uint32

	iteration uint64      // of the last call
	phase     world.Phase // of the last call
	calls     uint64      // steps in which it was called
	before    uint64      // of them, before the last reset
	first     world.Info  // the first one since then
	last      world.Info
}

// call carries out a call. A machine that fails says why in the reply, and stays as it is.
func (m *machine) call(c *call) *reply {
	r := &reply{phase: c.phase}
	err := m.carryOut(c, r)
	if err != nil {
		m.state = failed
		r.changes, r.failed = ecm.Changes{}, err.Error()
	}
	return r
}

func (m *machine) carryOut(c *call, r *reply) error {
	if err := m.inOrder(c); err != nil {
		return err
	}
	changes, err := ecm.Decode(c.state)
	if err != nil {
		return err
	}
	switch c.phase {
	case world.Configure:
		err = m.begin(c)
	case world.Reset:
		err = m.beginAgain()
	}
	if err != nil {
		return err
	}
	if err := m.store.Apply(changes); err != nil {
		return err
	}
	m.store.Forget(m.store.Version())
	m.iteration, m.phase = c.info.Iteration, c.phase
	phase := c.phase
	switch phase {
	case world.Configure:
		m.state, r.phases = configured, m.phases
	case world.Reset:
		if m.phases&(1<<world.Reset) == 0 {
			phase = world.Configure
		}
	case m.firstPhase():
		if m.state = running; m.calls == m.before {
			m.first = c.info
		}
		m.calls, m.last = m.calls+1, c.info
	}
	if m.phases&(1<<phase) != 0 {
		r.changes, err = world.Run(m.system, phase, m.setup, c.info, m.store, m.number)
	}
	return err
}

// told returns what the system has to tell beside its reply.
func (m *machine) told() []world.Told {
	if t, tells := m.system.(world.Teller); tells && m.state != failed {
		return t.Told()
	}
	return nil
}

// begin makes the system.
func (m *machine) begin(c *call) error {
	plugin := c.plugin
	if m.own != nil {
		if plugin = m.own; plugin.Name != c.plugin.Name {
			return fmt.Errorf("the world asks for %s, and the configuration of this runtime, %s:%d, has %s; give it that of the world", c.plugin.Name,
				plugin.Place.File, plugin.Place.Line, plugin.Name)
		}
	}
	m.number = c.number
	m.setup = world.Setup{World: world.Root, Plugin: plugin, Seed: c.seed, Topics: m.topics}
	return m.anew()
}

// beginAgain follows a world back to its start. A system without Reset is made anew.
func (m *machine) beginAgain() error {
	m.before = m.calls
	if m.phases&(1<<world.Reset) == 0 {
		return m.anew()
	}
	m.store = ecm.NewStore(world.Schema())
	return nil
}

// anew makes the system, and an empty copy of the state.
func (m *machine) anew() (err error) {
	if m.system, err = anew(m.system, func() (any, error) { return m.make(m.setup.Plugin) }); err != nil {
		return err
	}
	if m.phases = world.PhasesOf(m.system); m.phases == 0 {
		return errors.New("the system has nothing to do in any phase; take it out of the world")
	}
	m.store = ecm.NewStore(world.Schema())
	return nil
}

// inOrder returns an *OrderError if a call does not come in its order. Configure comes first, and once. After it each step has the phases in
// which the system takes part, in their order. Reset may come between steps.
func (m *machine) inOrder(c *call) error {
	expected := world.Configure
	if m.state >= configured {
		expected = m.after(m.phase)
	}
	right := c.phase == expected
	text := expected.String()
	switch {
	case c.phase == world.Reset && m.state >= configured && m.state != failed && expected == m.firstPhase(): // between steps
		right = c.fresh
	case m.state == failed:
		right, text = false, "nothing, as it has failed"
	case m.state < configured:
		right = right && c.fresh
	case expected == m.firstPhase():
		right = right && c.info.Iteration > m.iteration
		text += " of a later iteration"
	default:
		right = right && c.info.Iteration == m.iteration
		text += " of the same iteration"
	}
	if right {
		return nil
	}
	return &OrderError{m.state.String(), c.phase, c.info.Iteration, text}
}

// after returns the phase that follows another, of those in which the system takes part.
func (m *machine) after(p world.Phase) world.Phase {
	for next := p + 1; next <= world.PostUpdate; next++ {
		if m.phases&(1<<next) != 0 {
			return next
		}
	}
	return m.firstPhase()
}

// firstPhase returns the phase with which a step begins for the system.
func (m *machine) firstPhase() world.Phase {
	for p := world.PreUpdate; p <= world.PostUpdate; p++ {
		if m.phases&(1<<p) != 0 {
			return p
		}
	}
	return world.Configure // it only prepares itself: nothing may follow
}

// rate returns how often the system was called in a second of simulated time.
func (m *machine) rate() float64 {
	if m.calls < m.before+2 {
		return 0
	}
	return float64(m.calls-m.before-1) / (m.last.Time - m.first.Time).Seconds()
}
