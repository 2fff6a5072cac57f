package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"metasim/metasim"
)

// CanonicalResult writes the result of a client so that equal JSON is equal text: as RFC 8785 says, but integers keep all their digits,
// which that document rounds to 53 bits. A result that is not JSON stays as it is.
func CanonicalResult(result []byte) []byte {
	v := jsontext.Value(slices.Clone(result))
	if v.Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil {
		return result
	}
	return v
}

// ResultsDigest returns the digest of what the clients left with: over the names of the clients, in order, each with its canonical
// result. Results are in the order of the names; one that is empty is none.
func ResultsDigest(names []string, results [][]byte) metasim.Digest {
	h := sha256.New()
	write := func(b []byte) {
		h.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(b))))
		h.Write(b)
	}
	for i, name := range names {
		write([]byte(name))
		write(CanonicalResult(results[i]))
	}
	return metasim.Digest(h.Sum(nil))
}
