package home

import (
	"fmt"
	"strconv"

	"metasim/federates/authority/transfer"
)

// An ownership is who may change the state of an entity, and the number of this ownership.
type ownership struct {
	Owner string            `json:"owner"`
	Epoch transfer.Sequence `json:"epoch"`
}

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

func showOwnership(c *call) (Response, *problem) {
	e, version, p := c.entity()
	if p != nil {
		return Response{}, p
	}
	return ok(200, version, ownership{e.Owner, e.Epoch})
}

// setOwnership asks for another owner, as the rule of the entity has it: it is granted, refused, or put to the master.
func setOwnership(c *call) (Response, *problem) {
	var in struct {
		Owner string             `json:"owner"`
		Epoch *transfer.Sequence `json:"epoch"`
	}
	p := c.read(&in)
	if p == nil {
		p = c.existing("owner", in.Owner)
	}
	e, version, p2 := c.entity()
	if p == nil {
		p = p2
	}
	if p == nil {
		p = c.fresh(version)
	}
	if p == nil && in.Epoch != nil && *in.Epoch != e.Epoch {
		p = refuse(string(transfer.Stale), "the request knows epoch %d, and %s has epoch %d; read it again", *in.Epoch, c.names[0], e.Epoch)
	}
	if p != nil {
		return Response{}, p
	}
	w := transfer.Wish{Requester: c.account.Name, Owner: in.Owner, Epoch: e.Epoch}
	if why := e.Refuses(w); why != "" {
		return Response{}, c.refuseWish(&e, w, why)
	}
	if e.Asks(w) {
		return c.putToMaster(e, version, w)
	}
	e.Grant(w.Owner)
	if version, p = c.store(entitiesPath+"/"+c.names[0], version, e); p != nil {
		return Response{}, p
	}
	return ok(200, version, ownership{e.Owner, e.Epoch})
}

// refuseWish says why somebody does not become the owner.
func (c *call) refuseWish(e *keptEntity, w transfer.Wish, why transfer.Reason) *problem {
	return refuse(string(why), "%s asks that %s owns %s: its owner is %s, its master %s, its rule %s, its epoch %d", w.Requester, w.Owner, c.names[0], e.Owner, e.Master, e.Rule, e.Epoch)
}

func askPath(entity string, number uint64) string {
	return fmt.Sprintf("%s/%s/%020d", asksPath, entity, number) // in the order of their numbers
}

// asks returns the requests of the entity that are kept, with the versions of their nodes.
func (c *call) asks() (all []ask, versions []uint64, p *problem) {
	for _, name := range c.tree.List(asksPath+"/"+c.names[0], "", maxList) {
		var a ask
		version, p := c.load(asksPath+"/"+c.names[0]+"/"+name, &a)
		if p != nil {
			return nil, nil, p
		}
		all, versions = append(all, c.atNow(a)), append(versions, version)
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

// putToMaster keeps a wish until the master of the entity answers. Who asks the same again is told of the first one.
func (c *call) putToMaster(e keptEntity, version uint64, w transfer.Wish) (Response, *problem) {
	all, versions, p := c.asks()
	if p != nil {
		return Response{}, p
	}
	waiting := 0
	for i, a := range all {
		switch {
		case a.Status == pending && a.Requester == w.Requester && a.Owner == w.Owner:
			return c.accepted(a, versions[i])
		case a.Status == pending:
			waiting++
		case len(all) >= 2*maxAsks: // what is over is kept for a while, for who asked
			c.remove(askPath(c.names[0], a.Number), versions[i])
			all = all[1:]
		}
	}
	if waiting >= maxAsks {
		return Response{}, refuse("too-many-pending", "%d requests wait for %s, the master of %s; wait for its answers", waiting, e.Master, c.names[0])
	}
	e.Asked++
	a := ask{
		Number: e.Asked, Entity: c.names[0], Requester: w.Requester, Owner: w.Owner, Epoch: w.Epoch,
		AskedNS: int64(c.now), UntilNS: int64(c.now.Add(c.cfg.Patience)), Status: pending,
	}
	askVersion, p := c.store(askPath(c.names[0], a.Number), 0, a)
	if p == nil {
		_, p = c.store(entitiesPath+"/"+c.names[0], version, e)
	}
	if p != nil {
		return Response{}, p
	}
	return c.accepted(a, askVersion)
}

func (c *call) accepted(a ask, version uint64) (Response, *problem) {
	r, p := ok(202, version, a)
	r.Location = "/v1/entities/" + a.Entity + "/ownership/requests/" + strconv.FormatUint(a.Number, 10)
	return r, p
}

// An asksPage is all requests of an entity that are kept, the oldest first.
type asksPage struct {
	Items []ask `json:"items"`
}

func listAsks(c *call) (Response, *problem) {
	_, _, p := c.entity()
	if p != nil {
		return Response{}, p
	}
	all, _, p := c.asks()
	if p != nil {
		return Response{}, p
	}
	return ok(200, 0, asksPage{append([]ask{}, all...)})
}

// ask returns the request that the path names, and the version of its node.
func (c *call) ask() (a ask, version uint64, p *problem) {
	n, err := strconv.ParseUint(c.names[1], 10, 64)
	if err == nil {
		version, p = c.load(askPath(c.names[0], n), &a)
	}
	if p == nil && version == 0 {
		p = refuse("unknown-request", "there is no request %q for %q; it may have been forgotten, as the last %d are kept", c.names[1], c.names[0], 2*maxAsks)
	}
	return c.atNow(a), version, p
}

func showAsk(c *call) (Response, *problem) {
	a, version, p := c.ask()
	if p != nil {
		return Response{}, p
	}
	if a.Reason == transfer.NoAnswer {
		version = 0 // time has changed it, and not its node
	}
	return ok(200, version, a)
}

// answerAsk takes what the master says.
func answerAsk(c *call) (Response, *problem) {
	var in struct {
		Answer string `json:"answer"`
	}
	e, version, p := c.mastered(&in)
	if p == nil && in.Answer != "yes" && in.Answer != "no" {
		p = refuse("invalid-value", `answer is %q; use "yes" or "no"`, in.Answer)
	}
	if p != nil {
		return Response{}, p
	}
	a, askVersion, p := c.ask()
	switch {
	case p != nil:
		return Response{}, p
	case a.Reason == transfer.NoAnswer:
		return Response{}, refuse(string(transfer.NoAnswer), "request %d waited until %d ns, and it is %d ns", a.Number, a.UntilNS, int64(c.now))
	case a.Status != pending:
		return Response{}, refuse("answered", "request %d is %s", a.Number, a.Status)
	}
	w := transfer.Wish{Requester: a.Requester, Owner: a.Owner, Epoch: a.Epoch}
	a.Status, a.Reason = granted, e.Answered(w, in.Answer == "yes")
	if a.Reason != "" {
		a.Status = refused
	} else {
		e.Grant(w.Owner)
		a.Epoch = e.Epoch
		_, p = c.store(entitiesPath+"/"+c.names[0], version, e)
	}
	if p == nil {
		askVersion, p = c.store(askPath(c.names[0], a.Number), askVersion, a)
	}
	if p != nil {
		return Response{}, p
	}
	return ok(200, askVersion, a)
}
