package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The pure rooms do nothing: no clock, goroutine, socket, log, random draw, map order. The world enters them as a value,
// and leaves them as one. So a run can be repeated, and a rule can be tested without a network.
var pureRooms = []string{"delay", "metasim", "metasim/safetime", "metasim/simtime", "wire/session", "internal/fifo", "internal/pq", "internal/slab",
	"federates/follower/frames", "federates/follower/scene", "federates/levels/worldmap", "federates/authority/tree", "federates/authority/home",
	"federates/authority/claim", "federates/authority/credit", "federates/authority/interest", "federates/authority/balance", "federates/authority/shard"}

// keyedDraws are the pure rooms that may import math/rand/v2: there every draw comes from a generator that is keyed by what the
// draw is for, and never from the one that all share.
var keyedDraws = []string{"delay", "wire/session"}

// impureImports are the packages of the standard library through which the world would come in.
var impureImports = []string{
	"net/...", "os/...", "time", "sync/...", "context", "log/...", "math/rand/...", "runtime/...", "unsafe", "syscall", "crypto/rand",
}

func TestPureRooms(t *testing.T) {
	found := 0
	for _, r := range rooms(t) {
		if !slices.Contains(pureRooms, r.name) {
			continue
		}
		found++
		for _, complaint := range impurities(r.Fset, r.Syntax, r.TypesInfo, slices.Contains(keyedDraws, r.name)) {
			t.Error(complaint)
		}
	}
	require.GreaterOrEqual(t, found, 4, "the pure rooms are gone; name the new ones in pureRooms")
}

// impurities says what in the files of a room is not pure. Types decide: a map is found wherever it comes from.
func impurities(set *token.FileSet, files []*ast.File, info *types.Info, draws bool) (complaints []string) {
	for _, f := range files {
		complain := func(n ast.Node, why string) {
			complaints = append(complaints, fmt.Sprintf("%s: %s", set.Position(n.Pos()), why))
		}
		for _, spec := range f.Imports {
			if name := strings.Trim(spec.Path.Value, `"`); under(impureImports, name) && !(draws && name == "math/rand/v2") {
				complain(spec, "this room is pure and may not import "+name+": let a shell bring in what it gives, as a value")
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				complain(n, "this room is pure and starts no goroutine: the shells do")
			case *ast.SelectStmt, *ast.SendStmt:
				complain(n, "this room is pure and uses no channel: it returns what is to be done")
			case *ast.RangeStmt:
				if why := unordered(info.TypeOf(n.X)); why != "" {
					complain(n, why)
				}
			case *ast.CallExpr:
				if why := impureCall(info, n); why != "" {
					complain(n, why)
				}
			}
			return true
		})
	}
	return complaints
}

const mapOrder = "this room is pure and iterates no map: its order would reach a result; keep a sorted list beside the map"

// unordered says why a value may not be ranged over.
func unordered(t types.Type) string {
	switch t.Underlying().(type) {
	case *types.Map:
		return mapOrder
	case *types.Chan:
		return "this room is pure and uses no channel: it returns what is to be done"
	}
	return ""
}

// impureCall says why a call is not pure.
func impureCall(info *types.Info, call *ast.CallExpr) string {
	fun := ast.Unparen(call.Fun)
	if id, ok := fun.(*ast.Ident); ok {
		if b, ok := info.Uses[id].(*types.Builtin); ok && (b.Name() == "print" || b.Name() == "println") {
			return "this room is pure and prints nothing"
		}
	}
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	if sel, ok := fun.(*ast.SelectorExpr); ok {
		f, ok := info.Uses[sel.Sel].(*types.Func)
		if ok && f.Pkg() != nil && f.Pkg().Path() == "maps" && slices.Contains([]string{"All", "Keys", "Values", "Collect", "DeleteFunc"}, f.Name()) {
			return mapOrder
		}
		if ok && f.Pkg() != nil && f.Pkg().Path() == "math/rand/v2" && f.Signature().Recv() == nil && !strings.HasPrefix(f.Name(), "New") {
			return "this room is pure and draws from no generator that all share: key it by what the draw is for"
		}
		if ok && f.Pkg() != nil && f.Pkg().Path() == "fmt" && strings.HasPrefix(f.Name(), "Print") {
			return "this room is pure and prints nothing"
		}
	}
	return ""
}

// The rule finds what is planted: a map in a local variable, a field, a result and a parameter, and the rest.
func TestPlantedImpuritiesAreFound(t *testing.T) {
	const planted = `package planted
import ("fmt"; "maps"; "math/rand/v2"; "slices")
type box struct{ m map[int]int; inner struct{ n map[string]bool } }
type alias = map[int]int
type named map[int]int
func made() map[int]int { return nil }
func (b *box) f(p map[int]int, a alias, n named, c chan int) {
	for range b.m {}           // found
	for range b.inner.n {}     // found
	for range made() {}        // found
	for range p {}             // found
	for range a {}             // found
	for range n {}             // found
	local := map[int]int{}
	for range local {}         // found
	for range maps.Keys(p) {}  // found
	_ = slices.Collect(maps.Values[map[int]int](p)) // found
	for range c {}             // found
	go func() {}()             // found
	c <- 1                     // found
	println(1)                 // found
	fmt.Println(1)             // found
	_ = rand.IntN(3)           // found
	_ = rand.New(rand.NewPCG(1, 2)).IntN(3)
	for range []int{1} {}
	for range 3 {}
	_ = maps.Clone(p)
}
`
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "planted.go", planted, parser.ParseComments)
	require.NoError(t, err)
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	checker := types.Config{Importer: importerOfHouse(t)}
	_, err = checker.Check("planted", set, []*ast.File{file}, info)
	require.NoError(t, err)
	complaints := strings.Join(impurities(set, []*ast.File{file}, info, true), "\n")
	for i, line := range strings.Split(planted, "\n") {
		where := fmt.Sprintf("planted.go:%d:", i+1)
		require.Equal(t, strings.Contains(line, "// found"), strings.Contains(complaints, where), "%s %s\n%s", where, line, complaints)
	}
}

// importerOfHouse imports packages of the standard library that the house has loaded.
func importerOfHouse(t *testing.T) types.Importer {
	return importerFunc(func(name string) (*types.Package, error) {
		for _, r := range rooms(t) {
			if p, ok := r.Imports[name]; ok && p.Types != nil {
				return p.Types, nil
			}
		}
		return nil, fmt.Errorf("no room imports %s", name)
	})
}

type importerFunc func(string) (*types.Package, error)

func (f importerFunc) Import(name string) (*types.Package, error) { return f(name) }
