package monitor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Rows says which rows of a view are wanted.
type Rows struct {
	Filter string // words that the name or the state of a client has in it
	Sort   string // one of sortKeys; empty: who holds up others first
	Back   bool   // in the opposite order
	Group  bool   // one row for all clients whose names differ only in the number at their end
	Limit  int    // how many rows; 0: all
}

// sortKeys are the columns by which rows can be sorted.
var sortKeys = []string{"client", "does", "at", "safe", "queue", "rate", "factor", "blocked", "holds", "held", "waits"}

// byColumn are the orders of sortKeys. Names come in order, the furthest behind first, and of other numbers the largest.
var byColumn = map[string]func(a, b *Client) int{
	"client":  func(a, b *Client) int { return byName(a.Name, b.Name) },
	"does":    func(a, b *Client) int { return strings.Compare(a.State, b.State) },
	"at":      func(a, b *Client) int { return compareInstants(a.At, b.At) },
	"safe":    func(a, b *Client) int { return compareInstants(a.Safe, b.Safe) },
	"queue":   func(a, b *Client) int { return cmp.Compare(b.Queued, a.Queued) },
	"rate":    func(a, b *Client) int { return cmp.Compare(b.MessagesS, a.MessagesS) },
	"factor":  func(a, b *Client) int { return cmp.Compare(b.Factor, a.Factor) },
	"blocked": func(a, b *Client) int { return cmp.Compare(b.Blocked, a.Blocked) },
	"holds":   func(a, b *Client) int { return cmp.Compare(b.Blame, a.Blame) },
	"held":    func(a, b *Client) int { return cmp.Compare(b.HeldS, a.HeldS) },
	"waits":   func(a, b *Client) int { return byName(a.Holder, b.Holder) },
}

func compareInstants(a, b Instant) int {
	return cmp.Or(cmp.Compare(a.Seconds, b.Seconds), cmp.Compare(a.Step, b.Step))
}

// Page returns a view with the rows that are wanted.
func (v View) Page(w Rows) View {
	if words := strings.Fields(strings.ToLower(w.Filter)); len(words) > 0 {
		v.Clients = slices.DeleteFunc(slices.Clone(v.Clients), func(c Client) bool {
			text := strings.ToLower(c.Name + " " + c.State)
			return slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
		})
	}
	v.Matching = len(v.Clients)
	if w.Group {
		v.Clients = groups(v.Clients)
	}
	if order := byColumn[w.Sort]; order != nil {
		v.Clients = slices.SortedStableFunc(slices.Values(v.Clients), func(a, b Client) int { return order(&a, &b) })
	}
	if w.Back {
		v.Clients = slices.Clone(v.Clients)
		slices.Reverse(v.Clients)
	}
	if w.Limit > 0 {
		v.Clients = v.Clients[:min(w.Limit, len(v.Clients))]
	}
	return v
}

// groupOf returns the name of a client without the number at its end, which a scenario gives to the clients of one entry; else its name.
func groupOf(name string) string {
	stem := strings.TrimRight(name, "0123456789")
	if len(stem) > 1 && len(stem) < len(name) && strings.HasSuffix(stem, "-") {
		return stem
	}
	return name
}

// groups returns one row for each group of at least two clients. It stands where its most blamed client stood.
func groups(clients []Client) []Client {
	sizes := map[string]int{}
	for i := range clients {
		sizes[groupOf(clients[i].Name)]++
	}
	var all []Client
	members := map[string][]Client{}
	for i := range clients {
		c := &clients[i]
		group := groupOf(c.Name)
		if sizes[group] < 2 {
			all = append(all, *c)
			continue
		}
		if members[group] = append(members[group], *c); len(members[group]) == sizes[group] {
			all = append(all, merge(group+"*", members[group]))
		}
	}
	slices.SortFunc(all, blameFirst)
	return all
}

// merge returns the row of a group: sums, means of shares and factors, where it is furthest behind, and what most of it do.
func merge(name string, clients []Client) Client {
	g := clients[0]
	g.Name, g.Count, g.PID, g.Peer, g.Host, g.TripS, g.Want = name, len(clients), 0, "", "", 0, nil
	states, holders := map[string]int{}, map[[3]string]int{}
	for i := range clients {
		c := &clients[i]
		states[c.State]++
		holders[[3]string{c.Holder, c.Root, c.Halted}]++
		g.rank, g.place = max(g.rank, c.rank), min(g.place, c.place)
		g.SinceS = min(g.SinceS, c.SinceS)
		if compareInstants(c.At, g.At) < 0 {
			g.At = c.At
		}
		if compareInstants(c.Safe, g.Safe) < 0 {
			g.Safe = c.Safe
		}
		if compareInstants(c.Granted, g.Granted) < 0 {
			g.Granted = c.Granted
		}
		if i == 0 {
			continue
		}
		g.Queued, g.Given = g.Queued+c.Queued, g.Given+c.Given
		g.Sent, g.Delivered, g.Grants = g.Sent+c.Sent, g.Delivered+c.Delivered, g.Grants+c.Grants
		g.MessagesS, g.Factor, g.Blocked = g.MessagesS+c.MessagesS, g.Factor+c.Factor, g.Blocked+c.Blocked
		g.BusyS, g.BlockedS, g.MemoryS = g.BusyS+c.BusyS, g.BlockedS+c.BlockedS, g.MemoryS+c.MemoryS
		g.Blame, g.HeldS, g.Short = g.Blame+c.Blame, g.HeldS+c.HeldS, g.Short || c.Short
	}
	n := float64(len(clients))
	g.Factor, g.Blocked = g.Factor/n, g.Blocked/n
	g.State = most(states, strings.Compare)
	target := most(holders, func(a, b [3]string) int { return slices.Compare(a[:], b[:]) })
	g.Holder, g.Root, g.Halted = target[0], target[1], target[2]
	var mix []string
	for _, s := range stateOrder {
		if k := states[s]; k > 0 {
			mix = append(mix, fmt.Sprintf("%d %s", k, s))
		}
	}
	g.Mix = strings.Join(mix, ", ")
	return g
}

// stateOrder is the order in which the states of clients are listed.
var stateOrder = []string{"computing", "initializing", "waiting", "absent", "nested", "left", "lost"}

// most returns what was counted most often; of two the first in order.
func most[K comparable](counts map[K]int, order func(a, b K) int) (best K) {
	n := 0
	for k, c := range counts {
		if c > n || c == n && order(k, best) < 0 {
			best, n = k, c
		}
	}
	return best
}
