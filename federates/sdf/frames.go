package sdf

import (
	"strings"

	"metasim/federates/spatial"
)

// maxChain is how many frames may be attached to one another. A chain from which there is no end is longer.
const maxChain = 1000

// A scope is a world or a model: the frames in it are found by name.
type scope struct {
	node   *node
	outer  *scope
	named  map[string]*node
	inners map[*node]*scope
	poses  map[*node]*resolved
}

// resolved is the pose of a frame within its scope, or that it is being looked for.
type resolved struct {
	pose spatial.Pose
	done bool
	ok   bool
}

// newScope returns the scope of a world, or of a model.
func newScope(outer *scope, n *node) *scope {
	s := &scope{node: n, outer: outer, named: map[string]*node{}, inners: map[*node]*scope{}, poses: map[*node]*resolved{}}
	for _, c := range n.children {
		switch c.Name {
		case "model", "link", "joint", "frame":
			if _, taken := s.named[c.name()]; !taken {
				s.named[c.name()] = c
			}
		}
	}
	return s
}

// inner returns the scope of a model within.
func (s *scope) inner(model *node) *scope {
	if s.inners[model] == nil {
		s.inners[model] = newScope(s, model)
	}
	return s.inners[model]
}

// root stands for the frame of the scope itself.
func (s *scope) root() *node { return s.node }

// own is the name of the scope's own frame.
func (s *scope) own() string {
	if s.node.Name == "world" {
		return "world"
	}
	return "__model__"
}

// look returns the scope of a frame with its element; nil if there is none. "a::b" is b within the model a.
func (s *scope) look(name string) (*scope, *node) {
	for name != s.own() {
		first, rest, nested := strings.Cut(name, "::")
		n := s.named[first]
		if n == nil || !nested {
			return s, n
		}
		if n.Name != "model" {
			return s, nil
		}
		s, name = s.inner(n), rest
	}
	return s, s.node
}

func (s *scope) find(name string) *node {
	_, n := s.look(name)
	return n
}

// body returns the link that moves a frame; nil if there is none.
func (s *scope) body(name string) *node { return s.bodyWithin(name, 0) }

func (s *scope) bodyWithin(name string, depth int) *node {
	in, n := s.look(name)
	if n == nil || depth > maxChain || name == "world" {
		return nil
	}
	switch {
	case n.Name == "link":
		return n
	case n.Name == "joint":
		return in.bodyWithin(n.text("child", ""), depth+1)
	case n.Name == "frame":
		if to, _ := n.Attribute("attached_to"); to != "" {
			return in.bodyWithin(to, depth+1)
		}
		n = in.node
	case n.Name == "model" && n != in.node:
		in = in.inner(n)
	}
	if n.Name != "model" {
		return nil
	}
	if canonical, _ := n.Attribute("canonical_link"); canonical != "" {
		return in.bodyWithin(canonical, depth+1)
	}
	for _, kind := range []string{"link", "model"} {
		if c := n.child(kind); c != nil {
			return in.bodyWithin(c.name(), depth+1)
		}
	}
	return nil
}

// checkFrames notes frames that are attached to nothing, or to one another in a circle, and resolves their poses.
func (b builder) checkFrames(s *scope) {
	s.node.each("frame", func(n *node) {
		b.framePose(s, n)
		to, _ := n.Attribute("attached_to")
		for range maxChain {
			if to == "" {
				return
			}
			in, target := s.look(to)
			if target == nil {
				b.wrong(n.Place, "the frame %q is attached to %q, which is not there; name a frame, a link or a model beside it", n.name(), to)
				return
			}
			if target == n {
				break
			}
			if target.Name != "frame" || in != s {
				return
			}
			to, _ = target.Attribute("attached_to")
		}
		b.wrong(n.Place, "the frame %q is attached to itself, or by more than %d others; attach it to a link or a model", n.name(), maxChain)
	})
	s.node.each("joint", func(n *node) { b.framePose(s, n) })
}

// loosePose reads the pose of a light in a world, whose frame Gazebo's reader does not check.
func (b builder) loosePose(s *scope, n *node) spatial.Pose {
	pose, relativeTo := n.pose()
	if relativeTo == "" {
		return pose
	}
	frame, ok := s.resolve(relativeTo)
	if !ok {
		b.warn(n.child("pose").Place, "there is no frame %q, so the pose of <%s> is taken as relative to the %s; name another", relativeTo, n.Name, s.node.Name)
		return pose
	}
	return frame.Mul(pose)
}

// framePose returns the pose of an element within its scope, and notes if what it is relative to is not there, or leads back to it.
func (b builder) framePose(s *scope, n *node) spatial.Pose {
	pose, ok := s.poseOf(n)
	if !ok {
		at, relativeTo := n.Place, ""
		if c := n.child("pose"); c != nil {
			at = c.Place
			_, relativeTo = n.pose()
		}
		if relativeTo != "" {
			b.wrong(at, "<%s> %q is relative to %q, which is not there or is itself relative to %q; name a frame beside it", n.Name, n.name(), relativeTo, n.name())
		}
	}
	return pose
}

// poseOf returns the pose of an element within its scope. It is false if a frame is missing, or relative to itself.
func (s *scope) poseOf(n *node) (spatial.Pose, bool) {
	r := s.poses[n]
	if r != nil {
		return r.pose, r.done && r.ok
	}
	r = &resolved{pose: spatial.Identity}
	s.poses[n] = r
	pose, relativeTo := n.pose()
	if relativeTo == "" {
		switch n.Name {
		case "frame":
			relativeTo, _ = n.Attribute("attached_to")
		case "joint":
			relativeTo = n.text("child", "")
		}
	}
	base, ok := spatial.Identity, true
	if relativeTo != "" {
		base, ok = s.resolve(relativeTo)
	}
	r.pose, r.done, r.ok = base.Mul(pose), true, ok
	if frame, _ := n.Attribute("placement_frame"); n.Name == "model" && frame != "" {
		if inner, found := s.inner(n).resolve(frame); found {
			r.pose = r.pose.Mul(inner.Inverse())
		}
	}
	return r.pose, ok
}

// resolve returns the pose of the frame of that name within s.
func (s *scope) resolve(name string) (spatial.Pose, bool) {
	pose := spatial.Identity
	for name != s.own() {
		first, rest, nested := strings.Cut(name, "::")
		n := s.named[first]
		if n == nil {
			return pose, false
		}
		step, ok := s.poseOf(n)
		if !ok {
			return pose, false
		}
		pose = pose.Mul(step)
		if !nested {
			return pose, true
		}
		if n.Name != "model" {
			return pose, false
		}
		s, name = s.inner(n), rest
	}
	return pose, true
}
