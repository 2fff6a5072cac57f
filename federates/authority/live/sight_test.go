package live

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/federates/authority/transfer"
)

// What is told of any number of entities is read, whatever the order of the datagrams and however many come twice; no datagram is too long.
func TestSightings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []told
		for i := range rapid.IntRange(0, 200).Draw(t, "entities") {
			all = append(all, told{fmt.Sprint("entity-", i), transfer.Sequence(rapid.Uint16().Draw(t, "epoch")), rapid.Uint64().Draw(t, "steps")})
		}
		datagrams := sightings(all)
		seen := map[string]Sight{}
		for _, i := range rapid.Permutation(append(datagrams, datagrams...)).Draw(t, "order") {
			require.LessOrEqual(t, len(i), maxDatagram)
			list, err := readSightings("b", i)
			require.NoError(t, err)
			for _, e := range list {
				see(seen, "b", e)
			}
		}
		require.Len(t, seen, len(all))
		for _, e := range all {
			require.Equal(t, Sight{"b", e.epoch, e.steps}, seen[e.entity])
		}
	})
}

// What is older than what is known changes nothing, around the end of the numbers too.
func TestLateSightings(t *testing.T) {
	seen := map[string]Sight{}
	for _, s := range []struct {
		from  string
		epoch transfer.Sequence
		steps uint64
		want  string
	}{{"a", 65535, 10, "a"}, {"b", 0, 5, "b"}, {"a", 65535, 20, "b"}, {"c", 0, 9, "b"}, {"b", 0, 4, "b"}, {"c", 1, 1, "c"}} {
		see(seen, s.from, told{"ball", s.epoch, s.steps})
		require.Equal(t, s.want, seen["ball"].Owner)
	}
	require.Equal(t, Sight{"c", 1, 1}, seen["ball"])
}

// What came from outside is read or refused, and stops nothing.
func FuzzReceived(f *testing.F) {
	f.Add(pack("a", sightings([]told{{"ball", 7, 9}})[0]...))
	f.Fuzz(func(t *testing.T, b []byte) {
		from, text, err := unpack(b)
		if err != nil || len(text) == 0 || text[0] != sightsDatagram {
			return
		}
		if all, err := readSightings(from, text); err == nil && len(text) > 1 && len(text) <= maxDatagram {
			require.Equal(t, [][]byte{text}, sightings(all))
		}
	})
}
