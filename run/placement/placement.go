// Package placement says which groups of clients share a host, so that few messages go over the network. It is a pure function.
//
// To cut a graph into parts of equal size at the least cost is NP-hard. This one begins with groups in their order, and moves and swaps them while that cuts
// fewer messages: a local optimum, in the manner of Kernighan and Lin (An efficient heuristic procedure for partitioning graphs, Bell System Technical
// Journal 49, 1970). It is never worse than the order.
package placement

// Traffic is how many messages went between two groups, in either direction, by their numbers: the smaller one first.
type Traffic map[[2]int]uint64

// Between is how many messages went between two groups.
func (t Traffic) Between(a, b int) uint64 { return t[[2]int{min(a, b), max(a, b)}] }

// Place returns the host of each group, from 0. Fixed has the hosts of groups that have one already, and -1 for others; these are spread over the hosts,
// as many on each as on any other, or one more, those that follow one another on one host; and where there is traffic, so that a move of one or a swap of two of
// them cuts no fewer messages.
func Place(fixed []int, hosts int, traffic Traffic) []int {
	places := append([]int(nil), fixed...)
	var free []int
	for g, host := range fixed {
		if host < 0 {
			free = append(free, g)
		}
	}
	has := make([]int, hosts)
	for i, g := range free {
		places[g] = i * hosts / len(free)
		has[places[g]]++
	}
	most := (len(free) + hosts - 1) / hosts
	for improve(places, free, has, most, traffic) {
	}
	return places
}

// improve makes the first move or swap that cuts fewer messages.
func improve(places, free, has []int, most int, traffic Traffic) bool {
	for i, a := range free {
		at := talk(places, len(has), a, traffic)
		from := places[a]
		for to := range has {
			if at[to] > at[from] && has[to] < most {
				places[a] = to
				has[from]--
				has[to]++
				return true
			}
		}
		for _, b := range free[i+1:] {
			if places[b] == from {
				continue
			}
			bt := talk(places, len(has), b, traffic)
			// What they say to one another is cut before and after.
			if at[places[b]]+bt[from] > at[from]+bt[places[b]]+2*traffic.Between(a, b) {
				places[a], places[b] = places[b], from
				return true
			}
		}
	}
	return false
}

// talk is how much a group says to those of each host, and they to it.
func talk(places []int, hosts, group int, traffic Traffic) []uint64 {
	total := make([]uint64, hosts)
	for other, host := range places {
		if other != group {
			total[host] += traffic.Between(group, other)
		}
	}
	return total
}
