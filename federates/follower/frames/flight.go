package frames

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"metasim/metasim"
)

// settle notes that a frame need not come back from a member any more.
func (f *flight) settle(i int, m *member) {
	if f.owing[i] {
		f.owing[i], f.lacks[i] = false, false
		f.owed--
		m.owes--
	}
}

// deadline is until when the nodes have to send a released frame back. Where none has shown it, it may be the controller that has not sent the data: they are asked, and have
// as much time again.
func (f *flight) deadline(patience metasim.Time) metasim.Time {
	if f.called {
		patience *= 2
	}
	return f.since.Add(patience)
}

// unseen reports whether there are nodes, none of which has shown the data that was released.
func (f *flight) unseen(members []*member) bool {
	return f.sync && !f.missing() && !f.seen && f.follower(members, func(int) bool { return true })
}

// follower reports whether there is a member that owes the frame, is not its controller, and is meant.
func (f *flight) follower(members []*member, meant func(i int) bool) bool {
	for i, m := range members {
		if f.owing[i] && m.name != f.controller && meant(i) {
			return true
		}
	}
	return false
}

// take takes what a member has sent back.
func (f *flight) take(i int, m *member, done Frame) error {
	if done.Tracked != f.data.Tracked {
		return &PeerError{Code: InvalidParameters, Why: fmt.Sprintf("sent frame %d back with tTracked %v; it was asked for with %v: is it a client of another run?",
			done.Frame, done.Tracked, f.data.Tracked)}
	}
	f.back[i] = done
	f.seen = f.seen || m.name != f.controller
	f.settle(i, m)
	return nil
}

// missing reports whether the frame has no data, so that no node has shown it.
func (f *flight) missing() bool { return f.sent != nil && f.sent.missing }

// count adds a frame that is done everywhere.
func (f *flight) count(t *Totals, members []*member, late bool) {
	if late && !f.excused {
		t.Late++
	}
	if f.missing() {
		return
	}
	t.Frames++
	if !f.torn() {
		return
	}
	if t.Torn++; t.FirstTorn == "" && len(f.views) > 0 { // runs without streams keep the results that they had
		t.FirstTorn = f.shown(members)
	}
}

// torn reports whether parts of a picture show different states. A part that did not come, or that no node has hashed, says nothing.
func (f *flight) torn() bool {
	var shown [32]byte
	for _, b := range f.back {
		if b.State == [32]byte{} {
			continue
		}
		if shown != [32]byte{} && shown != b.State {
			return true
		}
		shown = b.State
	}
	return false
}

// shown says which state each node has shown.
func (f *flight) shown(members []*member) string {
	var each []string
	for i, b := range f.back {
		if b.State != [32]byte{} {
			each = append(each, fmt.Sprintf("%s shows state %.8x", members[i].name, b.State[:4]))
		}
	}
	return fmt.Sprintf("frame %d (tTracked %v): %s", f.data.Frame, f.data.Tracked, strings.Join(each, ", "))
}

// whole puts the parts of a frame together.
func (f *flight) whole(members []*member) *Whole {
	w := &Whole{Frame: f.data.Frame, Tracked: f.data.Tracked, Sync: f.sync, Torn: f.torn(), Controller: f.controller, Inputs: f.inputs}
	for i, m := range members {
		w.Parts = append(w.Parts, Part{m.name, f.back[i].State, f.of(m.name), f.back[i].Pictures})
	}
	return w
}

// of returns the streams of a node.
func (q *request) of(node string) (own []Stream) {
	for i := range q.views {
		if q.views[i].Node == node {
			own = append(own, q.views[i])
		}
	}
	return own
}

// awaited returns the nodes to wait for at the start: who is to show something is one of them.
func awaited(cfg *Config) []string {
	nodes := slices.Clone(cfg.Nodes)
	for i := range cfg.Views {
		if node := cfg.Views[i].Node; !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// most is how many pixels a side of a picture has at most.
const most = 1 << 15

// Wrong says why a stream makes no picture; empty: it does.
func (s *Stream) Wrong() string {
	c := &s.Camera
	clip := s.Clip
	switch {
	case clip.Empty() || clip.Min.X < 0 || clip.Min.Y < 0 || clip.Max.X > most || clip.Max.Y > most:
		return fmt.Sprintf("shows the rectangle %v, which has no pixels or lies outside of what a picture of %d x %d has", clip, most, most)
	case c.Of != "":
		return ""
	case c.Width < uint32(clip.Max.X) || c.Height < uint32(clip.Max.Y) || c.Width > most || c.Height > most:
		return fmt.Sprintf("shows the rectangle %v of a picture of %d x %d", clip, c.Width, c.Height)
	case !(c.FOV > 0 && c.FOV < math.Pi && c.Near > 0 && c.Near < c.Far):
		return fmt.Sprintf("has an angle of view of %v and sees from %v to %v, which makes no picture", c.FOV, c.Near, c.Far)
	case c.Rotation == [4]float64{}:
		return "has a camera without a rotation"
	}
	return ""
}
