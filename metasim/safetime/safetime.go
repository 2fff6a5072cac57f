// Package safetime computes safe times: for each node of a graph the instant before which nothing can reach it that is not
// known yet. (HLA calls it GALT, the literature LBTS.) It knows nodes, links and instants, and neither clients nor channels
// nor messages: package metasim has a node for each client, and a channel node for a channel that many clients share.
//
// # The equations
//
// Of a node i, and of a link from i to j, is known
//
//	U_i    its promise: it sends nothing before U_i, whatever reaches it
//	N_i    its next event: it sends nothing before N_i unless something reaches it
//	q_i    the earliest arrival that is known and that the node may still answer
//	r_i    its reaction time: the least time from an arrival to a send that it causes
//	f_ij   what i sends at x or later reaches j at f_ij(x) or later
//
// From that follow
//
//	s_i = max(U_i, min(N_i, q_i + r_i))      the earliest send that needs nothing unknown: Bounds.Known
//	S_i = max(U_i, min(s_i, E_i + r_i))      the earliest send: Bounds.Send
//	E_j = min over links ij of f_ij(S_i)     the safe time of j: Forest.SafeTime
//
// The safe times are the greatest solution of these equations. Each S_i is s_i, or it comes from the S of a node that could
// send earlier still, over a link that takes at least one step. So this is a shortest-path problem with the s_i as sources:
// of the nodes that remain the one with the least S can no longer be improved by the others (Dijkstra: the f_ij never
// decrease their argument).
//
// Nodes may be coupled (Graph.Couple): what reaches one of them, each may answer. They have one E, the least of all, and S apart.
//
// # How to use it
//
//  1. Build a Graph, and make a Forest of it with the bounds of each node.
//  2. After that tell the Forest of each change: SetBounds for a node, LinkRose for a link. Both are cheap.
//  3. Update computes the safe times after all changes, at a cost that follows what changes, and names the nodes whose
//     safe time has reached what they wait for (Watch).
//
// A Forest belongs to one goroutine. plain_test.go has the plain computation, which looks at everything each time; the
// tests compare both after every change.
package safetime

import "metasim/metasim/simtime"

type (
	// Time is simulated time in nanoseconds.
	Time = simtime.Time
	// Instant is a time and a step at that time.
	Instant = simtime.Instant
)

// A Node sends and receives. Nodes are numbered from 0.
type Node uint32

// A ChannelNode stands for many links that are alike: what nodes feed it reaches it in no time, and it passes that on over
// links of its own. It sends nothing of itself. Channel nodes are numbered from 0, apart from nodes.
type ChannelNode uint32

// A Link says when what is sent arrives.
type Link interface {
	// Min is the least delay in nanoseconds: its lookahead. 0 means one step.
	Min() Time
	// Earliest is the earliest arrival of anything that is still to be sent at x or later. It is after x, and never falls
	// as x rises.
	Earliest(x Instant) Instant
}

// A steadyLink is a Link that can say that it is steady: that Earliest(x) is x.Add(Min()) for ever. Then it is not asked
// again, and the search is cheaper.
type steadyLink interface {
	Link
	Steady() bool
}

// Bounds is what is known of the future sends of one node.
type Bounds struct {
	Floor    Instant // U: nothing is sent before it, whatever arrives
	Known    Instant // s: the earliest send that needs nothing unknown; never before Floor
	Reaction Time    // r: the least time from an arrival to a send that it causes
}

// NewBounds computes s from U, N, q and r, as the package comment names them.
func NewBounds(promise, nextEvent, pending Instant, reaction Time) Bounds {
	known := simtime.Earlier(nextEvent, pending.React(reaction))
	return Bounds{Floor: promise, Known: simtime.Later(promise, known), Reaction: reaction}
}

// Silent returns the bounds of a node that never sends again.
func Silent() Bounds { return Bounds{Floor: simtime.Infinity, Known: simtime.Infinity} }

// Send computes S: the earliest that the node may still send, where safe is its safe time E.
func (b *Bounds) Send(safe Instant) Instant {
	if b.Reaction > 0 {
		safe = safe.Add(b.Reaction)
	}
	if !safe.Before(b.Known) {
		return b.Known // never before the floor
	}
	return simtime.Later(b.Floor, safe)
}

// A Forest keeps the safe times of all nodes as their bounds change, at a cost that follows what changes instead of how many
// nodes there are.
//
// Each vertex's earliest send S is its own (what it promised, or its next event), or it comes from what may yet arrive, over
// the link from which its safe time E comes: the link of its parent. So the vertices form a forest. Its roots depend on
// no other; a vertex below a root waits, in the end, for that root, along the path. As each link takes at least one step S
// rises along every path, and there are no circles.
//
// What nodes report only ever raises bounds: a message on its way to a node lowers what is known of that node alone, but
// never below the S that held before. So when some bounds have risen, only vertices below them can be affected, and those
// only as far as S really came from there: below a vertex whose S is its own nothing is touched. The affected vertices forget
// what they had, take the best that the unaffected offer, and settle the rest among themselves as Dijkstra would (search.go).
// The more roots, that is, the more can be computed at once, the smaller are the trees and the cheaper is a report.
//
// Vertices with one neighbour alone are left out of all this (star.go). Should a bound ever fall, everything is computed
// anew. A node is not named before its safe time has reached what it waits for (Watch).
type Forest struct {
	adjacency
	nodes  int      // the vertices below this are nodes, the others channel nodes and ears
	bounds []Bounds // of each vertex
	labels []label  // of each vertex, unused for leaves
	stars  []*star  // by centre; nil where a vertex has no leaves
	places []place  // of the vertices that are leaves

	arrivals []vertex // as in Graph

	changed  []vertex // whose bounds were set since the last update
	relinked []vertex // whose parent's link has risen since the last update

	// Scratch of one update.
	risen      []vertex // vertices whose S may rise
	open       []opening
	candidates candidates
	rose       []Node // what the update returns
}

// A vertex is a node, a channel node or an ear (Graph.Couple): nodes come first.
type vertex uint32

// A label is what is known of a vertex that is no leaf (see star).
type label struct {
	safe   Instant // E
	send   Instant // S; during an update the least one so far, where the vertex is risen
	alarm  Instant // the E from which on Update names the node
	parent int32   // the vertex over whose link E comes, or none, or ownLeaf
	cursor uint16  // where among the sources the last search for a parent ended, modulo 2^16
	marks  marks
}

const (
	none    int32 = -1 // no vertex: E is Infinity
	ownLeaf int32 = -2 // one of the vertex's own leaves, whichever
)

// marks are scratch of an update, but for isCentre.
type marks uint8

const (
	isRisen  marks = 1 << iota // its S may rise
	isOpen                     // its E may rise
	isFinal                    // its S is found
	isCentre                   // it has leaves
)

// An opening is a vertex whose E may rise.
type opening struct {
	vertex vertex
	before Instant // E, before the update
	offer          // the best, when it was opened
}

// An offer is an E, and the vertex over whose link it comes.
type offer struct {
	due  Instant
	from int32
}
