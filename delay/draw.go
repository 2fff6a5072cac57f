package delay

import (
	"crypto/sha512"
	"encoding/binary"
	"math/rand/v2"
)

// A purpose separates the draws of one message, so that none moves when another is no longer made.
type purpose uint8

const (
	forTravel purpose = iota
	forCopy           // the travel of the second copy
	forLoss
	forDuplicate
	purposes
)

// A stream is a family of generators: one for each message number.
type stream struct{ hi, lo uint64 }

// streams derives the streams of a link from the seed and its name alone. SHA-512 has room for a key of 128 bits for
// each purpose, and lengths keep ("ab", "c") from being ("a", "bc").
func streams(seed uint64, from, to, channel string) [purposes]stream {
	id := binary.LittleEndian.AppendUint64([]byte("metasim/delay"), seed)
	for _, name := range [...]string{from, to, channel} {
		id = binary.LittleEndian.AppendUint64(id, uint64(len(name)))
		id = append(id, name...)
	}
	sum := sha512.Sum512(id)
	var all [purposes]stream
	for i := range all {
		key := sum[16*i:]
		all[i] = stream{binary.LittleEndian.Uint64(key), binary.LittleEndian.Uint64(key[8:])}
	}
	return all
}

// begin puts src at the beginning of the generator of message n.
func (s stream) begin(src *rand.PCG, n uint64) { src.Seed(s.hi, s.lo^mix(n)) }

// mix is a bijection in which every bit of n moves half of the result: the generators of neighbouring numbers start
// far apart. It is the finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
// OOPSLA 2014).
func mix(n uint64) uint64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// unit draws from [0, 1): 53 bits, exactly.
func unit(src rand.Source) float64 { return float64(src.Uint64()>>11) * 0x1p-53 }
