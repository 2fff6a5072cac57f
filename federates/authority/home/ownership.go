package home

import (
	"strconv"

	"metasim/federates/authority/transfer"
)

// An ownership is who may change the state of an entity, and the number of this ownership.
type ownership struct {
	Owner string            `json:"owner"`
	Epoch transfer.Sequence `json:"epoch"`
}

func showOwnership(c *call) (Response, *problem) {
	e, version, p := c.entity()
	if p != nil {
		return c.far(p)
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
	if in.Owner == "" {
		in.Owner = c.account.Name
	}
	if p == nil {
		p = c.somewhere("owner", in.Owner)
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
	id := byHand | (e.Asked + 1)
	m := transfer.Message{Kind: transfer.Request, Requester: w.Requester, ID: id, Entity: c.names[0], Owner: w.Owner, Epoch: w.Epoch, Trail: []string{w.Requester}}
	if e.Asks(w) {
		return c.putToMaster(e, version, m)
	}
	if _, p = c.decide(&e, version, m); p != nil {
		return Response{}, p
	}
	if version, p = c.store(entitiesPath+"/"+c.names[0], version, e); p != nil {
		return Response{}, p
	}
	return ok(200, version, ownership{e.Owner, e.Epoch})
}

// refuseWish says why somebody does not become the owner.
func (c *call) refuseWish(e *keptEntity, w transfer.Wish, why transfer.Reason) *problem {
	return refuse(string(why), "%s asks that %s owns %s: its owner is %s, its master %s, its rule %s, its epoch %d", w.Requester, w.Owner, c.names[0], e.Owner, e.Master, e.Rule, e.Epoch)
}

// putToMaster keeps a wish until the master of the entity answers. Who asks the same again is told of the first one.
func (c *call) putToMaster(e keptEntity, version uint64, m transfer.Message) (Response, *problem) {
	all, versions, p := c.asksOf(c.names[0])
	if p != nil {
		return Response{}, p
	}
	for i, a := range all {
		if a.Status == pending && a.Requester == m.Requester && a.Owner == m.Owner {
			return c.accepted(a.ask, versions[i])
		}
	}
	if _, p = c.decide(&e, version, m); p != nil {
		return Response{}, p
	}
	if _, p = c.store(entitiesPath+"/"+c.names[0], version, e); p != nil {
		return Response{}, p
	}
	return c.accepted(c.asked, 1)
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
	all, _, p := c.asksOf(c.names[0])
	if p != nil {
		return Response{}, p
	}
	page := asksPage{[]ask{}}
	for _, a := range all {
		page.Items = append(page.Items, a.ask)
	}
	return ok(200, 0, page)
}

// ask returns the request that the path names, and the version of its node.
func (c *call) ask() (a keptAsk, version uint64, p *problem) {
	n, err := strconv.ParseUint(c.names[1], 10, 64)
	if err == nil {
		version, p = c.load(askPath(c.names[0], n), &a)
	}
	if p == nil && version == 0 {
		p = refuse("unknown-request", "there is no request %q for %q; it may have been forgotten, as the last %d are kept", c.names[1], c.names[0], 2*maxAsks)
	}
	a.ask = c.atNow(a.ask)
	return a, version, p
}

func showAsk(c *call) (Response, *problem) {
	a, version, p := c.ask()
	if p != nil {
		return Response{}, p
	}
	if a.Reason == transfer.NoAnswer {
		version = 0 // time has changed it, and not its node
	}
	return ok(200, version, a.ask)
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
	before := a.Epoch
	m := transfer.Message{Kind: transfer.Answer, Requester: a.Requester, ID: a.ID, Entity: c.names[0], Epoch: a.Epoch, Yes: in.Answer == "yes", Trail: []string{c.account.Name}}
	out, p := c.decide(&e, version, m)
	if p == nil {
		_, p = c.store(entitiesPath+"/"+c.names[0], version, e)
	}
	if p != nil {
		return Response{}, p
	}
	a.Status = granted
	for _, o := range out {
		if o.Message.ID == a.ID && o.Message.Requester == a.Requester {
			a.Epoch = e.Epoch
			if a.Reason = o.Message.Reason; a.Reason != "" {
				a.Status, a.Epoch = refused, before
			}
		}
	}
	return ok(200, askVersion+1, a.ask)
}
