package session_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// A call is one of the things that the user of a client may do, or that may happen to it.
type call struct {
	Call    string   `json:"call"`
	Member  uint32   `json:"member,omitempty"`  // whose call it is
	Name    string   `json:"name,omitempty"`    // join: the client's; at, after, every, stop, on: the timer's; random: the stream's
	Token   string   `json:"token,omitempty"`   // join
	Channel string   `json:"channel,omitempty"` // publication, subscription, publish; on: of the subscription
	Payload payload  `json:"payload,omitempty"` // publish; result, as JSON
	Size    int      `json:"size,omitempty"`    // publish, join: so many bytes instead of payload or name; random: how many draws
	At      *instant `json:"at,omitempty"`      // step, next, promise, at
	For     int64    `json:"for,omitempty"`     // reaction, after, every; clock: nanoseconds
	Do      *call    `json:"do,omitempty"`      // on: what the handler does

	// step, next: for how long the client has computed since its last report, in nanoseconds, the processor time, and for how long it
	// waited for a core.
	Computed int64 `json:"computed,omitempty"`
	CPU      int64 `json:"cpu,omitempty"`
	CoreWait int64 `json:"core_wait,omitempty"`
}

// A connection carries the clients of a story, as a shell does. It has no socket, and its clock moves only where the story
// says so.
type connection struct {
	members map[uint32]*player
	names   session.Names
	encoder wire.Encoder
	decoder wire.Decoder
	clock   int64
	events  []object // what has happened
}

// A player is one client.
type player struct {
	conn     *connection
	declared session.Declaration
	subs     []string
	out      session.Outbound
	rules    *session.Client
	doing    string // the call that has not returned: join, step, next, run or leave
	do       map[string][]call
	timers   map[string]*session.Timer
	waits    bool         // in Run
	runs     bool         // in Run, or in what a handler of Run does
	acts     bool         // in a handler
	back     bool         // it comes back to a server that was resumed
	work     session.Work // of the call at hand
}

func newConnection() *connection {
	return &connection{members: map[uint32]*player{}, names: session.Names{Peer: "the server"}}
}

func (p *connection) member(number uint32) *player {
	c := p.members[number]
	if c == nil {
		c = &player{conn: p, do: map[string][]call{}, timers: map[string]*session.Timer{}}
		c.out.Member = number
		p.members[number] = c
	}
	return c
}

func (p *connection) happens(o object) { p.events = append(p.events, o) }

// receive takes a frame of the server, length first.
func (p *connection) receive(frame []byte) error {
	packets, err := p.decoder.Packets(frame[4:])
	if err != nil {
		return err
	}
	for i := range packets {
		var in session.Inbound
		err := in.Add(packets[i:i+1], &p.names)
		if err != nil {
			p.lose(err)
			return nil
		}
		if c := p.members[packets[i].Member]; c != nil && c.rules != nil {
			_ = c.rules.Receive(&in) // whatever it does next says so
			c.goOn()
		}
	}
	return nil
}

// lose ends the connection.
func (p *connection) lose(err error) {
	for _, number := range slices.Sorted(maps.Keys(p.members)) {
		if c := p.members[number]; c.rules != nil {
			_ = c.rules.Lose(err)
			c.goOn()
		}
	}
}

// perform does a call.
func (p *connection) perform(c call) error {
	m := p.member(c.Member)
	switch c.Call {
	case "clock":
		p.clock += c.For
		if m.out.Keeping() && m.out.Left(p.clock) <= 0 {
			m.write()
		}
		return nil
	case "back":
		p.names = session.Names{Peer: "the server"}
		m.rules.Return()
		m.back = true
		m.write()
		return nil
	case "lost":
		err := io.EOF
		if c.Name != "" {
			err = errors.New(c.Name)
		}
		p.lose(err)
		return nil
	case "on":
		m.do[c.Name+c.Channel] = append(m.do[c.Name+c.Channel], *c.Do)
		return nil
	}
	if m.declares(c) {
		return nil
	}
	if m.rules == nil {
		return fmt.Errorf("%s needs a client; join first", c.Call)
	}
	return m.perform(c)
}

// declares does a call of a client that has not joined.
func (m *player) declares(c call) bool {
	switch c.Call {
	case "publication":
		m.fails(m.declared.Publish(c.Channel))
	case "subscription":
		if !m.fails(m.declared.Subscribe(c.Channel)) {
			m.subs = append(m.subs, c.Channel)
		}
	case "survives":
		m.fails(m.declared.Survive())
	case "saves":
		m.fails(m.declared.Save())
	case "reaction":
		m.fails(m.declared.React(metasim.Time(c.For)))
	case "join":
		name := c.Name + strings.Repeat("x", c.Size)
		if rules, err := m.declared.Join(name, c.Token, &m.out); !m.fails(err) {
			m.rules, m.doing = rules, "join"
			m.write()
		}
	default:
		return false
	}
	return true
}

func (m *player) perform(c call) error {
	var at metasim.Instant
	if c.At != nil {
		at = metasim.Instant(*c.At)
	}
	handler := func() error {
		m.happens(object{{"timer", c.Name}, {"at", instant(m.rules.Now())}})
		m.handle(c.Name)
		return nil
	}
	switch c.Call {
	case "publish":
		m.fails(m.rules.Publish(c.Channel, append(c.Payload, make([]byte, c.Size)...)))
	case "promise":
		m.fails(m.rules.Promise(at.Time))
	case "result":
		m.fails(m.rules.SetResult(string(c.Payload) + strings.Repeat("x", c.Size)))
	case "fail":
		if m.rules.Close(errors.New(c.Name)); m.rules.Failed() {
			m.write()
		}
	case "cancel":
		_ = m.rules.Cancel(errNobodyWaits) // whatever it does next says so
	case "at":
		if at.Step > 0 {
			m.timers[c.Name] = m.rules.AtInstant(at, handler)
		} else {
			m.timers[c.Name] = m.rules.At(at.Time, handler)
		}
	case "after":
		m.timers[c.Name] = m.rules.After(metasim.Time(c.For), handler)
	case "every":
		m.timers[c.Name] = m.rules.Every(metasim.Time(c.For), handler)
	case "about":
		a := m.rules.Told().About
		m.happens(object{{"about", a.Entry}}.with("index", uint64(a.Index)).with("count", uint64(a.Count)).with("with", a.With).with("directory", a.Directory))
	case "random":
		m.draws(c)
	case "stop":
		m.timers[c.Name].Stop()
	case "step":
		m.saves(c)
		m.begins(c.Call, m.rules.BeginStep(at.Time))
		return nil
	case "next":
		m.saves(c)
		m.begins(c.Call, m.rules.BeginNext(at.Time))
		return nil
	case "run":
		m.rules.BeginRun()
		if m.rules.Running() && m.rules.Authorized() {
			m.rules.Report(session.Work{})
		}
		m.doing, m.runs = "run", true
	case "leave":
		m.begins(c.Call, m.rules.Leave())
	default:
		return fmt.Errorf("there is no call %q", c.Call)
	}
	m.writeUrgent()
	if !m.acts {
		m.goOn()
	}
	return nil
}

// saves makes a checkpoint if one is due, before a call that advances.
func (m *player) saves(c call) {
	m.work = session.Work{Computed: c.Computed, CPU: c.CPU, CoreWait: c.CoreWait}
	if m.rules.SaveDue() {
		m.fails(m.rules.Save([]byte("state")))
	}
}

// draws draws so many numbers from a stream, and then one below 1.
func (m *player) draws(c call) {
	var drawn payload
	r := m.rules.Rand(c.Name)
	for range c.Size {
		drawn = binary.LittleEndian.AppendUint64(drawn, r.Uint64())
	}
	drawn = binary.LittleEndian.AppendUint64(drawn, uint64(r.Float64()*(1<<53)))
	m.happens(object{{"drawn", c.Name}, {"payload", drawn}})
}

// begins begins a Step, a Next or a Leave, unless that failed.
func (m *player) begins(what string, err error) {
	switch {
	case what == "leave" && errors.Is(err, session.ErrLeft):
		m.happens(object{{"left", true}})
	case m.fails(err):
	case what == "leave":
		m.doing = what
	default:
		m.doing = what
		m.report()
		m.goOn()
	}
}

// report says that the client goes on, or that it waits.
func (m *player) report() {
	if !m.rules.Authorized() {
		m.rules.Wait(m.work)
		m.write()
		return
	}
	m.rules.GoOn(m.work)
	if !m.writeUrgent() {
		m.out.Keep(m.conn.clock)
	}
}

// goOn does what the call at hand can do now.
func (m *player) goOn() {
	doing, err := m.doing, m.rules.Err()
	if m.back && err == nil {
		there := m.rules.CatchUp()
		if m.write(); !there {
			return
		}
		m.back = false
		m.asksAgain()
	}
	switch doing {
	case "join":
		if state, saved := m.rules.Begin(); saved && err == nil && m.rules.Started() {
			m.happens(object{{"restored", payload(state)}})
		}
		if err == nil && m.rules.Started() {
			m.happens(object{{"joined", true}, {"until", instant(m.rules.Until())}, {"timed", m.rules.Told().Timed}})
			m.doing = ""
			return
		}
	case "step", "next":
		if err == nil && m.rules.Answered() {
			m.arrives()
			m.doing = ""
			return
		}
	case "run":
		if !m.waits || err != nil || m.rules.Answered() {
			m.waits = false
			m.run()
		}
		return
	case "leave":
		if errors.Is(err, session.ErrLeft) {
			m.happens(object{{"left", true}})
			if m.doing = ""; m.runs {
				m.endRun()
			}
			return
		}
	}
	if doing != "" && err != nil {
		m.doing = ""
		m.fails(err)
	}
}

// asksAgain says to a server that was resumed what was said to the one before it.
func (m *player) asksAgain() {
	switch {
	case m.doing == "leave":
		m.fails(m.rules.Leave())
	case (m.doing == "step" || m.doing == "next" || m.waits) && !m.rules.Answered():
		m.rules.Wait(session.Work{})
	}
	m.write()
}

func (m *player) arrives() {
	msgs, err := m.rules.Arrive()
	if !m.fails(err) {
		m.happens(object{{"arrived", instant(m.rules.Now())}})
	}
	for _, msg := range msgs {
		m.happens(message(msg))
	}
}

// code names a kind of error in the vectors; see conformance/README.md.
func code(err error) string {
	refused, violation := new(wire.RefusedError), new(metasim.Violation)
	switch {
	case errors.As(err, &refused):
		return "refused"
	case errors.As(err, &violation):
		return map[metasim.Rule]string{
			metasim.SendBeforePromise: "send-before-promise", metasim.PromiseRegress: "promise-regress",
			metasim.TimeRegress: "time-regress",
		}[violation.Rule]
	case errors.As(err, new(*wire.ProtocolError)):
		return "protocol"
	case errors.As(err, new(*session.LostError)):
		return "lost"
	case errors.Is(err, errNobodyWaits):
		return "cancelled"
	case errors.Is(err, session.ErrEnd):
		return "end"
	case errors.Is(err, session.ErrLeft):
		return "left"
	case errors.Is(err, session.ErrComplete):
		return "complete"
	}
	return "mistake"
}

var errNobodyWaits = errors.New("nobody waits for it any more")
