package dst

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// is reports whether the client does what a moment waits for. The dispatcher knows of clock.
func (c *client) is(t trigger, clock metasim.Instant) bool {
	switch t {
	case catching:
		return c.asked
	case handled:
		return c.phase == ready && c.survives && c.reaction > 0 && !c.Authorized()
	case reported:
		return c.phase == ready && c.Now().Before(clock)
	}
	return false
}

// able reports whether compute would do something.
func (c *client) able() bool {
	return c.phase == ready || c.phase != over && !c.in.Empty()
}

// compute lets the client do one thing: what one call of the client library does between two waits.
func (c *client) compute() {
	switch {
	case c.phase == ready:
		c.instant()
	case !c.take():
	case c.phase == returning:
		c.catchUp()
	case c.phase == joining && c.Started():
		c.initialize()
	case c.phase == waiting && c.Answered():
		c.instant()
	}
}

// take takes in what has arrived. It returns false if the session is over.
func (c *client) take() bool {
	err := c.Receive(&c.in)
	c.in.Clear()
	if err == nil {
		return true
	}
	refused := new(wire.RefusedError)
	if !errors.Is(err, session.ErrLeft) && !(errors.As(err, &refused) && refused.Reason == wire.RunFailed && c.network.failed != nil) {
		c.complain(err)
	}
	c.phase = over
	return false
}

func (c *client) complain(err error) {
	if err != nil && c.network.err == nil {
		c.network.err = fmt.Errorf("%s at %v: %w", c.name, c.Now(), err)
	}
}

func (c *client) initialize() {
	state, at := c.Begin()
	c.begin(!at)
	if at {
		c.network.count[countBegun]++
		c.complain(c.goBack(state))
		for i := range c.transcript {
			switch c.transcript[i].what {
			case 's':
				c.sent++
			case 'm':
				c.handled++
			}
		}
	}
	c.simulator.now = c.Now()
	if c.style != handles {
		c.advance()
		return
	}
	c.BeginRun()
	if c.Running() && c.Authorized() {
		c.Report(session.Work{})
	}
	c.phase = ready
}

// goBack has the program be what a checkpoint has written down, with what its process had seen by then. The checkpoint says which process that was: a
// later one may have lived in a run without a client, and the journal has lost that.
func (c *client) goBack(state []byte) error {
	n := len(state) - 8
	if n < 0 {
		return fmt.Errorf("a checkpoint has %d bytes", len(state))
	}
	return c.restore(state[:n], c.network.lives[binary.LittleEndian.Uint64(state[n:])].transcript)
}

// advance begins the next Step or Next.
func (c *client) advance() {
	c.checkpoint()
	begin := c.BeginStep
	if c.style == nexts {
		begin = c.BeginNext
	}
	c.complain(begin(c.target))
	if !c.Authorized() && !c.take() {
		return
	}
	if c.Authorized() {
		c.goOn()
	} else {
		c.wait()
	}
}

// checkpoint makes one, if one is due and the program can.
func (c *client) checkpoint() {
	switch {
	case !c.SaveDue():
	case c.state%7 == 0:
		c.NotSaved(errors.New("not now"))
	default:
		c.complain(c.Save(binary.LittleEndian.AppendUint64(c.save(), c.life)))
	}
}

func (c *client) goOn() {
	c.GoOn(session.Work{})
	c.phase = ready
	if c.out.Urgent() {
		c.write()
	}
}

func (c *client) wait() {
	c.Wait(session.Work{})
	c.phase = waiting
	c.write()
}

// comeBack begins to come back over a new connection: its server was lost.
func (c *client) comeBack(own *conn) {
	if c.phase != returning {
		c.before = c.phase
	}
	c.conn, c.member, c.phase = own, uint32(len(own.members)), returning
	own.members = append(own.members, c)
	c.out.Member = c.member
	c.in.Clear()
	c.authorized, c.last, c.asked = metasim.Start, metasim.Message{}, false
	c.Return()
	c.write()
}

// catchUp tells the new server what it lacks, as far as it may. Then the client goes on where it was.
func (c *client) catchUp() {
	there := c.CatchUp()
	c.write()
	if !there {
		return
	}
	c.phase, c.asked = c.before, false
	switch {
	case c.phase == joining:
		c.initialize()
	case c.phase == leaving:
		c.leave()
	case c.style == handles:
		c.phase = ready
	case c.Authorized():
		c.goOn()
	default:
		c.wait()
	}
}

// instant does what there is to do at the instant that the client has come to.
func (c *client) instant() {
	if c.style == handles {
		c.handle()
		return
	}
	messages, err := c.Arrive()
	for i := range messages {
		c.hear(&messages[i])
	}
	if err != nil {
		c.quit()
		return
	}
	c.happens()
	c.act(c.Now())
	if !c.leaves {
		c.advance()
	}
}

// handle is an instant of a client with handlers and timers.
func (c *client) handle() {
	switch {
	case c.BeginInstant():
	case c.AtEnd():
		c.quit()
		return
	default:
		c.wait()
		return
	}
	c.happens()
	c.simulator.now = c.Now()
	for !c.leaves {
		m, ok := c.NextMessage()
		if !ok {
			break
		}
		c.look(m.Channel)
		c.hear(&m)
	}
	for !c.leaves {
		call, ok := c.NextTimer()
		if !ok {
			break
		}
		c.complain(call())
	}
	if c.leaves {
		return
	}
	c.checkpoint()
	c.EndInstant()
	if !c.Authorized() && !c.take() {
		return
	}
	c.phase = ready
	if c.Authorized() {
		c.goOn()
	}
}

// hear gives a message to the program. A dispatcher counts the sends that matter in its run, and those at home are not all.
func (c *client) hear(m *message) {
	if c.network.number != nil {
		m.Seq = c.network.number(m.From, m.Seq)
	}
	c.message(c.Now(), m)
}

// look checks that the client has a handler for a channel.
func (c *client) look(channel string) {
	switch {
	case slices.Contains(c.known, channel):
	case len(c.Handlers(channel)) > 0:
		c.known = append(c.known, channel)
	default:
		c.complain(fmt.Errorf("a message on %q, to which it does not subscribe", channel))
	}
}

// happens checks that nothing happens where everything has happened, nor where nothing may happen yet.
func (c *client) happens() {
	if !c.Now().Before(c.network.permitted) {
		c.complain(fmt.Errorf("it acts there, and the run may go on to %v only", c.network.permitted))
	}
	if c.Now().Before(c.network.past) && !c.repeats {
		c.complain(fmt.Errorf("something happens there, and everything before %v was said to have happened", c.network.past))
	}
}

// quit leaves at the end of the run.
func (c *client) quit() {
	c.leaves = true
	c.note(seen{what: 'l'})
	c.leave()
}

func (c *client) publish(channel string, payload []byte) {
	c.complain(c.Publish(channel, payload))
	if c.out.Full() {
		c.write()
	}
}

func (c *client) at(i metasim.Instant, call func()) func() { return c.AtInstant(i, handler(call)).Stop }

func (c *client) every(period metasim.Time, call func()) func() {
	return c.Every(period, handler(call)).Stop
}

// handler is a call that does not fail, as a timer takes it.
func handler(call func()) func() error { return func() error { call(); return nil } }

func (c *client) rand(stream string) *rand.Rand { return c.Rand(stream) }

func (c *client) promise(t metasim.Time) {
	c.complain(c.Promise(t))
	c.write()
}

func (c *client) leave() {
	c.complain(c.Leave())
	c.phase = leaving
	c.write()
}

// write writes all that the client has to say.
func (c *client) write() {
	for _, p := range c.out.Packets() {
		c.conn.up = append(c.conn.up, p.Keep())
	}
	c.out.Written()
}

// arrive takes in a packet, and checks what every client may rely on.
func (c *client) arrive(p wire.Packet) {
	switch e := p.Body.(type) {
	case *metasim.Deliver:
		m := &e.Message
		if m.Due.Before(c.authorized) || m.Due.Before(c.Now()) && c.phase != returning {
			c.complain(fmt.Errorf("a message of client %d is due %v, below the authorization %v or in its past", m.From, m.Due, c.authorized))
		}
		if c.last.Compare(m) > 0 {
			c.complain(fmt.Errorf("a message due %v came after one due %v", m.Due, c.last.Due))
		}
		c.last = *m
	case *metasim.Authorize:
		if e.Until.Before(c.authorized) {
			c.complain(fmt.Errorf("its authorization fell from %v to %v", c.authorized, e.Until))
		}
		c.authorized = e.Until
	}
	c.complain(c.in.Add([]wire.Packet{p}, &c.conn.names))
}
