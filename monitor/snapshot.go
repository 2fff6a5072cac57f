package monitor

import (
	"cmp"
	"slices"
	"strings"

	"metasim/metasim"
	"metasim/server"
)

func state(shot *server.Snapshot) string {
	switch {
	case shot.Over:
		return "over"
	case !shot.Started:
		return "joining"
	case stops(shot) && shot.Halt.Still:
		return "paused"
	case stops(shot):
		return "pausing"
	case slices.ContainsFunc(shot.Clients, func(c server.ClientSnapshot) bool { return c.State == server.Initializing }):
		return "initializing"
	}
	return "running"
}

// stops reports whether a run has reached the instant at which it is paused. Some clients may not have stopped yet.
func stops(shot *server.Snapshot) bool {
	h := &shot.Halt
	return h.Paused && !h.Driver && (h.Still || !shot.Now.Before(h.Limit))
}

// behind is the client furthest behind in simulated time of those that wait for root; or -1.
func behind(shot *server.Snapshot, root int) int {
	least := -1
	for i := range shot.Clients {
		c := &shot.Clients[i]
		if c.Held && c.State == server.Waiting && int(c.Root) == root && (least < 0 || c.Clock.Before(shot.Clients[least].Clock)) {
			least = i
		}
	}
	return least
}

// quietest is the client that has been silent for longest, of those that are not waiting; or -1.
func quietest(shot *server.Snapshot) int {
	quietest := -1
	for i := range shot.Clients {
		c := &shot.Clients[i]
		works := c.State == server.Absent || c.State == server.Computing || c.State == server.Initializing && shot.Started
		if works && (quietest < 0 || c.Since < shot.Clients[quietest].Since) {
			quietest = i
		}
	}
	return quietest
}

func name(shot *server.Snapshot, id metasim.ClientID) string { return shot.Clients[id].Name }

// places numbers the clients in order of name; numbers in names count as such: robot-9 comes before robot-10.
func places(shot *server.Snapshot) []int {
	ids := make([]int, len(shot.Clients))
	for i := range ids {
		ids[i] = i
	}
	slices.SortFunc(ids, func(a, b int) int { return byName(shot.Clients[a].Name, shot.Clients[b].Name) })
	places := make([]int, len(ids))
	for place, id := range ids {
		places[id] = place
	}
	return places
}

// byName compares names; numbers in them count as such.
func byName(a, b string) int {
	p, q := a, b
	for p != "" && q != "" {
		x, y := digits(p), digits(q)
		if x == "" || y == "" {
			if p[0] != q[0] {
				return cmp.Compare(p[0], q[0])
			}
			p, q = p[1:], q[1:]
			continue
		}
		p, q = p[len(x):], q[len(y):]
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		if order := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); order != 0 {
			return order
		}
	}
	return cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(a, b))
}

// digits returns the number that a text begins with.
func digits(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}
