package metasim

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	seeds    = flag.Int("seeds", 150, "how many scenarios the interleaving test draws")
	orders   = flag.Int("orders", 5, "in how many orders it runs each")
	oneSeed  = flag.Uint64("seed", 0, "run this scenario only, as printed by a failure")
	oneOrder = flag.Uint64("order", 0, "compare this order only with order 1, as printed by a failure")
)

// An outcome is all that may not depend on the order.
type outcome struct {
	names       []string
	transcripts [][]string
	digest      Digest
	totals      Totals
	accounts    []Account
}

// play runs a world in one order and checks everything that concerns one run alone.
func play(w *world, order uint64, planted string) (*outcome, error) {
	n, err := newNetwork(w, order, planted)
	if err != nil {
		return nil, err
	}
	if err := n.run(); err != nil {
		return nil, err
	}
	o := &outcome{names: n.d.Names(), digest: n.ledger.Digest(), totals: n.ledger.Totals()}
	for i, a := range n.actors {
		o.transcripts = append(o.transcripts, a.transcript)
		account := n.ledger.Account(ClientID(i))
		account.Grants = 0 // they depend on real time, and on the bound on memory
		o.accounts = append(o.accounts, account)
	}
	if want := digestOf(n.actors); o.digest != want {
		return nil, fmt.Errorf("the ledger's digest is %v, the clients' %v", o.digest, want)
	}
	return o, nil
}

// digestOf computes a run's digest from what its clients say they have handled: the definition, written again.
func digestOf(actors []*actor) Digest {
	text := func(b []byte, s string) []byte {
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	var run []byte
	for _, a := range actors {
		var all []byte
		for _, m := range a.seen {
			for _, i := range []Instant{m.Due, m.Sent} {
				all = binary.LittleEndian.AppendUint64(all, uint64(i.Time))
				all = binary.LittleEndian.AppendUint32(all, i.Step)
			}
			all = text(text(text(all, a.names[m.From]), m.Channel), string(m.Payload))
		}
		own := sha256.Sum256(all)
		run = append(text(run, a.name), own[:]...)
	}
	return sha256.Sum256(run)
}

// differ says where two outcomes part, or nil.
func differ(want, got *outcome) error {
	for i := range want.transcripts {
		a, b := want.transcripts[i], got.transcripts[i]
		for k := range max(len(a), len(b)) {
			line := func(t []string) string {
				if k < len(t) {
					return t[k]
				}
				return "(nothing)"
			}
			if line(a) != line(b) {
				return fmt.Errorf("%s sees %q, then %q", want.names[i], line(a), line(b))
			}
		}
	}
	if want.digest != got.digest || want.totals != got.totals {
		return fmt.Errorf("transcripts are equal, ledgers are not: %+v, then %+v", want.totals, got.totals)
	}
	if !slices.EqualFunc(want.accounts, got.accounts, func(a, b Account) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
		return fmt.Errorf("transcripts are equal, accounts are not: %+v, then %+v", want.accounts, got.accounts)
	}
	return nil
}

// interleave runs one scenario in several orders; the error says which of them to run again.
func interleave(seed uint64, orders []uint64, planted string) (handled uint64, err error) {
	w := newWorld(seed)
	var first *outcome
	for _, order := range orders {
		o, err := play(w, order, planted)
		if err == nil && first != nil {
			err = differ(first, o)
		}
		if err != nil {
			return 0, fmt.Errorf("%w (go test ./metasim -run 'Interleave$' -seed %d -order %d)", err, seed, order)
		}
		if first == nil {
			first = o
		}
	}
	return first.totals.Delivered, nil
}

func upTo(n int) []uint64 {
	var s []uint64
	for i := range n {
		s = append(s, uint64(i)+1)
	}
	return s
}

// What clients see does not depend on the order in which things happen between them: random scenarios, each in
// several random orders.
func TestInterleave(t *testing.T) {
	if *oneSeed > 0 {
		_, err := interleave(*oneSeed, []uint64{1, max(1, *oneOrder)}, "")
		require.NoError(t, err)
		return
	}
	var handled uint64
	for _, seed := range upTo(*seeds) {
		n, err := interleave(seed, upTo(*orders), "")
		require.NoError(t, err)
		handled += n
	}
	require.Greater(t, handled, uint64(*seeds)*10, "the scenarios are too quiet to show anything")
	t.Logf("%d scenarios in %d orders each: %d deliveries in one order", *seeds, *orders, handled)
}

// A few scenarios, in hundreds of orders each.
func TestInterleaveOften(t *testing.T) {
	for _, seed := range []uint64{3, 17, 59} {
		_, err := interleave(seed, upTo(*orders*60), "")
		require.NoError(t, err)
	}
}

// With a client that is cut off the run is not deterministic any more, but no client is given a message in its past, and the
// others come to the end.
func TestInterleaveCut(t *testing.T) {
	for _, seed := range upTo(*seeds) {
		n, err := newNetwork(newWorld(seed), seed, "")
		require.NoError(t, err)
		n.cut = 1 + n.r.IntN(400)
		require.NoError(t, n.run(), "seed %d", seed)
	}
}

// Mistakes of a client or a network are caught. What does not catch them could not catch one of the machine.
func TestInterleavePlanted(t *testing.T) {
	for _, planted := range []string{
		"acts at the grant itself",
		"runs one event past the grant",
		"promises travel on another stream than sends",
		"grants travel on another stream than deliveries",
		"goes on wherever the grant ran out",
		"draws from one random stream in order of arrival",
		"acknowledges what it has not handled",
		"acknowledges before its group has promised",
	} {
		t.Run(planted, func(t *testing.T) {
			caught := errors.New("not caught")
			n := 0
			for _, seed := range upTo(60) {
				if _, err := interleave(seed, upTo(4), planted); err != nil {
					caught = err
					n++
				}
			}
			require.Positive(t, n, "the test is blind to a mistake")
			t.Logf("caught in %d of 60 scenarios, last as: %v", n, caught)
		})
	}
}
