package metasim

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/foldhash"
)

// The digest of sends takes in whatever a client sent, heard or not, and nothing that was refused. It is what the design says.
func TestSendsDigest(t *testing.T) {
	sends := func(all ...*Send) (Digest, uint64) {
		l := NewLedger([]string{"a", "b"})
		for _, s := range all {
			l.Observe(s, nil)
		}
		return l.SendsDigest(), l.SendsOf(1)
	}
	one := &Send{Client: 1, Channel: "C", Sent: Instant{Time: 5, Step: 2}, Payload: []byte("x")}
	got, sent := sends(one)

	hash := uint64(foldhash.Seed)
	for _, w := range []uint64{5, 2} {
		hash = foldhash.Word(hash, w)
	}
	chain := foldhash.Word(foldhash.Seed, foldhash.Bytes(foldhash.Bytes(hash, "C"), "x"))
	require.Equal(t, chain, sent)
	h := sha256.New()
	h.Write([]byte("\x01\x00\x00\x00a"))
	h.Write(binary.LittleEndian.AppendUint64(make([]byte, 8), foldhash.Seed))
	h.Write([]byte("\x01\x00\x00\x00b\x01\x00\x00\x00\x00\x00\x00\x00"))
	h.Write(binary.LittleEndian.AppendUint64(nil, chain))
	require.Equal(t, Digest(h.Sum(nil)), got)

	for _, other := range [][]*Send{
		nil, {one, one},
		{{Client: 0, Channel: "C", Sent: Instant{Time: 5, Step: 2}, Payload: []byte("x")}},
		{{Client: 1, Channel: "D", Sent: Instant{Time: 5, Step: 2}, Payload: []byte("x")}},
		{{Client: 1, Channel: "C", Sent: Instant{Time: 5, Step: 3}, Payload: []byte("x")}},
		{{Client: 1, Channel: "C", Sent: Instant{Time: 6, Step: 2}, Payload: []byte("x")}},
		{{Client: 1, Channel: "C", Sent: Instant{Time: 5, Step: 2}, Payload: []byte("y")}},
		{{Client: 1, Channel: "C", Sent: Instant{Time: 5, Step: 2}}},
	} {
		d, _ := sends(other...)
		require.NotEqual(t, got, d)
	}
	l := NewLedger([]string{"a", "b"})
	l.Observe(one, nil)
	l.Observe(one, []Effect{&Evict{Client: 1}})
	require.Equal(t, got, l.SendsDigest(), "a send that was refused")
}
