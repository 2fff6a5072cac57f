package home

import (
	"errors"
	"reflect"
	"slices"

	"metasim/federates/authority/transfer"
)

// What simulation servers and other homeservers say to a homeserver are the messages of package transfer, and its machine decides on them: it is made
// anew for each message, of what the tree keeps of the entity. What it sends waits in the mail of who is to have it, until that one has fetched it; so it
// outlives both processes, and a message that comes again is answered again.

// takeMessage takes what a server or a homeserver says.
func takeMessage(c *call) (Response, *problem) {
	var m transfer.Message
	p := c.read(&m)
	c.message = &m
	if p == nil {
		p = c.takeTimes(&m)
	}
	if p == nil {
		p = c.checkTrail(&m)
	}
	if p != nil {
		return Response{}, p
	}
	var e keptEntity
	version := uint64(0)
	if len(m.Route) == 0 {
		if p = checkName("entity", m.Entity); p == nil {
			version, p = c.load(entitiesPath+"/"+m.Entity, &e)
		}
	}
	if p == nil {
		_, p = c.decide(&e, version, m)
	}
	if p == nil && version > 0 {
		_, p = c.store(entitiesPath+"/"+m.Entity, version, e)
	}
	return Response{Status: 204}, p
}

// checkTrail refuses messages whose hops nobody has travelled: a server says only what is its own, and a homeserver passes on what others have said.
func (c *call) checkTrail(m *transfer.Message) *problem {
	passes := slices.Contains(c.cfg.Homeservers, c.account.Name)
	switch n := len(m.Trail); {
	case n > maxTrail || len(m.Route) > maxTrail:
		return refuse("forged-trail", "the message has a trail of %d names and a route of %d; at most %d pass a message on", n, len(m.Route), maxTrail)
	case !passes && n != 1, passes && n < 2 && saidByServers(m.Kind):
		return refuse("forged-trail", "%s sends a message whose trail is %q; servers begin a trail, and homeservers that this one knows go on with it", c.account.Name, m.Trail)
	case !passes && len(m.Route) > 0 && (m.Kind != transfer.Answer || !c.knows(m.Route[0])): // else a server could have others hear from here what only homeservers say
		return refuse("forged-trail", "%s has a message of kind %q passed on to %q; only the answers of masters are, to homeservers that this one knows", c.account.Name, clip(string(m.Kind)), clip(m.Route[0]))
	case m.Kind == transfer.Request && m.Requester != m.Trail[0]:
		return refuse("forged-trail", "the requester is %s, and the trail begins with %s; ask in your own name", clip(m.Requester), m.Trail[0])
	}
	return nil
}

// takeTimes takes out of a message when it was sent: what comes again is the same whenever it does.
func (c *call) takeTimes(m *transfer.Message) (p *problem) {
	var err error
	if c.sent, err = m.TakeTimes(c.account.Name); err != nil {
		return refuse("forged-trail", "%v", err)
	}
	return nil
}

// saidByServers reports whether simulation servers say such messages to homeservers: no homeserver begins one.
func saidByServers(k transfer.Kind) bool {
	return k == transfer.Request || k == transfer.Answer || k == transfer.SetRule
}

// decide has the machine decide on a message, and what it says carried out. It changes e, where version is not 0.
func (c *call) decide(e *keptEntity, version uint64, m transfer.Message) ([]transfer.Envelope, *problem) {
	h := transfer.NewHomeserver(transfer.HomeConfig{Name: c.cfg.Name, Neighbours: c.near(e), Path: c.cfg.Path, Patience: c.cfg.Patience, Takes: c.takes})
	var out []transfer.Envelope
	before := transfer.Kept{Record: e.Record, Said: e.Said, Asked: e.Waits}
	if version > 0 {
		h.Restore(m.Entity, before)
		out = h.Tick(c.now)
	}
	more, err := h.Receive(c.now, c.account.Name, m)
	var forged *transfer.ForgedError
	switch {
	case errors.As(err, &forged):
		return nil, refuse("forged-trail", "%v", err)
	case err != nil:
		return nil, refuse("unexpected-message", "%v", err)
	}
	for _, o := range more {
		if !slices.ContainsFunc(out, func(other transfer.Envelope) bool { return reflect.DeepEqual(o, other) }) {
			out = append(out, o)
		}
	}
	repeats := version == 0
	if version > 0 {
		after, _ := h.Keep(m.Entity)
		repeats = reflect.DeepEqual(before, after)
		e.Record, e.Said, e.Waits = after.Record, byServers(before.Said, after.Said), after.Asked
		if p := c.noteAsks(m.Entity, e, out); p != nil {
			return nil, p
		}
	}
	for _, o := range out {
		if p := c.post(o, repeats); p != nil {
			return nil, p
		}
	}
	return out, nil
}

// takes reports whether an entity may be handed over to somebody: an account, whose server may not have begun yet. Who is none here may be at another homeserver.
func (c *call) takes(to string) bool {
	_, account := c.tree.Get(accountsPath + "/" + to)
	return account || len(c.cfg.Homeservers) > 0
}

// byServers returns what servers were told last: what a person was told is not said again, and does not take the place of what its server was told.
func byServers(before, after []transfer.Said) (all []transfer.Said) {
	for _, s := range after {
		if s.ID&byHand != 0 {
			at := slices.IndexFunc(before, func(b transfer.Said) bool { return b.Requester == s.Requester })
			if at < 0 {
				continue
			}
			s = before[at]
		}
		all = append(all, s)
	}
	return all
}

// near are those whom this homeserver sends to itself. Where there is no other homeserver it is everybody.
func (c *call) near(e *keptEntity) (all []string) {
	for _, name := range []string{e.Owner, e.Master} {
		if _, here := c.tree.Get(accountsPath + "/" + name); here || len(c.cfg.Path) == 0 {
			all = append(all, name)
		}
	}
	return all
}
