package metasim

import (
	"crypto/sha256"
	"hash"
	"testing"

	"github.com/stretchr/testify/require"
)

// A measuredHash notes the most that it was given at once.
type measuredHash struct {
	hash.Cloner
	most *int
}

func (m measuredHash) Write(b []byte) (int, error) {
	*m.most = max(*m.most, len(b))
	return m.Cloner.Write(b)
}

// A call of a hash cannot be interrupted, so a large payload is hashed in pieces. The digest is that of the whole.
func TestLargePayloadsAreHashedInPieces(t *testing.T) {
	payload := make([]byte, 3*mostAtOnce+5)
	for i := range payload {
		payload[i] = byte(i * i)
	}
	h, most := newHashes([]string{"a", "b"}), 0
	h.chains[0] = measuredHash{h.chains[0], &most}
	m := Message{From: 1, Channel: "c", Payload: payload}
	h.add(&Hashing{client: 0, message: m})
	require.Equal(t, mostAtOnce, most)
	require.Equal(t, Digest(sha256.Sum256(append(h.appendDelivery(nil, &m), payload...))), h.client(0))
}
