package safetime

import (
	"math"
	"slices"

	"metasim/metasim/simtime"
)

// A star is a vertex, the centre, with its leaves: the vertices that have links to the centre and from it, and no
// others, like hosts behind a switch, or all clients of one channel. A leaf needs no label, as its safe time follows from the
// S of the centre, and it can hold back the centre alone. As a labelled vertex it would be visited whenever the S of
// the centre rises, ten thousand of them each time; in a star it costs a few steps in a heap.
//
// Let out be the delay from the centre c to its leaf p, and back the one from p to c. By the equations of safe times, with
// E_p = out(S_c), what p may send reaches the centre at
//
//	V_p = back(max(U_p, min(s_p, out(S_c) + r_p))) = max(A_p, min(B_p, C_p(S_c)))
//
//	A_p = back(U_p)                    what it promises, whatever it hears
//	B_p = back(s_p)                    what it sends of itself
//	C_p(x) = back(out(x) + r_p)        the echo of what the centre sends at x
//
// As A_p <= B_p, the least V of all is the lesser of the least B and the least max(A, C). The first is a heap. For the
// second, C_p(x) <= C_q(x) holds for all x if it holds for one. So two heaps do: one by A for the leaves whose echo may come
// before A, one by C for the others. S_c only rises: once the echo of a leaf is at A or later it stays so, until the leaf
// promises more. A leaf below the top of the first heap may stay there for longer than it should, as its A is a lower bound.
//
// The S of the centre needs B alone: its echo comes after it. A leaf that waits for out(S_c) to reach some instant stands in
// a heap by the S_c that it takes.
type star struct {
	leaves   []leaf
	own      heap // by B
	promised heap // by A
	echoing  heap // by C(Start)
	waiting  heap // by the S of the centre that they wait for
}

// A leaf is a vertex as its centre sees it.
type leaf struct {
	vertex    vertex
	out, back latency // never, where there is none
	reaction  Time
}

// A place says where a leaf is.
type place struct {
	centre int32 // none: the vertex is no leaf
	slot   int32 // in the leaves of the centre's star
}

// findStars makes the stars of a graph, and returns them by centre, the place of each vertex, and the links that are left. A
// vertex with links that have to be asked is no leaf, as such a link does not tell at which S of the centre it gives
// what a leaf waits for.
func findStars(out [][]edge, bounds []Bounds) (stars []*star, places []place, rest [][]edge) {
	stars, places = make([]*star, len(out)), make([]place, len(out))
	centres := soleNeighbours(out)
	for i, centre := range centres {
		places[i] = place{centre: none}
		if centre < 0 || centres[centre] == int32(i) && int(centre) < i {
			continue // of two that have each other alone one is the centre
		}
		s := stars[centre]
		if s == nil {
			s = &star{}
			stars[centre] = s
		}
		places[i] = place{centre, int32(len(s.leaves))}
		s.leaves = append(s.leaves, leaf{vertex: vertex(i), reaction: bounds[i].Reaction, out: never, back: never})
	}
	rest = make([][]edge, len(out))
	for i := range out {
		if s := stars[i]; s != nil {
			n := len(s.leaves)
			s.own, s.promised, s.echoing, s.waiting = newHeap(n), newHeap(n), newHeap(n), newHeap(n)
		}
		for _, e := range out[i] {
			from, to := places[i], places[e.to]
			switch {
			case from.centre != none:
				stars[from.centre].leaves[from.slot].back.shorten(e)
			case to.centre != none:
				stars[to.centre].leaves[to.slot].out.shorten(e)
			default:
				rest[i] = append(rest[i], e)
			}
		}
	}
	return stars, places, rest
}

// soleNeighbours returns for each vertex the only other one that it has links to and from, if none of these has to be asked;
// less than 0 where there is no such vertex.
func soleNeighbours(out [][]edge) []int32 {
	const several int32 = -2
	sole := slices.Repeat([]int32{none}, len(out))
	meet := func(a, b int, e edge) {
		if a == b || e.latency().link != nil || sole[a] != none && sole[a] != int32(b) {
			sole[a] = several
		} else {
			sole[a] = int32(b)
		}
	}
	for i := range out {
		for _, e := range out[i] {
			meet(i, int(e.to), e)
			meet(int(e.to), i, e)
		}
	}
	return sole
}

// shorten exchanges a latency for that of an edge, if the edge is faster.
func (l *latency) shorten(e edge) {
	if d := e.latency(); d.earliest(simtime.Start).Before(l.earliest(simtime.Start)) {
		*l = d
	}
}

// rebuild computes everything but what leaves wait for anew, from the bounds of all vertices.
func (s *star) rebuild(bounds []Bounds) {
	s.own.clear()
	s.promised.clear()
	s.echoing.clear()
	for slot := range s.leaves {
		s.boundChanged(int32(slot), &bounds[s.leaves[slot].vertex], simtime.Start)
	}
}

// boundChanged takes in the bounds of a leaf, while the S of the centre is send.
func (s *star) boundChanged(slot int32, b *Bounds, send Instant) {
	back := &s.leaves[slot].back
	s.own.set(slot, back.earliest(b.Known))
	s.promise(slot, back.earliest(b.Floor), send)
}

// promise puts a leaf with A = a into the heap where it belongs, while the S of the centre is send.
func (s *star) promise(slot int32, a, send Instant) {
	if s.echo(slot, send).Before(a) {
		s.echoing.remove(slot)
		s.promised.set(slot, a)
		return
	}
	s.promised.remove(slot)
	s.echoing.set(slot, s.echo(slot, simtime.Start))
}

// echo is C(x) of a leaf.
func (s *star) echo(slot int32, x Instant) Instant {
	p := &s.leaves[slot]
	return p.back.earliest(p.out.earliest(x).React(p.reaction))
}

// leastOwn is the least B.
func (s *star) leastOwn() Instant { return s.own.least().key }

// leastEcho is the least max(A, C), while the S of the centre is send.
func (s *star) leastEcho(send Instant) Instant {
	// After the last step of a time comes the next time: there C_p <= C_q need not hold for all x if it does for one. The
	// S of one or two steps before is sound. Only what a gateway promises gets there, and so the S of a channel node, for which that is close enough
	// where it comes after S, as every echo does: else the centre would seem to wait for itself.
	if send != simtime.Infinity && send.Step > math.MaxUint32-3 {
		return simtime.Later(s.leastEcho(Instant{Time: send.Time, Step: math.MaxUint32 - 3}), send.Add(0))
	}
	for {
		p := s.promised.least()
		if p.slot == none || s.echo(p.slot, send).Before(p.key) {
			break
		}
		s.promise(p.slot, p.key, send)
	}
	if e := s.echoing.least(); e.slot != none {
		return simtime.Earlier(s.promised.least().key, s.echo(e.slot, send))
	}
	return s.promised.least().key
}

// holder returns the leaf from which E of the centre comes, where safe is that E and send the S of the centre.
func (s *star) holder(safe, send Instant) vertex {
	least := s.own.least()
	if least.key != safe {
		s.leastEcho(send) // puts the heaps in order
		if least = s.promised.least(); least.key != safe {
			if e := s.echoing.least(); e.slot != none { // else E comes after the last step of a time, and is none of these
				least = e
			}
		}
	}
	return s.leaves[least.slot].vertex
}

// safeTime is E of a leaf, while the S of the centre is send.
func (s *star) safeTime(slot int32, send Instant) Instant { return s.leaves[slot].out.earliest(send) }

// watch notes that a leaf waits for an E of alarm or later, while the S of the centre is send.
func (s *star) watch(slot int32, alarm, send Instant) {
	if s.safeTime(slot, send).Before(alarm) {
		s.waiting.set(slot, s.leaves[slot].out.leastSend(alarm))
	} else {
		s.waiting.remove(slot)
	}
}

// reached appends to rose the leaves that have what they wait for when the S of the centre is send.
func (s *star) reached(send Instant, rose []Node) []Node {
	for {
		w := s.waiting.least()
		if w.slot == none || send.Before(w.key) {
			return rose
		}
		s.waiting.remove(w.slot)
		rose = append(rose, Node(s.leaves[w.slot].vertex))
	}
}
