package tree

import (
	"fmt"
	"slices"
)

// readyKeep prepares the conditions that are to keep a node.
func (t *Tree) readyKeep(path Path, keep []Keep) ([]kept, error) {
	if len(keep) > maxParts {
		return nil, fmt.Errorf("%w: a node is kept by %d conditions, at most %d", ErrCommand, len(keep), maxParts)
	}
	var out []kept
	for i := range keep {
		k := kept{session: keep[i].Session}
		if k.session != "" {
			if keep[i].Path != "" || keep[i].If.Test != "" {
				return nil, fmt.Errorf("%w: a keep-while of session %q has a path or a condition too; give one of them", ErrCommand, clip(k.session))
			}
			out = append(out, k)
			continue
		}
		var err error
		if k.path, err = resolve(path, keep[i].Path); err != nil {
			return nil, err
		}
		if k.check, err = keep[i].If.ready(0); err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}

// checkKeep says why a node cannot be kept by conditions. Those on the node itself need not hold when they are given: a parent that goes with its last child
// begins without children.
func (t *Tree) checkKeep(path Path, keep []kept) error {
	for i := range keep {
		k := &keep[i]
		if k.session != "" {
			if !t.holds(k) {
				return fmt.Errorf("%w: %s is to be kept by session %q; open it first", ErrSession, clip(string(path)), clip(k.session))
			}
			continue
		}
		if k.path == path {
			continue
		}
		if !t.holds(k) {
			return fmt.Errorf("%w: %s is to be kept while %s meets %s", ErrKeepWhile, clip(string(path)), clip(string(k.path)), k.check.Test)
		}
		if t.leadsTo(k.path, path, false, map[Path]bool{}) {
			return fmt.Errorf("%w: %s watches %s, which is kept, itself or a node above it, by one that watches %s; let one of them go",
				ErrKeepCycle, clip(string(path)), clip(string(k.path)), clip(string(path)))
		}
	}
	return nil
}

// leadsTo reports whether a node may go because another one does: it, or a node above it, watches that one, or a node below that one, or one that may go for the
// same reason. That a node watches one below itself leads nowhere: who goes takes that along, and is not looked at again.
func (t *Tree) leadsTo(from, to Path, watched bool, seen map[Path]bool) bool {
	for at := from; at != Root; at = at.Parent() {
		if at == to {
			return watched
		}
		if seen[at] {
			return false
		}
		seen[at] = true
		n := t.lookup(at)
		if n == nil {
			continue
		}
		for i := range n.keep {
			k := &n.keep[i]
			if k.session == "" && k.path != at && t.leadsTo(k.path, to, true, seen) {
				return true
			}
		}
	}
	return false
}

// holds reports whether a condition keeps its node.
func (t *Tree) holds(k *kept) bool {
	if k.session != "" {
		_, open := slices.BinarySearch(t.sessions, k.session)
		return open
	}
	components := k.path.Components()
	name := ""
	if len(components) > 0 {
		name = components[len(components)-1]
	}
	return k.check.met(name, t.look(k.path))
}

// settle removes nodes whose conditions do not hold any more because of what changed, and so on until nothing changes.
func (t *Tree) settle() {
	for i := 0; i < len(t.changed); i++ {
		c := t.changed[i]
		for _, watcher := range slices.Clone(t.watchers[c.watched]) {
			n := t.lookup(watcher)
			if n == nil || watcher == c.except {
				continue
			}
			lost := slices.ContainsFunc(n.keep, func(k kept) bool { return k.watched() == c.watched && !t.holds(&k) })
			if lost {
				t.remove(watcher, n, KeepWhile)
			}
		}
	}
	t.changed = t.changed[:0]
}

// remove takes a node off, with all below it. Of the root the payload and the children go.
func (t *Tree) remove(path Path, n *node, reason Reason) {
	for i := len(n.children) - 1; i >= 0; i-- {
		t.remove(path.child(n.children[i].name), n.children[i], reason)
	}
	before := n.seen(path)
	if path == Root {
		if t.setPayload(n, Payload{}) {
			after := n.seen(path)
			t.happened(Event{Action: Updated, Path: path, Before: &before, After: &after}, "")
		}
		return
	}
	if len(n.keep) > 0 {
		t.setKeep(path, n, nil)
	}
	parent := path.Parent()
	t.removeChild(t.lookup(parent), n)
	t.happened(Event{Action: Deleted, Path: path, Before: &before, Reason: reason}, "")
	t.note(watched{path: parent}, "")
}

// happened keeps an event, and has those who watch the node look at it, except one.
func (t *Tree) happened(e Event, except Path) {
	t.events = append(t.events, e)
	t.note(watched{path: e.Path}, except)
}
