package metasim

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// checkBlame compares the chain of a client with safe times computed plainly, safe, hop by hop: what each may still
// send, pushed along the links, gives the client's safe time.
func (n *network) checkBlame(id ClientID, safe []Instant) error {
	chain := n.d.Blame(nil, id)
	fault := func(k int, what string) error {
		return fmt.Errorf("who holds %s: %s in %+v of %+v", n.d.clients[id].name, what, chain[k], chain)
	}
	limit := Earlier(n.d.end, n.d.permit)
	switch {
	case n.d.clients[id].state == gone || safe[id] == Infinity || !safe[id].Before(n.d.end):
		if len(chain) > 0 && chain[0].Reason != Paused {
			return fault(0, "somebody")
		}
		return nil
	case len(chain) == 0:
		return fmt.Errorf("nobody holds %s, which is safe until %v", n.d.clients[id].name, safe[id])
	case !safe[id].Before(limit):
		if want := (Hold{Hop: Hop{From: id, To: id}, Reason: Paused, Due: limit}); !slices.Equal(chain, []Hold{want}) {
			return fault(0, "no pause")
		}
		return nil
	}
	to, ends := id, false
	for k, h := range chain {
		b := n.d.clients[h.From].bound()
		sum := Later(h.Promise, Earlier(h.NextEvent, Earlier(h.Pending, h.Safe).React(h.Reaction)))
		answer := Later(b.floor, safe[h.From].React(b.reaction))
		word := map[Reason]Instant{
			Promised: h.Promise, NextEvent: h.NextEvent, Pending: h.Pending.React(h.Reaction), Heard: h.Safe.React(h.Reaction),
		}
		link := n.d.clients[h.From].publication(h.Channel).link(h.To)
		c := &n.d.clients[h.From]
		switch {
		case ends:
			return fault(k, "no end before this")
		case h.To != to:
			return fault(k, "a gap")
		case h.Send != Earlier(b.known, answer) || h.Send != sum || h.Send != word[h.Reason]:
			return fault(k, "a wrong send")
		case h.Due != safe[to] || h.Due != link.Earliest(h.Send) || h.Min != link.Min():
			return fault(k, "a wrong arrival")
		case h.Blocked != (c.waiting && !c.need().Before(Earlier(safe[h.From], limit))):
			return fault(k, "wrong about who waits")
		}
		to, ends = h.From, h.Reason != Heard && !h.Blocked
	}
	if !ends {
		return fault(len(chain)-1, "no end")
	}
	return nil
}

// checkAllBlame does so for all.
func (n *network) checkAllBlame() error {
	bounds := slices.Repeat([]bound{hubBound}, len(n.d.out))
	for i := range n.d.clients {
		bounds[i] = n.d.clients[i].bound()
	}
	safe := safeTimes(bounds, n.d.out)
	for i := range n.d.clients {
		if err := n.checkBlame(ClientID(i), safe); err != nil {
			return err
		}
	}
	return nil
}

// In random runs, who holds whom back is what a plain computation says, whenever it is asked. To ask changes nothing.
func TestBlame(t *testing.T) {
	for _, seed := range upTo(*seeds) {
		w := newWorld(seed)
		plain, err := newNetwork(w, 1, "")
		require.NoError(t, err)
		require.NoError(t, plain.run(), "seed %d", seed)
		n, err := newNetwork(w, 1, "")
		require.NoError(t, err)
		n.asks = true
		require.NoError(t, n.run(), "seed %d", seed)
		require.Equal(t, plain.books.Digest(), n.books.Digest(), "seed %d", seed)
		for i := range n.actors {
			require.Equal(t, plain.books.Account(ClientID(i)), n.books.Account(ClientID(i)), "seed %d", seed)
		}
	}
}
