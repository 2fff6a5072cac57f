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
	return c.stream(stream).Rand
}

func (c *Client) stream(name string) *stream {
	if r := c.streams[name]; r != nil {
		return r
	}
	if c.streams == nil {
		c.streams = map[string]*stream{}
	}
	source := rand.NewPCG(streamKey(c.told.Seed, c.name, name))
	r := &stream{rand.New(source), source}
	c.streams[name], c.streamNames = r, append(c.streamNames, name)
	return r
}

// restoreStreams moves the streams to where they stood at the checkpoint at which the client begins.
func (c *Client) restoreStreams() {
	for _, p := range c.save.places {
		_ = c.stream(p.name).source.UnmarshalBinary(p.place) // it was tried when the checkpoint came
	}
	c.save.places = nil
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
