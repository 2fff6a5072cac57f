package server

import "metasim/metasim"

// maxHops is how much of the chains a Snapshot looks at: what is beyond waits for the next one.
const maxHops = 1 << 15

// Blame returns why a client waits, or would: see metasim.Dispatcher.Blame. It waits until Serve is called.
func (s *Server) Blame(id metasim.ClientID) []metasim.Hold {
	s.turn.Lock()
	chain := s.dispatcher.Blame(nil, id)
	s.turn.Unlock()
	s.catchUp()
	return chain
}

// findRoots notes for each client that waits whose message it may have to wait for, and who is the root of that: everybody
// on a chain has its root, so each hop is looked at once.
func (s *Server) findRoots(clients []ClientSnapshot) {
	var chain []metasim.Hold
	hops := 0
	for i := range clients {
		c := &clients[i]
		if c.State != Waiting || c.Held || hops > maxHops {
			continue
		}
		if chain = s.dispatcher.Blame(chain[:0], metasim.ClientID(i)); len(chain) == 0 {
			continue
		}
		hops += len(chain)
		root := chain[len(chain)-1]
		if root.Reason == metasim.Paused {
			c.Halted = true
			continue
		}
		for _, h := range chain {
			to := &clients[h.To]
			to.Held, to.Holder, to.Root = true, h.From, root.From
		}
	}
}
