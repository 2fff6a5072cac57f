package monitor

import (
	"cmp"
	"slices"
	"strings"

	"metasim/server"
)

// places numbers the clients in order of name, as people count: robot-9 comes before robot-10.
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

// byName compares names, numbers in them as such.
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

// digits is the number that a text begins with.
func digits(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}
