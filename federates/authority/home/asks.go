package home

import (
	"fmt"
	"slices"

	"metasim/federates/authority/transfer"
)

// The states of an ask.
const (
	pending = "pending"
	granted = "granted"
	refused = "refused"
)

// An ask is a request for ownership that was put to the master of the entity.
type ask struct {
	Number    uint64            `json:"request"`
	Entity    string            `json:"entity"`
	Requester string            `json:"requester"`
	Owner     string            `json:"owner"` // the new one, if it is granted
	Epoch     transfer.Sequence `json:"epoch"` // when it was asked; when it is granted, the new one
	AskedNS   int64             `json:"asked_ns"`
	UntilNS   int64             `json:"until_ns"` // when the master has been waited for long enough
	Status    string            `json:"status"`   // pending, granted or refused
	Reason    transfer.Reason   `json:"reason,omitempty"`
}

// A keptAsk is an ask as the tree has it.
type keptAsk struct {
	ask
	ID uint64 `json:"id"` // of the message that asked
}

func askPath(entity string, number uint64) string {
	return fmt.Sprintf("%s/%s/%020d", asksPath, entity, number) // in the order of their numbers
}

// asksOf returns the requests of an entity that are kept, with the versions of their nodes.
func (c *call) asksOf(entity string) (all []keptAsk, versions []uint64, p *problem) {
	for _, name := range c.tree.List(asksPath+"/"+entity, "", maxList) {
		var a keptAsk
		version, p := c.load(asksPath+"/"+entity+"/"+name, &a)
		if p != nil {
			return nil, nil, p
		}
		a.ask = c.atNow(a.ask)
		all, versions = append(all, a), append(versions, version)
	}
	return all, versions, nil
}

// atNow is an ask as it is now: time refuses it without anybody writing that down.
func (c *call) atNow(a ask) ask {
	if a.Status == pending && int64(c.now) >= a.UntilNS {
		a.Status, a.Reason = refused, transfer.NoAnswer
	}
	return a
}

// newAsk keeps a request that was put to the master of an entity, and forgets one that is over where there are many.
func (c *call) newAsk(entity string, e *keptEntity, q *transfer.Message) *problem {
	all, versions, p := c.asksOf(entity)
	if p != nil {
		return p
	}
	waiting := 0
	for i, a := range all {
		switch {
		case a.Status == pending:
			waiting++
		case len(all) >= 2*maxAsks: // what is over is kept for a while, for who asked
			c.remove(askPath(entity, a.Number), versions[i])
			all = all[1:]
		}
	}
	if waiting >= maxAsks {
		return refuse("too-many-pending", "%d requests wait for %s, the master of %s; wait for its answers", waiting, e.Master, entity)
	}
	e.Asked++
	c.asked = ask{
		Number: e.Asked, Entity: entity, Requester: q.Requester, Owner: q.Owner, Epoch: q.Epoch,
		AskedNS: int64(c.now), UntilNS: int64(c.now.Add(c.cfg.Patience)), Status: pending,
	}
	_, p = c.store(askPath(entity, e.Asked), 0, keptAsk{c.asked, q.ID})
	return p
}

// noteAsks writes down what was put to a master, and what came of it, for those who look at the requests of an entity.
func (c *call) noteAsks(entity string, e *keptEntity, out []transfer.Envelope) *problem {
	all, versions, p := c.asksOf(entity)
	if p != nil {
		return p
	}
	for _, o := range out {
		m := &o.Message
		at := slices.IndexFunc(all, func(a keptAsk) bool { return a.ID == m.ID && a.Requester == m.Requester })
		switch {
		case m.Kind == transfer.Question && at < 0:
			if p = c.newAsk(entity, e, m); p != nil {
				return p
			}
		case m.Kind == transfer.Grant && at >= 0:
			a := all[at]
			a.Status, a.Reason, a.Epoch = granted, "", m.Epoch
			_, p = c.store(askPath(entity, a.Number), versions[at], a)
		case m.Kind == transfer.Refusal && at >= 0:
			a := all[at]
			a.Status, a.Reason = refused, m.Reason
			_, p = c.store(askPath(entity, a.Number), versions[at], a)
		}
		if p != nil {
			return p
		}
	}
	return nil
}
