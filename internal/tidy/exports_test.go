package tidy

import (
	"go/types"
	"testing"
)

// What a room exports is what another room uses: else it is a promise to nobody. Names that only embedders use, and names
// for tests, stand here with the reason.
var mayExport = map[string]string{
	"client":                       "embedders use it",
	"wire/transport/transporttest": "for tests",
	"internal/browser":             "for tests",
	"internal/netns":               "for tests",
	"internal/script":              "for tests",
	"internal/golden":              "for tests",
	"internal/testprogram":         "for tests",
}

// unused returns, by room, the exported functions, types, variables and constants that no other room uses. Methods and
// fields are not looked at: interfaces and encoders use them unseen.
func unused(t *testing.T) map[string][]string {
	t.Helper()
	used := map[types.Object]bool{}
	for _, r := range rooms(t) {
		for _, o := range r.TypesInfo.Uses {
			if o.Pkg() != nil && o.Pkg() != r.Types {
				used[o] = true
			}
		}
	}
	found := map[string][]string{}
	for _, r := range rooms(t) {
		if r.generated() || mayExport[r.name] != "" || r.Types.Name() == "main" {
			continue
		}
		scope := r.Types.Scope()
		reached := r.reached(used)
		for _, name := range scope.Names() {
			if o := scope.Lookup(name); o.Exported() && !used[o] && !reached[o] {
				found[r.name] = append(found[r.name], name)
			}
		}
	}
	return found
}

// reached returns the types of a room that others meet without naming them: in what an exported function, method or field
// that is used takes or gives. An error type is met by errors.As alone, and a constant with its type.
func (r *room) reached(used map[types.Object]bool) map[types.Object]bool {
	found := map[types.Object]bool{}
	var visit func(t types.Type)
	visit = func(t types.Type) {
		switch t := t.(type) {
		case *types.Pointer:
			visit(t.Elem())
		case *types.Slice:
			visit(t.Elem())
		case *types.Array:
			visit(t.Elem())
		case *types.Map:
			visit(t.Key())
			visit(t.Elem())
		case *types.Chan:
			visit(t.Elem())
		case *types.Signature:
			for v := range t.Params().Variables() {
				visit(v.Type())
			}
			for v := range t.Results().Variables() {
				visit(v.Type())
			}
		case *types.Named:
			o := t.Obj()
			if o.Pkg() != r.Types || found[o] {
				return
			}
			found[o] = true
			visit(t.Underlying())
			for m := range t.Methods() {
				if m.Exported() {
					visit(m.Type())
				}
			}
		case *types.Alias:
			if o := t.Obj(); o.Pkg() == r.Types {
				found[o] = true
			}
			visit(types.Unalias(t))
		case *types.Struct:
			for f := range t.Fields() {
				if f.Exported() {
					visit(f.Type())
				}
			}
		case *types.Interface:
			for m := range t.ExplicitMethods() {
				visit(m.Type())
			}
		}
	}
	scope := r.Types.Scope()
	for _, name := range scope.Names() {
		if o := scope.Lookup(name); used[o] {
			visit(o.Type())
		}
	}
	for _, name := range scope.Names() {
		switch o := scope.Lookup(name).(type) {
		case *types.Const:
			if n, ok := o.Type().(*types.Named); ok && (found[n.Obj()] || used[n.Obj()]) {
				found[o] = true // one of an enumeration
			}
		case *types.TypeName:
			if types.Implements(types.NewPointer(o.Type()), errorType) {
				found[o] = true
			}
		}
	}
	return found
}

var errorType = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
