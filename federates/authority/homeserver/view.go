package homeserver

import (
	"errors"

	"metasim/federates/authority/home"
	"metasim/federates/authority/tree"
)

// A view is the tree as package home reads it. What goes wrong is kept in err.
type view struct {
	tx  *tree.Tx
	err error
}

// Get is that of home.Tree.
func (v *view) Get(path string) (home.Node, bool) {
	n, err := v.tx.Get(tree.Path(path))
	switch {
	case errors.Is(err, tree.ErrNotFound), errors.Is(err, tree.ErrPath): // no name of ours has what a path cannot
		return home.Node{}, false
	case err != nil:
		v.err = err
		return home.Node{}, false
	}
	return home.Node{Payload: n.Payload.Bytes, Version: n.PayloadVersion}, n.Payload.Kind == tree.Data
}

// List is that of home.Tree.
func (v *view) List(path, after string, limit int) (out []string) {
	all, err := v.tx.Children(tree.Path(path))
	if err != nil && !errors.Is(err, tree.ErrNotFound) && !errors.Is(err, tree.ErrPath) {
		v.err = err
	}
	for _, name := range all {
		if name > after && len(out) < limit {
			out = append(out, name)
		}
	}
	return out
}

// apply does commands, each on the version of the node that was read.
func (v *view) apply(commands []home.Command) error {
	for _, c := range commands {
		path := tree.Path(c.Path)
		do := tree.Swap(path, tree.PayloadVersion(tree.Equal, c.Version), c.Payload)
		switch {
		case c.Payload == nil:
			do = tree.Delete(path)
		case c.Version == 0:
			do = tree.Create(path, c.Payload)
		}
		if _, err := v.tx.Do(do); err != nil {
			return err
		}
	}
	return nil
}
