package tree

import (
	"cmp"
	"fmt"
	"slices"
)

// A trigger is a Trigger that is ready to be used.
type trigger struct {
	Trigger
	checks []check
}

func (t *Tree) setTrigger(given *Trigger) error {
	if given == nil {
		return fmt.Errorf("%w: a trigger without its description", ErrCommand)
	}
	if err := checkLabel("trigger", given.ID); err != nil {
		return err
	}
	if err := given.Procedure.Check(); err != nil {
		return err
	}
	for _, a := range given.On {
		if a != Created && a != Updated && a != Deleted {
			return fmt.Errorf("%w: trigger %q is on %q; an action is create, update or delete", ErrCommand, given.ID, clip(string(a)))
		}
	}
	checks, err := given.Filter.ready(t.limits.Depth)
	if err != nil {
		return fmt.Errorf("trigger %q: %w", given.ID, err)
	}
	before := t.triggers
	at, found := t.trigger(given.ID)
	after := slices.Clone(before)
	if found {
		after = slices.Delete(after, at, at+1)
	}
	t.triggers = slices.Insert(after, at, &trigger{*given, checks})
	t.undo = append(t.undo, func() { t.triggers = before })
	return nil
}

func (t *Tree) dropTrigger(id string) error {
	before := t.triggers
	at, found := t.trigger(id)
	if !found {
		return fmt.Errorf("%w: %q", ErrTrigger, clip(id))
	}
	t.triggers = slices.Delete(slices.Clone(before), at, at+1)
	t.undo = append(t.undo, func() { t.triggers = before })
	return nil
}

func (t *Tree) trigger(id string) (int, bool) {
	return slices.BinarySearchFunc(t.triggers, id, func(a *trigger, id string) int { return cmp.Compare(a.ID, id) })
}

// fire returns the procedures that events call for.
func (t *Tree) fire(events []Event) []Firing {
	type candidate struct {
		Firing
		priority int64
	}
	var all []candidate
	for _, trigger := range t.triggers {
		for _, e := range events {
			if len(trigger.On) > 0 && !slices.Contains(trigger.On, e.Action) || !t.matches(trigger.checks, e.Path, cmp.Or(e.After, e.Before)) {
				continue
			}
			f := Firing{Trigger: trigger.ID, Event: e}
			if n := t.lookup(trigger.Procedure); n != nil && n.payload.Kind == Procedure {
				f.Procedure = string(n.payload.Bytes)
			}
			all = append(all, candidate{f, trigger.Priority})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.priority, a.priority) }) // they are by ID, then by event
	var fired []Firing
	for _, c := range all {
		fired = append(fired, c.Firing)
	}
	return fired
}

// matches reports whether a pattern matches a path: last is what is known of its node; those above it are looked up as they are now.
func (t *Tree) matches(checks []check, path Path, last *Node) bool {
	names := path.Components()
	if len(checks) == 0 {
		return len(names) == 0
	}
	above := make([]*Node, len(names))
	at := t.root
	for i, here := 0, Root; i < len(names)-1 && at != nil; i++ {
		here = here.child(names[i])
		if at = at.child(names[i]); at != nil {
			seen := at.seen(here)
			above[i] = &seen
		}
	}
	if len(names) > 0 {
		above[len(names)-1] = last
	}
	failed := make([]bool, (len(checks)+1)*(len(names)+1)) // by part and name: with ** in a pattern one question comes often
	var match func(part, name int) bool
	match = func(part, name int) bool {
		if part == len(checks) || name == len(names) {
			return part == len(checks) && name == len(names)
		}
		known := &failed[part*(len(names)+1)+name]
		if *known {
			return false
		}
		k := &checks[part]
		ok := k.met(names[name], above[name]) && match(part+1, name+1) || k.recursive() && match(part, name+1)
		*known = !ok
		return ok
	}
	return match(0, 0)
}
