package home

import "metasim/federates/authority/transfer"

// An entity is who may change something.
type entity struct {
	ID string `json:"id"`
	transfer.Record
	Born transfer.Sequence `json:"born"` // the epoch with which it was entered: where it has that still, it has always had this owner
}

func listEntities(c *call) (Response, *problem) {
	return c.list(entitiesPath, func(id string) (any, *problem) {
		var e keptEntity
		_, p := c.load(entitiesPath+"/"+id, &e)
		return entity{id, e.Record, e.Born}, p
	})
}

// enterEntity adds an entity. Who adds it is its owner and its master, unless it names others.
func enterEntity(c *call) (Response, *problem) {
	in := struct {
		ID     string        `json:"id"`
		Owner  string        `json:"owner"`
		Master string        `json:"master"`
		Rule   transfer.Rule `json:"rule"`
	}{Owner: c.account.Name, Master: c.account.Name, Rule: transfer.Allow}
	p := c.read(&in)
	if p == nil {
		p = checkName("id", in.ID)
	}
	if p == nil {
		p = c.somewhere("owner", in.Owner)
	}
	if p == nil {
		p = c.somewhere("master", in.Master)
	}
	e := keptEntity{Record: transfer.Record{Owner: in.Owner, Master: in.Master}}
	if why := e.SetRule(in.Master, in.Rule); p == nil && why != "" {
		p = refuse(string(why), "rule is %q; use deny, ask or allow", in.Rule)
	}
	if _, found := c.tree.Get(entitiesPath + "/" + in.ID); p == nil && found {
		p = refuse("exists", "there is an entity %s; choose another id", in.ID)
	}
	if p == nil {
		p = c.reborn(in.ID, &e)
	}
	version := uint64(0)
	if p == nil {
		version, p = c.store(entitiesPath+"/"+in.ID, 0, e)
	}
	if p != nil {
		return Response{}, p
	}
	r, p := ok(201, version, entity{in.ID, e.Record, e.Born})
	r.Location = "/v1/entities/" + in.ID
	return r, p
}

// A retired is the last epoch of an entity that was removed.
type retired struct {
	Epoch transfer.Sequence `json:"epoch"`
}

// reborn has an entity that was removed go on with the next epoch: servers refuse what is late of its first life, and would believe it if the epochs began again.
func (c *call) reborn(id string, e *keptEntity) *problem {
	var last retired
	version, p := c.load(retiredPath+"/"+id, &last)
	if p == nil && version > 0 {
		p = c.letGo(id, e.Owner)
	}
	if p == nil && version > 0 {
		e.Epoch = last.Epoch.Next()
		e.Born = e.Epoch
		c.remove(retiredPath+"/"+id, version)
	}
	return p
}

// entity returns the entity that the path names.
func (c *call) entity() (e keptEntity, version uint64, p *problem) {
	version, p = c.load(entitiesPath+"/"+c.names[0], &e)
	if p == nil && version == 0 {
		p = refuse("unknown-entity", "this homeserver keeps no entity %q", c.names[0])
	}
	return e, version, p
}

func showEntity(c *call) (Response, *problem) {
	e, version, p := c.entity()
	if p != nil {
		return c.far(p)
	}
	return ok(200, version, entity{c.names[0], e.Record, e.Born})
}

// far is the answer where the entity that is asked for may be at another homeserver.
func (c *call) far(p *problem) (Response, *problem) {
	if r, far := c.elsewhere(); far && p.name == "unknown-entity" {
		return r, nil
	}
	return Response{}, p
}

// somewhere refuses names of accounts that do not exist; those of other homeservers are not known here.
func (c *call) somewhere(what, name string) *problem {
	if len(c.cfg.Path) > 0 {
		return checkName(what, name)
	}
	return c.existing(what, name)
}

func removeEntity(c *call) (Response, *problem) {
	e, version, p := c.entity()
	if p == nil && e.Master != c.account.Name && !c.account.Admin {
		p = refuse(string(transfer.NotMaster), "the master of %s is %s; use its token, or that of an admin", c.names[0], e.Master)
	}
	if p == nil {
		p = c.fresh(version)
	}
	if p != nil {
		return Response{}, p
	}
	for _, n := range c.tree.List(asksPath+"/"+c.names[0], "", maxList) {
		path := asksPath + "/" + c.names[0] + "/" + n
		if node, found := c.tree.Get(path); found {
			c.remove(path, node.Version)
		}
	}
	if p = c.tellOwner(&e); p != nil {
		return Response{}, p
	}
	c.remove(entitiesPath+"/"+c.names[0], version)
	if _, p = c.store(retiredPath+"/"+c.names[0], 0, retired{e.Epoch}); p != nil {
		return Response{}, p
	}
	return Response{Status: 204}, nil
}

// tellOwner has the server that owns an entity let go of it, as nobody keeps who owns it any more.
func (c *call) tellOwner(e *keptEntity) *problem {
	_, computes := c.tree.Get(serversPath + "/" + e.Owner)
	_, account := c.tree.Get(accountsPath + "/" + e.Owner)
	if !computes && (account || len(c.cfg.Path) == 0) {
		return nil // nobody computes it
	}
	h := transfer.NewHomeserver(transfer.HomeConfig{Name: c.cfg.Name, Neighbours: c.near(e), Path: c.cfg.Path})
	h.Enter(c.names[0], e.Record)
	return c.post(h.Remove(c.names[0]), false)
}

// letGo refuses to enter an entity again while a server beside its new owner may not know that it was removed: two would compute it.
func (c *call) letGo(id, owner string) *problem {
	for _, name := range c.tree.List(mailPath, "", maxNames) {
		if name == owner {
			continue
		}
		for _, n := range c.tree.List(mailPath+"/"+name, "", maxMail) {
			var l letter
			if _, p := c.load(mailPath+"/"+name+"/"+n, &l); p != nil {
				return p
			}
			if m := &l.Message; m.Entity == id && (m.Kind == transfer.Grant || m.Kind == transfer.Removal) {
				return refuse("not-let-go", "%s had %s before it was removed, and has not fetched the message that says so; start it, or, if it is gone for good, have an admin remove its account", name, id)
			}
		}
	}
	return nil
}

// A mastership is who may change the rule of an entity.
type mastership struct {
	Master string `json:"master"`
}

func showMastership(c *call) (Response, *problem) {
	e, version, p := c.entity()
	if p != nil {
		return c.far(p)
	}
	return ok(200, version, mastership{e.Master})
}

// setMastership hands the right to change the rule to another account. Only who has it does so.
func setMastership(c *call) (Response, *problem) {
	var in mastership
	e, version, p := c.mastered(&in)
	if p == nil {
		p = c.existing("master", in.Master)
	}
	if p == nil {
		e.Master = in.Master
		version, p = c.store(entitiesPath+"/"+c.names[0], version, e)
	}
	if p != nil {
		return Response{}, p
	}
	return ok(200, version, in)
}

// mastered reads a body, and returns the entity, if its master asks.
func (c *call) mastered(body any) (e keptEntity, version uint64, p *problem) {
	if p = c.read(body); p == nil {
		e, version, p = c.entity()
	}
	if p == nil && e.Master != c.account.Name {
		p = refuse(string(transfer.NotMaster), "the master of %s is %s, and %s asks; only the master does this", c.names[0], e.Master, c.account.Name)
	}
	if p == nil {
		p = c.fresh(version)
	}
	return e, version, p
}

// A ruling is the rule of an entity.
type ruling struct {
	Rule transfer.Rule `json:"rule"`
}

func showRule(c *call) (Response, *problem) {
	e, version, p := c.entity()
	if p != nil {
		return c.far(p)
	}
	return ok(200, version, ruling{e.Rule})
}

func setRule(c *call) (Response, *problem) {
	var in ruling
	e, version, p := c.mastered(&in)
	if p == nil {
		if why := e.SetRule(c.account.Name, in.Rule); why != "" {
			p = refuse(string(why), "rule is %q; use deny, ask or allow", in.Rule)
		}
	}
	if p == nil {
		version, p = c.store(entitiesPath+"/"+c.names[0], version, e)
	}
	if p != nil {
		return Response{}, p
	}
	return ok(200, version, in)
}
