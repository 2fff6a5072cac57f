package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"time"

	"metasim/federates/authority/pieces"
	"metasim/federates/authority/shard"
	"metasim/federates/authority/transfer"
	"metasim/metasim"
	"metasim/wire/transport/quic"
	"metasim/wire/transport/secure"
)

func (s *server) run(ctx context.Context, cert *secure.Server, commands <-chan Command) error {
	if err := cert.Admit(true, s.cfg.Token); err != nil {
		return err
	}
	office, err := quic.ListenPost("quic://"+s.cfg.Listen, cert, func(who net.Addr, why error) {
		host, _, err := net.SplitHostPort(who.String())
		s.later(Event{Event: "wrong", Error: fmt.Sprintf("%s is not let in: %v; start it with the METASIM_TOKEN of this server", host, errors.Join(why, err))})
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.home, err = newHomeLink(&s.cfg, office.URL(), s.brings()); err != nil {
		return err
	}
	received := make(chan parcel, 64)
	ended := make(chan error, 1)
	go func() {
		ended <- office.Receive(ctx, func(b []byte, caller *quic.Caller) {
			for _, p := range s.home.open(ctx, caller, b) {
				select {
				case received <- p:
				case <-ctx.Done():
				}
			}
		})
	}()
	for name, at := range s.cfg.Peers {
		s.out[name] = s.mailer(ctx, name, at)
	}
	if s.home != nil {
		go s.home.run(ctx)
	}
	s.tell(Event{Event: "ready", URL: office.URL()})
	s.tell(Event{Event: "owns", Owns: s.sim.Held()})
	return s.serve(ctx, received, commands, ended)
}

// serve is the main loop: one thing after the other, and what it leads to is written down before it is said.
func (s *server) serve(ctx context.Context, received <-chan parcel, commands <-chan Command, ended chan error) error {
	timer := time.NewTimer(0)
	for {
		var out []transfer.Envelope
		var fetched *batch
		again := false
		select {
		case <-ctx.Done():
			return <-ended
		case err := <-ended:
			return err
		case p := <-received:
			out = s.receive(ctx, p)
		case b := <-s.home.batches():
			fetched, out = &b, s.read(b)
		case e := <-s.home.entries():
			s.begin(e.entity, e.epoch)
		case err := <-s.home.endings():
			return err
		case why := <-s.home.troubles():
			s.tell(Event{Event: "wrong", Error: why})
		case e := <-s.notes:
			s.note(e)
		case c, open := <-commands:
			if !open {
				commands = nil
				continue
			}
			out = s.command(c)
		case <-timer.C:
			out, again = s.sim.Tick(s.now().Time), true
		}
		now := s.now().Time
		ticks := now >= s.world.wake()
		packets, asked, err := s.world.tick(now)
		if err == nil && ticks {
			err = s.show(now)
		}
		if err != nil {
			return err
		}
		if err := s.save(); err != nil {
			return err
		}
		s.report()
		for _, e := range append(out, asked...) {
			s.send(ctx, &e, again)
		}
		for _, p := range packets {
			s.sendPacket(ctx, p)
		}
		if fetched != nil {
			close(fetched.done) // from here on it need not come again
		}
		s.tellOthers()
		timer.Reset(time.Duration(min(max(min(s.sim.Wake(), s.world.wake())-s.now().Time, 0), metasim.Time(tellEvery))))
	}
}

// tellEvery is how often a server tells the others what it owns.
const tellEvery = 500 * time.Millisecond

// tells returns what a server tells of itself.
func (s *server) tells() (all []told) {
	for _, e := range s.sim.Held() {
		all = append(all, told{e, s.sim.Epoch(e), s.sim.State(e, s.now().Time).Steps})
	}
	return all
}

// tellOthers tells the others what the server owns, in datagrams, if that is due.
func (s *server) tellOthers() {
	if time.Since(s.told) < tellEvery {
		return
	}
	s.told = time.Now()
	for _, b := range sightings(s.tells()) {
		for _, to := range s.out {
			to.post(letter{text: b, datagram: true})
		}
	}
}

func (s *server) receive(ctx context.Context, p parcel) (out []transfer.Envelope) {
	err := p.err
	switch {
	case err != nil:
	case p.sealed:
		return s.hear(p)
	case len(p.text) > 0 && p.text[0] == sightsDatagram:
		var all []told
		all, err = readSightings(p.from, p.text)
		for _, t := range all {
			see(s.seen, p.from, t)
		}
	case len(p.text) > 0 && p.text[0] == lookDatagram:
		err = s.letLook(ctx, p)
	case len(p.text) > 0 && p.text[0] == pieceDatagram:
		err = s.world.receive(p.from, p.text[1:])
	default:
		if p.says, err = transfer.Decode(p.text); err == nil {
			return s.hear(p)
		}
	}
	if err != nil {
		s.tell(Event{Event: "wrong", From: p.from, Error: err.Error()})
	}
	return out
}

// A LateError: a server hands over what has had another owner since.
type LateError struct {
	From, Entity string
	Epoch, Known transfer.Sequence
}

func (e *LateError) Error() string {
	return fmt.Sprintf("%s hands %s over with the epoch %d, and the epoch %d is known here: it is late, and changes nothing", e.From, e.Entity, e.Epoch, e.Known)
}

// hear takes a transfer message, and says who asks for what in it, and what is wrong with it.
func (s *server) hear(p parcel) (out []transfer.Envelope) {
	from, m, sealed := p.from, &p.says, p.sealed
	received := time.Now().UnixNano()
	sent, err := m.TakeTimes(from)
	known, late := s.sim.Epoch(m.Entity), s.sim.Late
	var reason transfer.Reason
	if sealed && m.Kind == transfer.Handover && p.doubt == nil && s.sim.Outdated(m.Entity, m.Epoch, p.epoch) {
		p.doubt = &UnprovenError{from, m.Entity, m.Epoch, errOutdated}
	}
	if sealed && m.Kind == transfer.Handover && s.sim.Past(m.Entity, m.Epoch) {
		p.doubt = nil // no homeserver proves what was removed from it; without an acknowledgement it would be said for ever
	}
	switch {
	case err != nil:
	case p.doubt != nil:
		err, reason = p.doubt, transfer.Unproven
	case s.home != nil && !sealed && (m.Kind == transfer.Handover || m.Kind == transfer.Ack):
		err = &transfer.UnexpectedError{Server: s.cfg.Name, From: from, Kind: m.Kind, Why: "only simulation servers say so, and seal it"}
	// What a homeserver says waits in the mail, and nobody seals it.
	case (s.home == nil || sealed) && m.Kind != transfer.Handover && m.Kind != transfer.Ack:
		err = &transfer.UnexpectedError{Server: s.cfg.Name, From: from, Kind: m.Kind, Why: "only its homeserver says so"}
	default:
		owned := s.sim.Owns(m.Entity)
		out, err = s.sim.Receive(s.now(), from, *m)
		if m.Kind == transfer.Removal && owned && !s.sim.Owns(m.Entity) {
			s.removed[m.Entity] = true
		}
	}
	event := "wrong"
	if err == nil && s.sim.Late > late && m.Epoch != known { // the same again is as it should be
		event, err = "late", &LateError{from, m.Entity, m.Epoch, known}
	}
	heard := &Heard{from, m.Kind, m.Requester, m.ID, m.Owner, m.Trail, len(m.Trail), sealed, sent, transfer.Latencies(sent, received)}
	if err != nil {
		s.tell(Event{Event: event, Entity: m.Entity, Epoch: m.Epoch, Heard: heard, From: from, Reason: reason, Error: err.Error()})
		return out
	}
	s.tell(Event{Event: "heard", Entity: m.Entity, Epoch: m.Epoch, Heard: heard})
	if m.Kind == transfer.Question && s.cfg.Master == transfer.Silent {
		if was, again := s.asked[m.Entity]; !again || was.ID != m.ID || was.Requester != m.Requester {
			s.tell(Event{Event: "asked", Entity: m.Entity, Epoch: m.Epoch, Heard: heard})
		}
		s.asked[m.Entity] = *m
	}
	return out
}

// read takes what the homeserver had for this server.
func (s *server) read(b batch) (out []transfer.Envelope) {
	for i := range b.letters {
		out = append(out, s.hear(parcel{from: s.cfg.Home.Name, says: b.letters[i].Message})...)
	}
	return out
}

func (s *server) command(c Command) (out []transfer.Envelope) {
	var err error
	now := s.now().Time
	switch {
	case c.Give != "" && s.out[c.To] == nil && s.home == nil:
		err = fmt.Errorf("%q is no peer of %s; name it with where it is", c.To, s.cfg.Name)
	case c.Give != "":
		out, err = s.sim.Give(now, c.Give, c.To)
	case c.Take != "":
		out, err = s.sim.Take(now, c.Take)
	case c.Leave:
		err = s.leave(now)
	case c.Of != "":
		out, err = s.home.ruling(s.cfg.Name, c.Of, c.Rule)
	case c.Answer != "":
		q, asked := s.asked[c.Answer]
		if !asked {
			err = fmt.Errorf("nobody has asked %s about %s; wait for an event asked", s.cfg.Name, c.Answer)
			break
		}
		delete(s.asked, c.Answer)
		out = []transfer.Envelope{s.sim.Reply(&q, c.Yes)}
	default:
		sees := maps.Clone(s.seen)
		maps.DeleteFunc(sees, func(entity string, _ Sight) bool { return s.sim.Owns(entity) })
		s.tell(Event{Event: "owns", Owns: s.sim.Held(), Sees: sees})
	}
	if err != nil {
		s.tell(Event{Event: "wrong", Entity: c.Give + c.Take + c.Of + c.Answer, Error: err.Error()})
	}
	return out
}

// report tells what came and went.
func (s *server) report() {
	for _, e := range s.sim.Effects[s.effects:] {
		s.tell(Event{Event: "got", Entity: e.Entity, Epoch: e.Epoch})
	}
	for _, entity := range s.sim.Given[s.given:] {
		event := "gave"
		if s.removed[entity] {
			event = "removed"
		}
		s.tell(Event{Event: event, Entity: entity, Epoch: s.sim.Epoch(entity)})
	}
	clear(s.removed)
	for _, r := range s.sim.Refusals[s.refused:] {
		s.tell(Event{Event: "refused", Entity: r.Entity, Epoch: s.sim.Epoch(r.Entity), Reason: r.Reason})
	}
	if s.world == nil { // a server may run for months
		s.sim.Effects, s.sim.Given, s.sim.Refusals = s.sim.Effects[:0], s.sim.Given[:0], s.sim.Refusals[:0]
	} else {
		s.world.shard.Forget()
	}
	if s.left() {
		s.leaving = false
		s.tell(Event{Event: "left"})
	}
	s.effects, s.given, s.refused = len(s.sim.Effects), len(s.sim.Given), len(s.sim.Refusals)
}

func (s *server) send(ctx context.Context, e *transfer.Envelope, again bool) {
	e.Message.Sent = []int64{time.Now().UnixNano()} // this server begins each trail that it appears in
	if s.home != nil && e.To == s.cfg.Home.Name {
		s.home.say(e.Message)
		return
	}
	text, err := transfer.Encode(&e.Message)
	to := s.to(ctx, e.To)
	switch {
	case err != nil:
		s.tell(Event{Event: "wrong", Error: err.Error()})
	case to == nil:
		s.tell(Event{Event: "wrong", Entity: e.Message.Entity, Error: e.To + " is no peer; name it with where it is"})
	default:
		to.post(letter{text: text, again: again})
	}
}

// to is who sends to a server. Where there is a homeserver it knows them all.
func (s *server) to(ctx context.Context, name string) *mailer {
	if s.out[name] == nil && s.home != nil {
		s.out[name] = s.mailer(ctx, name, "")
	}
	return s.out[name]
}

// sendPacket sends what the world tells another server, in as many datagrams as it takes.
func (s *server) sendPacket(ctx context.Context, p shard.Packet) {
	to := s.to(ctx, p.To)
	if to == nil {
		return // it is no peer: each message to it says so
	}
	if s.world.split[p.To] == nil {
		s.world.split[p.To] = pieces.NewSplitter(s.world.begun)
	}
	all, err := s.world.split[p.To].Split(p.Bytes, maxDatagram)
	if err != nil {
		s.tell(Event{Event: "wrong", Error: err.Error()})
	}
	for _, b := range all {
		to.post(letter{text: append([]byte{pieceDatagram}, b...), datagram: true})
	}
}
