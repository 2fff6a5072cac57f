package tidy

import (
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// A file points to another of its room where it uses what that one declares. The rule: a room reads like a page, from
// the entry points down to the details, so the arrows of its files make no circle. One file may hold the types that all
// share, and using a type, a field or a constant of that file is no arrow: it is called as the room, or types.go.

// An arrow is one use of a file by another, with an example of what is used.
type arrow struct{ from, to, use string }

// arrows returns one arrow for each pair of files of a room.
func (r *room) arrows() []arrow {
	shared := r.typesFile()
	found := map[[2]string]string{}
	for _, f := range r.Syntax {
		from := r.fileName(f)
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			o := r.TypesInfo.Uses[id]
			if o == nil || o.Pkg() != r.Types || !o.Pos().IsValid() || !declaredOutside(o) {
				return true
			}
			to := r.fileOf(o)
			if to == from || to == shared && isData(o) || isField(o) && r.ownerFile(o) == shared {
				return true
			}
			if _, known := found[[2]string{from, to}]; !known {
				found[[2]string{from, to}] = o.Name()
			}
			return true
		})
	}
	var all []arrow
	for _, k := range slices.SortedFunc(maps.Keys(found), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		all = append(all, arrow{k[0], k[1], found[k]})
	}
	return all
}

// typesFile names the one file of a room whose types are free to use.
func (r *room) typesFile() string {
	own := path.Base(r.name) + ".go"
	for _, f := range r.Syntax {
		if r.fileName(f) == "types.go" {
			return "types.go"
		}
	}
	return own
}

// declaredOutside reports whether an object is no function's own: those that files share.
func declaredOutside(o types.Object) bool {
	if isField(o) {
		return true
	}
	if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
		return true
	}
	return o.Parent() == o.Pkg().Scope()
}

func isField(o types.Object) bool {
	v, ok := o.(*types.Var)
	return ok && v.IsField()
}

// isData reports whether an object is a type, a field, a constant or a method of an interface: what does nothing itself.
func isData(o types.Object) bool {
	switch o := o.(type) {
	case *types.TypeName, *types.Const:
		return true
	case *types.Var:
		return o.IsField()
	case *types.Func:
		recv := o.Signature().Recv()
		return recv != nil && types.IsInterface(recv.Type())
	}
	return false
}

// ownerFile is the file of a field.
func (r *room) ownerFile(o types.Object) string { return r.fileOf(o) }

// circles returns the arrows of a room that are part of a circle: those within one strongly connected set of files.
func (r *room) circles() []arrow {
	all := r.arrows()
	next := map[string][]string{}
	for _, a := range all {
		next[a.from] = append(next[a.from], a.to)
	}
	reach := func(from, to string) bool {
		seen, todo := map[string]bool{}, []string{from}
		for len(todo) > 0 {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if at == to {
				return true
			}
			if !seen[at] {
				seen[at] = true
				todo = append(todo, next[at]...)
			}
		}
		return false
	}
	return slices.DeleteFunc(all, func(a arrow) bool { return !reach(a.to, a.from) })
}

func TestFilesPointOneWay(t *testing.T) {
	for _, r := range rooms(t) {
		found := r.circles()
		if r.generated() || len(found) == 0 {
			continue
		}
		var text strings.Builder
		for _, a := range found {
			fmt.Fprintf(&text, "\n\t%s -> %s (%s)", a.from, a.to, a.use)
		}
		t.Errorf("the files of %s make circles: let a file that others call not call them, or put the types that they share into %s:%s",
			r.name, r.typesFile(), text.String())
	}
}
