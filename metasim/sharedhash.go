package metasim

import (
	"crypto/sha256"
	"hash"
	"slices"
)

// Clients that were given the same from the start on, such as the followers of one controller, have one digest. So what a large message does to
// it is computed for the first of them, and the others take it over.

const (
	leastShared = 16 << 10 // the smallest payload for which it is worth a look
	mostShared  = 256      // how many are known
	// mostAtOnce is how much is hashed by one call. Nobody interrupts a call, as it is in assembly: one of 16 MiB takes 14 ms, and so long the collector would wait to stop the
	// world, and with it all that goes on beside.
	mostAtOnce = 64 << 10
)

// sharedHashes are what the last large deliveries did to the digests of clients.
type sharedHashes struct {
	known []sharedHash
	next  int // of known, to be replaced next
}

// A sharedHash is what a message does to a digest.
type sharedHash struct {
	from   ClientID // which message: a sender's publishes are counted
	seq    uint64
	before [sha256.Size]byte // with what stands before the payload
	after  hash.Cloner       // with the payload
}

// hash adds the payload of a delivery to a digest that has what stands before it, and returns the digest.
func (s *sharedHashes) hash(chain hash.Cloner, m *Message) hash.Cloner {
	var before [sha256.Size]byte
	chain.Sum(before[:0])
	for i := range s.known {
		k := &s.known[i]
		if k.seq == m.Seq && k.from == m.From && k.before == before {
			if same, err := k.after.Clone(); err == nil {
				return same
			}
		}
	}
	for piece := range slices.Chunk(m.Payload, mostAtOnce) {
		chain.Write(piece) // a hash never fails
	}
	after, err := chain.Clone()
	if err != nil { // then each is computed
		return chain
	}
	if k := (sharedHash{m.From, m.Seq, before, after}); len(s.known) < mostShared {
		s.known = append(s.known, k)
	} else {
		s.known[s.next] = k
		s.next = (s.next + 1) % mostShared
	}
	return chain
}

// newChain returns the digest of nothing.
func newChain() hash.Cloner { return sha256.New().(hash.Cloner) }
