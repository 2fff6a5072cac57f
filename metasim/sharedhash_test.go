package metasim_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// The digest of each client is that which it has where no other is: large messages to several, in the same order and in others, duplicates, and small ones between
// them, which some get.
func TestSharedHashesAreThoseOfOne(t *testing.T) {
	const clients, messages = 6, 700
	draw := rand.New(rand.NewPCG(1, 17))
	payloads := make([]metasim.Message, messages)
	for i := range payloads {
		size := []int{0, 100, 16 << 10, 20_000}[draw.IntN(4)]
		at := metasim.At(metasim.Time(draw.IntN(3)))
		payloads[i] = metasim.Message{From: metasim.ClientID(draw.IntN(2)), Seq: uint64(i), Channel: "c", Sent: at, Due: at, Payload: bytes.Repeat([]byte{byte(i)}, size)}
	}
	names := []string{"a", "b", "c", "d", "e", "f"}
	given := make([][]metasim.Message, clients)
	for i := range payloads {
		for id := range given {
			switch {
			case id < 4 || draw.IntN(50) > 0: // the last two miss some
				given[id] = append(given[id], payloads[i])
			}
		}
	}
	given[3] = append(given[3][:300:300], given[3][299:]...) // a duplicate
	late := given[2][500]
	late.Due.Step++ // the same message at another instant
	given[2][500] = late
	together := metasim.NewLedger(names)
	acked := make([]uint64, clients)
	for k := range messages + 1 {
		for id := range given {
			if k >= len(given[id]) {
				continue
			}
			handle(together, metasim.ClientID(id), given[id][k], &acked[id], draw.IntN(3) == 0 || k == len(given[id])-1)
		}
	}
	for id := range given {
		alone := metasim.NewLedger(names)
		n := uint64(0)
		for k := range given[id] {
			handle(alone, metasim.ClientID(id), given[id][k], &n, k == len(given[id])-1)
		}
		require.Equal(t, alone.ClientDigest(metasim.ClientID(id)), together.ClientDigest(metasim.ClientID(id)), id)
	}
	require.Equal(t, together.ClientDigest(0), together.ClientDigest(1))
	require.NotEqual(t, together.ClientDigest(0), together.ClientDigest(2))
}

// handle gives a client a message, and now and then a report that it has handled all.
func handle(l *metasim.Ledger, id metasim.ClientID, m metasim.Message, acked *uint64, reports bool) {
	*acked++
	l.Observe(nil, []metasim.Effect{&metasim.Deliver{To: id, Number: *acked, Message: m}})
	if reports {
		l.Observe(&metasim.Advance{Client: id, Report: metasim.Report{Acked: *acked}}, nil)
	}
}
