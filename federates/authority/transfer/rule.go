package transfer

// What a homeserver decides is written here once, for those that are clients of a run and for those that are programs of their own.

// A Record is what a homeserver keeps of an entity.
type Record struct {
	Owner  string   `json:"owner"`
	Master string   `json:"master"` // empty: nobody, and the rule stays
	Rule   Rule     `json:"rule"`
	Epoch  Sequence `json:"epoch"`
}

// A Wish is what a requester wants: another owner of an entity.
type Wish struct {
	Requester string
	Owner     string   // the new one. It is the requester itself where it takes the entity; else the requester gives the entity away
	Epoch     Sequence // the one that a requester knows who gives the entity away
}

// Refuses returns why a wish is refused whatever a master says; empty if it is not.
func (r *Record) Refuses(w Wish) Reason {
	gives := w.Owner != w.Requester
	switch {
	case gives && r.Owner != w.Requester:
		return NotOwner
	case gives && r.Epoch != w.Epoch:
		return Stale
	case !gives && r.Owner == w.Requester:
		return Owned
	case r.Rule == Deny && r.Master != w.Requester:
		return Denied
	}
	return ""
}

// Asks reports whether the master has to be asked before a wish that is not refused is granted.
func (r *Record) Asks(w Wish) bool { return r.Rule == Ask && r.Master != "" && r.Master != w.Requester }

// Grant writes a new owner down, and returns the old one.
func (r *Record) Grant(owner string) (old string) {
	old = r.Owner
	r.Owner, r.Epoch = owner, r.Epoch.Next()
	return old
}

// SetRule lets the master set another rule, and nobody else. It returns why not.
func (r *Record) SetRule(by string, rule Rule) Reason {
	switch {
	case r.Master == "" || r.Master != by:
		return NotMaster
	case rule != Deny && rule != Ask && rule != Allow:
		return NoRule
	}
	r.Rule = rule
	return ""
}
