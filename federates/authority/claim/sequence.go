package claim

// A Sequence numbers the ownerships of an entity, or its authorities within one ownership. After 65,535 comes 0.
type Sequence uint16

// Next is the number of the next one.
func (s Sequence) Next() Sequence { return s + 1 }

// NewerThan compares around the end: of two numbers that are less than half of all apart, the later one is newer.
func (s Sequence) NewerThan(other Sequence) bool { return int16(s-other) > 0 }
