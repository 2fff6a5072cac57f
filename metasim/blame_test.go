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
		return fmt.Errorf("what holds %s back: %s in %+v of %+v", n.d.clients[id].name, what, chain[k], chain)
	}
	limit := Earlier(n.d.end, n.d.permit)
	switch {
	case n.d.clients[id].state == gone || safe[id] == Infinity || !safe[id].Before(n.d.end):
		if len(chain) > 0 && chain[0].Reason != Paused {
			return fault(0, "a Hold where there is none")
		}
		return nil
	case len(chain) == 0:
		return fmt.Errorf("no client holds %s back, which is safe until %v", n.d.clients[id].name, safe[id])
	case !safe[id].Before(limit):
		if want := (Hold{Hop: Hop{From: id, To: id}, Reason: Paused, Due: limit}); !slices.Equal(chain, []Hold{want}) {
			return fault(0, "no pause")
		}
		return nil
	}
	to, ends := id, false
	for k, h := range chain {
		b := n.d.clients[h.From].bounds()
		sum := Later(h.Promise, Earlier(h.NextEvent, Earlier(h.Pending, h.Safe).React(h.Reaction)))
		answer := Later(b.Floor, safe[h.From].React(b.Reaction))
		word := map[Reason]Instant{
			Promised: h.Promise, NextEvent: h.NextEvent, Pending: h.Pending.React(h.Reaction), Heard: h.Safe.React(h.Reaction),
		}
		pub := n.d.clients[h.From].publication(h.Channel)
		link := pub.link(h.To)
		for i := range n.d.clients { // or the one to another of its group
			if other := &n.d.clients[i]; link == nil && n.d.sameGroup(&n.d.clients[h.To], other) {
				link = pub.link(other.id)
			}
		}
		c := &n.d.clients[h.From]
		switch {
		case ends:
			return fault(k, "no end before this")
		case h.To != to:
			return fault(k, "a gap")
		case h.Send != Earlier(b.Known, answer) || h.Send != sum || h.Send != word[h.Reason]:
			return fault(k, "a wrong send")
		case h.Due != safe[to] || h.Due != link.Earliest(h.Send) || h.Min != link.Min():
			return fault(k, "a wrong arrival")
		case h.Blocked != (c.waiting && !c.proxy && !c.need().Before(Earlier(safe[h.From], limit))):
			return fault(k, "a wrong Blocked")
		}
		to, ends = h.From, h.Reason != Heard && !h.Blocked
	}
	if !ends {
		return fault(len(chain)-1, "no end")
	}
	return nil
}

// allBlame returns the safe times of all, computed plainly, and the clients that hold them back.
func (n *network) allBlame() (safe []Instant, chains [][]Hold) {
	for i := range n.d.clients {
		chains = append(chains, n.d.Blame(nil, ClientID(i)))
	}
	return n.d.plainSafeTimes(), chains
}

// checkAllBlame checks all chains after an event. Where a safe time has risen, the event is of a client that held it back.
func (n *network) checkAllBlame(ev Event, before []Instant, chains [][]Hold) error {
	after, now := n.allBlame()
	if err := n.checkHeld(now); err != nil {
		return err
	}
	for i := range n.d.clients {
		if err := n.checkBlame(ClientID(i), after); err != nil {
			return err
		}
		if n.d.clients[i].state != gone && before[i].Before(after[i]) && before[i].Before(Earlier(n.d.end, n.d.permit)) {
			n.released++
			if !n.holds(chains, ClientID(i), speaker(ev)) {
				return fmt.Errorf("%+v released %s, which was held by %+v", ev, n.d.clients[i].name, chains[i])
			}
		}
	}
	return nil
}

// checkShort checks the chains after a Settle that left clients without memory: each begins with the slowest client and goes on, link by link,
// to one that does not wait, and waits are counted for that one.
func (n *network) checkShort() error {
	if len(n.d.Short()) == 0 {
		return nil
	}
	short := slices.Clone(n.d.Short())
	_, chains := n.allBlame()
	for _, id := range short {
		chain := chains[id]
		if len(chain) == 0 || chain[0].Reason != Memory {
			return fmt.Errorf("%s waits for memory, and is held by %+v", n.d.clients[id].name, chain)
		}
		for k, h := range chain {
			if k > 0 && (h.To != chain[k-1].From || chain[k-1].Send.Before(h.Send)) || h.Blocked != (k < len(chain)-1) && h.Reason != Heard {
				return fmt.Errorf("hop %d of what holds %s back does not follow: %+v", k, n.d.clients[id].name, chain)
			}
		}
		if root := &n.d.clients[chain[len(chain)-1].From]; root.waiting && !n.d.reaches(root, n.d.safe(root)) {
			return fmt.Errorf("%s, which waits itself, ends the chain of %s: %+v", root.name, n.d.clients[id].name, chain)
		}
	}
	return n.checkHeld(chains)
}

// holds reports whether the speaker is one of those from which the safe time of a client comes. A client whose promise decides
// may also be given a better one by those that hold it back.
func (n *network) holds(chains [][]Hold, id, speaker ClientID) bool {
	for _, h := range chains[id] {
		switch {
		case h.From == speaker || speaker != ^ClientID(0) && n.d.sameGroup(&n.d.clients[h.From], &n.d.clients[speaker]):
			return true
		case h.Reason == Promised:
			return n.holds(chains, h.From, speaker)
		case h.Reason != Heard:
			return false
		}
	}
	return false
}

// speaker is the client of an event; here only a Permit has none.
func speaker(ev Event) ClientID {
	switch ev := ev.(type) {
	case *Send:
		return ev.Client
	case *Promise:
		return ev.Client
	case *Advance:
		return ev.Client
	case *PollWait:
		return ev.Client
	case *Leave:
		return ev.Client
	}
	return ^ClientID(0)
}

// In random runs Blame says what a plain computation says, whenever it is asked. To ask changes nothing.
func TestBlame(t *testing.T) {
	released := 0
	for _, seed := range upTo(*seeds) {
		w := newWorld(seed)
		plain, err := newNetwork(w, unbounded, "")
		require.NoError(t, err)
		require.NoError(t, plain.run(), "seed %d", seed)
		n, err := newNetwork(w, unbounded, "")
		require.NoError(t, err)
		n.asks = true
		require.NoError(t, n.run(), "seed %d", seed)
		require.Equal(t, plain.ledger.Digest(), n.ledger.Digest(), "seed %d", seed)
		for i := range n.actors {
			require.Equal(t, plain.ledger.Account(ClientID(i)), n.ledger.Account(ClientID(i)), "seed %d", seed)
		}
		released += n.released
	}
	require.Greater(t, released, *seeds*10, "too little happens to show anything")
}

// A reason that a newer version has is no reason here, and no panic.
func TestUnknownReason(t *testing.T) {
	require.Equal(t, "no reason", Reason(0).String())
	require.Equal(t, "no reason", Reason(200).String())
	require.Equal(t, "memory", Memory.String())
}
