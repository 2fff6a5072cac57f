// Package claim decides which of two servers' words about an entity counts. It is the authority scheme of G. Fiedler's "Networked Physics in Virtual
// Reality" (2018), between servers instead of players.
//
// An entity has an owner, who is its arbiter, and an authority, who integrates it: the owner, a guest that has touched it, or nobody while it is at
// rest. Ownership changes by a handover alone, and its number is the epoch of package transfer. Authority is lighter: a server whose body touches an entity
// of default authority claims it at once, and integrates it from the owner's confirmation on. Ownership beats authority, and what the owner saw first wins.
//
// All functions are pure: a [Claim] goes in, another comes out.
package claim

// An Index is a server in claims. 0 is nobody: the default authority.
type Index uint16

// Default is the authority of an entity that nobody integrates.
const Default Index = 0

// A Claim is what one server knows about who may change an entity.
type Claim struct {
	Ownership Sequence // each handover is one more
	Touches   Sequence // each change of authority within one ownership is one more
	Authority Index    // who integrates
	Holder    Index    // who lets nobody else grab the entity; 0: nobody does
	Confirmed bool     // the owner has said that the authority is what it is here
	Pending   bool     // authority was given back, and the owner has not said so yet
}

// Grab makes a server the owner: the next ownership begins, with its authority. Where another server holds the entity it is refused, and nothing changes.
func (c Claim) Grab(by Index) (Claim, bool) {
	if c.Holder != Default && c.Holder != by {
		return c, false
	}
	return Claim{Ownership: c.Ownership.Next(), Authority: by, Holder: by, Confirmed: true}, true
}

// Release lets others grab the entity. The authority stays.
func (c Claim) Release(by Index) Claim {
	if c.Holder == by {
		c.Holder = Default
	}
	return c
}

// Touch claims the authority of an entity for a server whose body touches it, if nobody has it. The owner's own claim is confirmed, that of a guest is not.
func (c Claim) Touch(by Index, owner bool) (Claim, bool) {
	if c.Authority != Default || c.Holder != Default {
		return c, false
	}
	c.Authority, c.Touches, c.Confirmed, c.Pending = by, c.Touches.Next(), owner, false
	return c, true
}

// Rest gives a confirmed authority back: the entity has been at rest for long enough. A guest waits until the owner says the same.
func (c Claim) Rest(by Index, owner bool) (Claim, bool) {
	if c.Authority != by || !c.Confirmed || c.Holder != Default {
		return c, false
	}
	c.Authority, c.Touches, c.Confirmed, c.Pending = Default, c.Touches.Next(), owner, !owner
	return c, true
}

// A Verdict is what becomes of an update.
type Verdict uint8

// The verdicts.
const (
	Refuse  Verdict = iota // it is late, or its sender may not say this: nothing changes
	Ignore                 // it says nothing that the receiver does not know better: nothing changes
	Confirm                // the owner says that the receiver has the authority: its state stays, and it may integrate
	Accept                 // claim and state of the update are the receiver's from now on
)

func (v Verdict) String() string { return [...]string{"refuse", "ignore", "confirm", "accept"}[v] }

// Judge decides on an update that a server with a claim of its own receives. Updates go from the owner to guests, and from the guest that has the
// authority to the owner.
func Judge(self Index, mine Claim, sender Index, theirs Claim, fromOwner bool) Verdict {
	switch {
	case theirs.Ownership.NewerThan(mine.Ownership):
		return Accept
	case theirs.Ownership != mine.Ownership:
		return Refuse
	case theirs.Touches.NewerThan(mine.Touches):
		return Accept
	case theirs.Touches != mine.Touches:
		return Refuse
	case !fromOwner:
		return judgeGuest(mine, sender, theirs)
	case theirs.Authority == self:
		return Confirm
	case theirs.Authority == Default && mine.Authority == self:
		return Ignore // it was sent before the owner heard of the touch
	}
	return Accept
}

// judgeGuest decides on an update of a guest with the numbers that the owner has: what the owner saw first wins.
func judgeGuest(mine Claim, sender Index, theirs Claim) Verdict {
	if theirs.Authority == sender && mine.Authority == sender {
		return Accept
	}
	return Refuse
}

// Take returns the claim after an update, by its verdict.
func (c Claim) Take(v Verdict, theirs Claim) Claim {
	switch v {
	case Accept:
		theirs.Confirmed, theirs.Pending = true, false
		return theirs
	case Confirm:
		c.Confirmed = true
	}
	return c
}

// Integrates reports whether a server may compute the entity: it has the authority, and the owner has said so.
func (c Claim) Integrates(self Index) bool { return c.Authority == self && c.Confirmed }
