package tree

import (
	"bytes"
	"fmt"
)

// A Tx is a transaction under way: reads see what it has written. It has no clock and no network. It must not be used after the function has returned.
type Tx struct {
	tree  *Tree
	write bool
	ended bool
	did   []Command
}

// Query calls a function with the tree as it is. The function cannot write.
func (t *Tree) Query(f func(*Tx) error) error {
	x := &Tx{tree: t}
	defer x.end()
	return f(x)
}

// Propose runs a function, and returns as one command what it has written; the tree is not changed. An error of the function aborts: it is returned, and there
// is no command.
//
// The function runs twice, and again wherever another member was faster. So what it writes may depend on what it reads alone: not on a clock, the network, a
// draw, or what an earlier execution left behind. If the two executions differ, the error is ErrNotDeterministic.
func (t *Tree) Propose(f func(*Tx) error) (Command, error) {
	first, text, err := t.execute(f)
	_, again, errAgain := t.execute(f)
	if (err == nil) != (errAgain == nil) || err == nil && !bytes.Equal(text, again) {
		return Command{}, fmt.Errorf("%w: it reads a clock, the network or a draw, or what the first one left behind; read these before the transaction, and pass them in", ErrNotDeterministic)
	}
	return first, err
}

func (t *Tree) execute(f func(*Tx) error) (Command, []byte, error) {
	x := &Tx{tree: t, write: true}
	defer t.rollback(0, 0)
	defer x.end()
	if err := f(x); err != nil {
		return Command{}, nil, err
	}
	c := Command{Kind: KindTransaction, Commands: x.did}
	text, err := c.Encode()
	return c, text, err
}

func (x *Tx) end() { x.ended = true }

// Do does a command within the transaction. With an error the command has changed nothing, and the transaction goes on: return the error to abort.
func (x *Tx) Do(c Command) (Result, error) {
	switch {
	case x.ended:
		return Result{}, ErrEnded
	case !x.write:
		return Result{}, ErrReadOnly
	case c.Kind == KindTransaction:
		return Result{}, fmt.Errorf("%w: a transaction within a transaction; do its commands one by one", ErrCommand)
	case len(x.did) >= x.tree.limits.Commands:
		return Result{}, fmt.Errorf("%w: a transaction has more than %d commands; split it, or raise limit commands", ErrCommand, x.tree.limits.Commands)
	}
	if err := x.tree.checkFunctions(&c); err != nil {
		return Result{}, err
	}
	r, err := x.tree.attempt(&c)
	if err == nil {
		x.did = append(x.did, c)
	}
	r.Fired = nil // at the end of the transaction
	return r, err
}

// Get returns a node. Error: ErrNotFound.
func (x *Tx) Get(path Path) (Node, error) {
	if x.ended {
		return Node{}, ErrEnded
	}
	if err := path.Check(); err != nil {
		return Node{}, err
	}
	n := x.tree.look(path)
	if n == nil {
		return Node{}, fmt.Errorf("%w: %s", ErrNotFound, clip(string(path)))
	}
	return *n, nil
}

// Data returns the data of a node, and otherwise where there is no such node, or no data in it.
func (x *Tx) Data(path Path, otherwise []byte) []byte {
	n, err := x.Get(path)
	if err != nil || n.Payload.Kind != Data {
		return otherwise
	}
	return n.Payload.Bytes
}

// Children returns the components of the children of a node, in order. Error: ErrNotFound.
func (x *Tx) Children(path Path) ([]string, error) {
	if _, err := x.Get(path); err != nil {
		return nil, err
	}
	n := x.tree.lookup(path)
	names := make([]string, len(n.children))
	for i, c := range n.children {
		names[i] = c.name
	}
	return names, nil
}

// Select returns the nodes of a pattern, by path. What others call exists, count, fold, map and filter is a look at the result.
func (x *Tx) Select(p Pattern) ([]Node, error) {
	if x.ended {
		return nil, ErrEnded
	}
	checks, err := p.ready(x.tree.limits.Depth)
	if err != nil {
		return nil, err
	}
	hits, err := x.tree.find(checks, false, x.tree.limits.Walk)
	if err != nil {
		return nil, err
	}
	nodes := make([]Node, len(hits))
	for i, h := range hits {
		nodes[i] = h.at.seen(h.path)
	}
	return nodes, nil
}
