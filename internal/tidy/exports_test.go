package tidy

import (
	"go/types"
	"slices"
	"strings"
	"testing"
)

// What a room exports is what another room uses: else it is a promise to nobody. Names that only embedders use, and names
// for tests, stand here with the reason.
var mayExport = map[string]string{
	"client":                         "embedders use it",
	"client/clienttest":              "tests of embedders use it",
	"client/typed":                   "embedders use it",
	"client/typed/lcm":               "embedders use it",
	"metasim.Seconds":                "embedders use it: floating seconds are converted at their door",
	"metasim/simtime.Seconds":        "metasim gives it to embedders",
	"federates/world":                "the vocabulary of systems, which others write",
	"federates/lockstep.Serve":       "embedders use it: a system of a program of their own",
	"federates/authority/seal":       "embedders use it: programs of their own that take part in transfers",
	"federates/follower":             "embedders use it: a node of their own engine",
	"federates/follower/frames":      "embedders meet it through federates/follower: frames, errors and their codes",
	"federates/authority/tree":       "the vocabulary of commands and conditions, of which a program uses some",
	"federates/authority/store":      "what a member can be asked, of which a program uses some",
	"federates/authority/store/bolt": "embedders use it: a homeserver of a program of their own",
	"federates/authority/store/etcd": "embedders use it: a homeserver of a program of their own",
	"internal/browser":               "for tests",
	"internal/netns":                 "for tests",
	"internal/script":                "for tests",
	"internal/golden":                "for tests",
	"internal/shortdir":              "for tests",
	"internal/testcluster":           "for tests",
	"internal/testprogram":           "for tests",

	"federates/authority/store/storetest": "for tests",

	"record/journal.NewReader": "tests of other rooms read journals in memory",
	"record/journal.NewWriter": "tests of other rooms write journals in memory",

	"wire.MaxControl":         "a limit of the protocol, which tests of both ends need",
	"wire.MaxFrame":           "a limit of the protocol, which tests of both ends need",
	"wire.MaxName":            "a limit of the protocol, which tests of both ends need",
	"wire.MaxPackets":         "a limit of the protocol, which tests of both ends need",
	"wire.MaxPayload":         "a limit of the protocol, which tests of both ends need",
	"wire.MaxText":            "a limit of the protocol, which tests of both ends need",
	"wire/transport/mem.Pipe": "a connection without a server, for tests of a client",
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
			_, isVar := scope.Lookup(name).(*types.Var)
			if isVar && strings.HasPrefix(name, "Err") {
				continue // errors.Is finds it wherever it is met
			}
			if o := scope.Lookup(name); o.Exported() && !used[o] && !reached[o] && mayExport[r.name+"."+name] == "" {
				found[r.name] = append(found[r.name], name)
			}
		}
	}
	return found
}

// reached returns the names of a room that others meet without naming them: types in what an exported function, method or
// field that is used takes or gives; constants of such types; errors, which errors.As alone may meet.
func (r *room) reached(used map[types.Object]bool) map[types.Object]bool {
	w := walk{room: r.Types, found: map[types.Object]bool{}}
	scope := r.Types.Scope()
	for _, name := range scope.Names() {
		if o := scope.Lookup(name); used[o] {
			w.visit(o.Type())
		}
	}
	for _, name := range scope.Names() {
		switch o := scope.Lookup(name).(type) {
		case *types.Const:
			if n, ok := o.Type().(*types.Named); ok && (w.found[n.Obj()] || used[n.Obj()]) {
				w.found[o] = true
			}
		case *types.TypeName:
			if types.Implements(types.NewPointer(o.Type()), errorType) {
				w.found[o] = true
			}
		}
	}
	return w.found
}

var errorType = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)

// A walk notes the types of a room that a type leads to.
type walk struct {
	room  *types.Package
	found map[types.Object]bool
}

func (w *walk) visit(t types.Type) {
	switch t := t.(type) {
	case *types.Map:
		w.visit(t.Key())
		w.visit(t.Elem())
	case interface{ Elem() types.Type }: // a pointer, a slice, an array, a channel
		w.visit(t.Elem())
	case *types.Signature:
		for v := range t.Params().Variables() {
			w.visit(v.Type())
		}
		for v := range t.Results().Variables() {
			w.visit(v.Type())
		}
	case *types.Named:
		w.visitNamed(t)
	case *types.Alias:
		if t.Obj().Pkg() == w.room {
			w.found[t.Obj()] = true
		}
		w.visit(types.Unalias(t))
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				w.visit(f.Type())
			}
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			w.visit(m.Type())
		}
	}
}

func (w *walk) visitNamed(t *types.Named) {
	for arg := range t.TypeArgs().Types() {
		w.visit(arg)
	}
	if t.Obj().Pkg() != w.room || w.found[t.Obj()] {
		return
	}
	w.found[t.Obj()] = true
	w.visit(t.Underlying())
	for m := range t.Methods() {
		if m.Exported() {
			w.visit(m.Type())
		}
	}
}

// mayBeUnused are names that are exported and that no other room uses, by room, with the reason.
var mayBeUnused = map[string][]string{
	"record/journal": {"NewReader", "NewWriter"}, // tests of other rooms keep journals in memory
}

func TestExportsAreUsed(t *testing.T) {
	for name, list := range unused(t) {
		for _, export := range list {
			if !slices.Contains(mayBeUnused[name], export) {
				t.Errorf("%s exports %s, and no other room uses it: make it its own, move it into a test, or remove it", name, export)
			}
		}
	}
}
