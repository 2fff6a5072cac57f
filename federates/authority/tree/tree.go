package tree

import (
	"fmt"
	"slices"
)

// New returns a tree with a root and nothing below it. Functions are those of projections that this program knows, by name, beside "copy".
func New(limits Limits, functions map[string]Function) (*Tree, error) {
	limits, err := limits.Resolve()
	if err != nil {
		return nil, err
	}
	return &Tree{limits: limits, functions: functions, root: newNode(""), watchers: map[watched][]Path{}}, nil
}

// Index returns how many commands the tree has applied.
func (t *Tree) Index() uint64 { return t.index }

// Sessions returns the open sessions, by name.
func (t *Tree) Sessions() []string { return slices.Clone(t.sessions) }

// Apply does a command. With an error nothing has changed.
func (t *Tree) Apply(c Command) (Result, error) {
	r, err := t.attempt(&c)
	if err != nil {
		return Result{}, err
	}
	t.undo, t.events = nil, nil
	t.index++
	t.project(r.Events)
	r.Index = t.index
	return r, nil
}

// Try returns what Apply would return, and changes nothing. It also refuses what this member could not do: a projection whose function it does not know.
func (t *Tree) Try(c Command) (Result, error) {
	if err := t.checkFunctions(&c); err != nil {
		return Result{}, err
	}
	r, err := t.attempt(&c)
	t.rollback(0, 0)
	r.Index = t.index + 1
	return r, err
}

// attempt does a command, and leaves in t.undo how to undo it; with an error it is undone.
func (t *Tree) attempt(c *Command) (Result, error) {
	undo, events := len(t.undo), len(t.events)
	nodes, err := t.do(c, false)
	if err != nil {
		t.rollback(undo, events)
		return Result{}, err
	}
	if events == 0 {
		happened := slices.Clone(t.events)
		return Result{Nodes: nodes, Events: happened, Fired: t.fire(happened)}, nil
	}
	return Result{Nodes: nodes, Events: slices.Clone(t.events[events:])}, nil
}

// rollback undoes what was done since there were so many undos and events.
func (t *Tree) rollback(undo, events int) {
	for i := len(t.undo) - 1; i >= undo; i-- {
		t.undo[i]()
	}
	t.undo, t.events, t.changed = t.undo[:undo], t.events[:events], t.changed[:0]
}

// do does a command, and all that follows from it.
func (t *Tree) do(c *Command, within bool) ([]Node, error) {
	var nodes []Node
	var err error
	switch c.Kind {
	case KindPut:
		nodes, err = t.put(c)
	case KindDelete:
		nodes, err = t.delete(c)
	case KindClear:
		nodes, err = t.clear(c)
	case KindTransaction:
		if within {
			return nil, fmt.Errorf("%w: a transaction within a transaction; put the commands of both into one", ErrCommand)
		}
		return t.transact(c.Commands)
	case KindOpenSession:
		err = t.openSession(c.Name)
	case KindEndSession:
		err = t.endSession(c.Name)
	case KindTrigger:
		err = t.setTrigger(c.Trigger)
	case KindNoTrigger:
		err = t.dropTrigger(c.Name)
	case KindProjection:
		err = t.setProjection(c.Projection)
	case KindNoProjection:
		err = t.dropProjection(c.Name)
	default:
		err = fmt.Errorf("%w: there is no kind %q", ErrCommand, clip(string(c.Kind)))
	}
	if err == nil {
		t.settle()
	}
	return nodes, err
}

// transact does several commands.
func (t *Tree) transact(commands []Command) ([]Node, error) {
	if len(commands) > t.limits.Commands {
		return nil, fmt.Errorf("%w: a transaction has %d commands, at most %d; split it, or raise limit commands", ErrCommand, len(commands), t.limits.Commands)
	}
	var all []Node
	for i := range commands {
		nodes, err := t.do(&commands[i], true)
		if err != nil {
			return nil, fmt.Errorf("command %d of the transaction: %w", i+1, err)
		}
		all = append(all, nodes...)
	}
	return all, nil
}

func (t *Tree) put(c *Command) ([]Node, error) {
	if err := t.checkPayload(c.Payload); err != nil {
		return nil, err
	}
	hits, err := t.match(c.Pattern, true)
	if err != nil {
		return nil, err
	}
	var nodes []Node
	for _, h := range hits {
		if err := t.putOne(h, c); err != nil {
			return nil, err
		}
		nodes = append(nodes, *t.look(h.path))
	}
	return nodes, nil
}

func (t *Tree) checkPayload(p Payload) error {
	switch {
	case p.Kind == Procedure:
		return checkLabel("procedure", string(p.Bytes))
	case p.Kind != Data && p.Kind != NoPayload || p.Kind == NoPayload && len(p.Bytes) > 0:
		return fmt.Errorf("%w: there is no payload of kind %q", ErrCommand, clip(string(p.Kind)))
	case len(p.Bytes) > t.limits.Payload:
		return fmt.Errorf("%w: %d bytes, at most %d; put large things elsewhere and their name here, or raise limit payload", ErrPayload, len(p.Bytes), t.limits.Payload)
	}
	return nil
}

// putOne sets a node, and makes it and those above it if it is missing.
func (t *Tree) putOne(h hit, c *Command) error {
	keep, err := t.readyKeep(h.path, c.Keep)
	if err != nil {
		return err
	}
	n, except := h.at, Path("")
	if len(keep) > 0 {
		except = h.path
	}
	if n == nil {
		if n, err = t.grow(h.path, c.Payload); err != nil {
			return err
		}
	} else if before := n.seen(h.path); t.setPayload(n, c.Payload) {
		after := n.seen(h.path)
		t.happened(Event{Action: Updated, Path: h.path, Before: &before, After: &after}, except)
	}
	if len(keep) == 0 && !c.Forget {
		return nil
	}
	if err := t.checkKeep(h.path, keep); err != nil {
		return err
	}
	t.setKeep(h.path, n, keep)
	return nil
}

// grow makes a node that is missing, and those that are missing above it.
func (t *Tree) grow(path Path, payload Payload) (*node, error) {
	at, here := t.root, Root
	for _, name := range path.Components() {
		here = here.child(name)
		next := at.child(name)
		if next == nil {
			if t.size >= t.limits.Nodes {
				return nil, fmt.Errorf("%w: %d, with %s there would be more; delete some, or raise limit nodes", ErrNodes, t.size, clip(string(path)))
			}
			next = newNode(name)
			if here == path {
				next.payload = payload
			}
			t.addChild(at, next)
			after := next.seen(here)
			t.happened(Event{Action: Created, Path: here, After: &after}, here)
			t.note(watched{path: here.Parent()}, "")
		}
		at = next
	}
	return at, nil
}

// match finds the nodes of a pattern; for the pattern of one path it says why that does not match.
func (t *Tree) match(p Pattern, missing bool) ([]hit, error) {
	checks, err := p.ready(t.limits.Depth)
	if err != nil {
		return nil, err
	}
	hits, err := t.find(checks, missing, t.limits.Walk)
	if path, single := p.path(); err == nil && single && len(hits) == 0 {
		return nil, t.why(checks, path)
	}
	return hits, err
}

// why says why the one node of a pattern does not match.
func (t *Tree) why(checks []check, path Path) error {
	at := Root
	for i, name := range path.Components() {
		at = at.child(name)
		n := t.look(at)
		switch {
		case n == nil && at == path && !checks[i].met(name, nil), n == nil && at != path:
			return fmt.Errorf("%w: %s", ErrNotFound, clip(string(at)))
		case n != nil && !checks[i].met(name, n) && checks[i].wants(false):
			return fmt.Errorf("%w: %s has payload version %d", ErrExists, clip(string(at)), n.PayloadVersion)
		case n != nil && !checks[i].met(name, n):
			return fmt.Errorf("%w: %s has payload version %d, child list version %d and %d children", ErrMismatch,
				clip(string(at)), n.PayloadVersion, n.ChildListVersion, n.ChildListLength)
		}
	}
	return fmt.Errorf("%w: %s", ErrNotFound, clip(string(path)))
}

// wants reports whether a condition, or one of those that must all be met, is that the node exists, or that it does not.
func (k *check) wants(exists bool) bool {
	return k.Test == TestNodeExists && k.Not != exists ||
		k.Test == TestAll && slices.ContainsFunc(k.of, func(inner check) bool { return inner.wants(exists) })
}

func (t *Tree) delete(c *Command) ([]Node, error) {
	hits, err := t.existing(c.Pattern)
	if err != nil {
		return nil, err
	}
	var nodes []Node
	for _, h := range hits {
		nodes = append(nodes, h.at.seen(h.path))
	}
	for _, h := range hits {
		if t.lookup(h.path) == h.at { // else it went with a node above it
			t.remove(h.path, h.at, Explicit)
		}
	}
	return nodes, nil
}

// existing finds the nodes of a pattern. One that is missing is no error: what is to be removed is gone.
func (t *Tree) existing(p Pattern) ([]hit, error) {
	hits, err := t.match(p, false)
	if path, single := p.path(); single && err != nil && path.Check() == nil && t.lookup(path) == nil {
		if _, wrong := p.ready(t.limits.Depth); wrong == nil {
			return nil, nil
		}
	}
	return hits, err
}

func (t *Tree) clear(c *Command) ([]Node, error) {
	hits, err := t.existing(c.Pattern)
	if err != nil {
		return nil, err
	}
	var nodes []Node
	for _, h := range hits {
		before := h.at.seen(h.path)
		if t.setPayload(h.at, Payload{}) {
			after := h.at.seen(h.path)
			t.happened(Event{Action: Updated, Path: h.path, Before: &before, After: &after}, "")
		}
		nodes = append(nodes, h.at.seen(h.path))
	}
	return nodes, nil
}

func (t *Tree) openSession(name string) error {
	if err := checkLabel("session", name); err != nil {
		return err
	}
	if !t.setLabel(&t.sessions, name, true) {
		return fmt.Errorf("%w: %q; give each process a name of its own", ErrSessionOpen, name)
	}
	return nil
}

func (t *Tree) endSession(name string) error {
	if !t.setLabel(&t.sessions, name, false) {
		return fmt.Errorf("%w: %q", ErrSession, clip(name))
	}
	t.note(watched{session: name}, "")
	return nil
}
