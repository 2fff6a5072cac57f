package session

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Rand returns the random stream of this name: a generator that belongs to this client alone and is keyed by the seed of
// the run, the name of the client and the name of the stream. The first call begins it; later calls return the same one, which
// goes on. It is there once the client is Started. Streams are defined in docs/protocol.md, section 6, as clients in other languages have
// the same.
func (c *Client) Rand(stream string) *rand.Rand {
	if r := c.streams[stream]; r != nil {
		return r
	}
	if c.streams == nil {
		c.streams = map[string]*rand.Rand{}
	}
	hi, lo := streamKey(c.told.Seed, c.name, stream)
	r := rand.New(rand.NewPCG(hi, lo))
	c.streams[stream] = r
	return r
}

// streamKey is where a stream begins. Lengths keep ("ab", "c") from being ("a", "bc").
func streamKey(seed uint64, client, stream string) (hi, lo uint64) {
	id := binary.LittleEndian.AppendUint64([]byte("metasim/random"), seed)
	for _, name := range [...]string{client, stream} {
		id = binary.LittleEndian.AppendUint64(id, uint64(len(name)))
		id = append(id, name...)
	}
	sum := sha256.Sum256(id)
	return binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])
}
