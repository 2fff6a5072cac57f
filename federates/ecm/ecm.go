// Package ecm holds the state of a world: entities, each with components, and how that state changes.
//
// A component is a type (a name) and a value (bytes). A [Store] has the whole state. Systems never change it: each reads and
// writes through a [View] of its own, which shows the store and, on top of it, what that system wrote. [Store.Merge] then puts what
// several systems wrote at the same time into the store, in the order in which it is given them, so that the result does not
// depend on where, or in which order, they ran.
//
// [Changes] is the one form of a difference: what a view wrote, what changed since a version of the store ([Store.Since]), and the
// whole state, which is the difference from nothing ([Store.Full]). Its encoding is canonical: equal changes have equal bytes, and
// [Decode] takes nothing else. So the SHA-256 of an encoded full state stands for the state.
//
// A reader may skip versions. Since returns all that changed after the version that the reader has.
//
// The caller's duties:
//
//  1. Values are not changed after they were given to a View, nor after they were got from one.
//  2. A View is used before the next Merge or Apply, and not after it.
//  3. Forget is called with the oldest version that any reader still has, or the store remembers every removal.
package ecm

import "fmt"

// An Entity is the number of an entity: the number of the system that created it, and how many that system had created. Zero is none.
type Entity uint64

// countBits is the part of an Entity that counts.
const countBits = 32

func entityOf(writer, count uint32) Entity { return Entity(writer)<<countBits | Entity(count) }

func (e Entity) writer() uint32 { return uint32(e >> countBits) }
func (e Entity) count() uint32  { return uint32(e) }

// String writes 7 for the seventh entity of the world's file, and 2:7 for the seventh that system 2 created.
func (e Entity) String() string {
	if e.writer() == 0 {
		return fmt.Sprint(e.count())
	}
	return fmt.Sprintf("%d:%d", e.writer(), e.count())
}

// A Kind says how a component was changed.
type Kind uint8

// The kinds of changes. A reader of several changes at once sees OneTime if one of them was.
const (
	Periodic Kind = 1 + iota // one of many samples: a reader may leave it out if a later one follows
	OneTime                  // an event that no reader may miss
)

// A Schema checks the values of components, by type. A type that it does not have may have any value.
type Schema map[string]func(value []byte) error

// A Component is a component of an entity as it was set.
type Component struct {
	Type  string
	Value []byte
	Kind  Kind
}

// An Edit is what changed of one entity.
type Edit struct {
	Entity  Entity
	Created bool
	Parent  Entity      // of a created entity; zero: none
	Set     []Component // in order of type
	Removed []string    // types, in order
}

// A Counter says how many entities a system has created.
type Counter struct{ Writer, Count uint32 }

// Changes is a difference between two states.
type Changes struct {
	Removed  []Entity  // in order, with all entities below them
	Edits    []Edit    // in order of entity
	Counters []Counter // in order of writer
}

// Memory is that of changes that are used before the next ones are made in it. Their values are not in it.
type Memory struct {
	edits []Edit
	set   []Component // of all edits
}

// Empty reports whether nothing changed.
func (c *Changes) Empty() bool { return len(c.Removed)+len(c.Edits)+len(c.Counters) == 0 }

// A Written is what one system wrote.
type Written struct {
	By string
	Changes
}

// A Conflict is something that two systems wrote at the same time. What By wrote stands; what Over wrote does not.
type Conflict struct {
	Entity   Entity
	Type     string // empty: By removed the entity
	By, Over string
}

// String writes "pose of entity 7: what wind wrote stands, what thrust wrote is dropped".
func (c Conflict) String() string {
	if c.Type == "" {
		return fmt.Sprintf("entity %v: %s removed it, what %s wrote to it is dropped", c.Entity, c.By, c.Over)
	}
	return fmt.Sprintf("%s of entity %v: what %s wrote stands, what %s wrote is dropped", c.Type, c.Entity, c.By, c.Over)
}

// A Store is the state of a world. The zero value is not ready: see NewStore.
type Store struct {
	schema   Schema
	order    []*entity // by number
	byNumber map[Entity]*entity
	counters []Counter // by writer
	counted  uint64    // version of the latest change of counters
	version  uint64    // of the state: it rises with each change
	graves   []grave   // of entities

	whole   Changes // memory of Hash
	scratch []byte  // likewise
}

// An entity is one that exists.
type entity struct {
	number, parent Entity
	created        uint64 // version
	touched        uint64 // version of the latest change
	components     []component
	gone           []goneComponent
	below          []Entity // whose parent it is, in any order
	removed        bool     // it does not exist any more
}

// A component has the versions of its life: with the bytes alone, what a late reader has missed would be lost.
type component struct {
	name    string
	value   []byte
	added   uint64 // version
	changed uint64 // version of the latest change
	oneTime uint64 // version of the latest change that was OneTime
}

// A goneComponent existed from a version to another.
type goneComponent struct {
	name           string
	added, removed uint64
}

// A grave is that of an entity.
type grave struct {
	number           Entity
	created, removed uint64
}

// A WriterError says that what a system wrote cannot be: nothing of it is in the store.
type WriterError struct {
	Writer string
	Err    error
}

func (e *WriterError) Error() string { return fmt.Sprintf("system %s: %v", e.Writer, e.Err) }
func (e *WriterError) Unwrap() error { return e.Err }

// A FormatError says where bytes are no canonical encoding of changes.
type FormatError struct {
	At   int // the byte
	What string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("byte %d of encoded changes: %s; the sender speaks another version, or is broken", e.At, e.What)
}
