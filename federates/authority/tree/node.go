package tree

import (
	"bytes"
	"cmp"
	"slices"
)

// A node of the tree.
type node struct {
	name             string // the component, as it is written
	payload          Payload
	payloadVersion   uint64
	childListVersion uint64
	children         []*node // by name
	keep             []kept  // what keeps it
}

// A kept is a Keep with its path from the root, ready to be used.
type kept struct {
	path    Path
	check   check
	session string
}

// newNode has versions that begin with 1.
func newNode(name string) *node { return &node{name: name, payloadVersion: 1, childListVersion: 1} }

// seen returns what is known of a node.
func (n *node) seen(path Path) Node {
	return Node{path, n.payload, n.payloadVersion, n.childListVersion, len(n.children)}
}

func (n *node) find(name string) (int, bool) {
	if last := len(n.children) - 1; last >= 0 && n.children[last].name < name {
		return last + 1, false // names that come in order are found at once
	}
	return slices.BinarySearchFunc(n.children, name, func(c *node, name string) int { return cmp.Compare(c.name, name) })
}

// child returns a child; nil if there is none of that name.
func (n *node) child(name string) *node {
	if at, found := n.find(name); found {
		return n.children[at]
	}
	return nil
}

// The changes below are undone in reverse order if a command fails: each notes how.

func (t *Tree) addChild(parent, child *node) {
	at, _ := parent.find(child.name)
	parent.children = slices.Insert(parent.children, at, child)
	parent.childListVersion++
	t.size++
	t.undo = append(t.undo, func() {
		at, _ := parent.find(child.name)
		parent.children = slices.Delete(parent.children, at, at+1)
		parent.childListVersion--
		t.size--
	})
}

// removeChild takes a child with no children off.
func (t *Tree) removeChild(parent, child *node) {
	at, _ := parent.find(child.name)
	parent.children = slices.Delete(parent.children, at, at+1)
	parent.childListVersion++
	t.size--
	t.undo = append(t.undo, func() {
		at, _ := parent.find(child.name)
		parent.children = slices.Insert(parent.children, at, child)
		parent.childListVersion--
		t.size++
	})
}

// setPayload returns false if that is the payload already.
func (t *Tree) setPayload(n *node, p Payload) bool {
	before := n.payload
	if before.Kind == p.Kind && bytes.Equal(before.Bytes, p.Bytes) {
		return false
	}
	n.payload = p
	n.payloadVersion++
	t.undo = append(t.undo, func() { n.payload, n.payloadVersion = before, n.payloadVersion-1 })
	return true
}

// setKeep replaces what keeps a node, and the lists of who watches whom.
func (t *Tree) setKeep(path Path, n *node, keep []kept) {
	before := n.keep
	t.relist(path, before, keep)
	n.keep = keep
	t.undo = append(t.undo, func() {
		t.relist(path, keep, before)
		n.keep = before
	})
}

// relist takes a node off the lists of what it watched, and puts it on those of what it watches.
func (t *Tree) relist(watcher Path, before, after []kept) {
	for _, k := range before {
		list := t.watchers[k.watched()]
		if at, found := slices.BinarySearch(list, watcher); found {
			list = slices.Delete(list, at, at+1)
		}
		if len(list) == 0 {
			delete(t.watchers, k.watched())
		} else {
			t.watchers[k.watched()] = list
		}
	}
	for _, k := range after {
		list := t.watchers[k.watched()]
		if at, found := slices.BinarySearch(list, watcher); !found {
			t.watchers[k.watched()] = slices.Insert(list, at, watcher)
		}
	}
}

// A watched thing is a node or a session.
type watched struct {
	path    Path
	session string
}

func (k *kept) watched() watched { return watched{k.path, k.session} }

// setLabel adds or removes a name of a sorted list.
func (t *Tree) setLabel(list *[]string, name string, there bool) bool {
	at, found := slices.BinarySearch(*list, name)
	if found == there {
		return false
	}
	before := *list
	if there {
		*list = slices.Insert(slices.Clone(before), at, name)
	} else {
		*list = slices.Delete(slices.Clone(before), at, at+1)
	}
	t.undo = append(t.undo, func() { *list = before })
	return true
}

// lookup returns a node; nil if it is not there.
func (t *Tree) lookup(path Path) *node {
	at := t.root
	for _, c := range path.Components() {
		if at = at.child(c); at == nil {
			return nil
		}
	}
	return at
}

// look returns what is known of a node; nil if it is not there.
func (t *Tree) look(path Path) *Node {
	n := t.lookup(path)
	if n == nil {
		return nil
	}
	seen := n.seen(path)
	return &seen
}

// A change is something that keep-while conditions may look at, and the node whose own conditions are not looked at because of it.
type change struct {
	watched
	except Path
}

// note remembers a change if anybody watches.
func (t *Tree) note(w watched, except Path) {
	if len(t.watchers[w]) > 0 {
		t.changed = append(t.changed, change{w, except})
	}
}
