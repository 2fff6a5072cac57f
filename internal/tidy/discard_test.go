package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An error that is thrown away without a word may be a mistake: the next reader cannot know. So a comment beside it says why
// nobody needs it.
func TestDiscardedErrorsHaveReasons(t *testing.T) {
	for _, r := range rooms(t) {
		for _, f := range r.Syntax {
			for _, complaint := range discarded(r.Fset, f, r.TypesInfo) {
				if !r.generated() {
					t.Error(complaint)
				}
			}
		}
	}
	for _, s := range sources(t) { // also those of other systems, whose types are not known here
		if s.test() || s.generated() {
			continue
		}
		for _, complaint := range discarded(s.set, s.file, nil) {
			t.Error(complaint)
		}
	}
}

// discarded says which assignments of a file throw an error away, and have no comment in their line or the line before. Without
// types it takes each call for one that fails, if all of its results are thrown away.
func discarded(set *token.FileSet, file *ast.File, info *types.Info) (complaints []string) {
	commented := map[int]bool{}
	for _, group := range file.Comments {
		commented[set.Position(group.Pos()).Line] = true
		commented[set.Position(group.End()).Line+1] = true
	}
	ast.Inspect(file, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if ok && throwsAway(a, info) && !commented[set.Position(a.Pos()).Line] {
			complaints = append(complaints, fmt.Sprintf("%s: an error is thrown away; report it, or say beside it why nobody needs it", set.Position(a.Pos())))
		}
		return true
	})
	return complaints
}

func throwsAway(a *ast.AssignStmt, info *types.Info) bool {
	call, ok := a.Rhs[0].(*ast.CallExpr)
	if !ok || len(a.Rhs) > 1 {
		return false
	}
	results, kept := []types.Type{}, false
	if info != nil {
		results = resultsOf(info.TypeOf(call))
	}
	for i, left := range a.Lhs {
		if id, ok := left.(*ast.Ident); !ok || id.Name != "_" {
			kept = true
		} else if i < len(results) && types.Identical(results[i], types.Universe.Lookup("error").Type()) {
			return true
		}
	}
	return info == nil && !kept
}

func resultsOf(t types.Type) []types.Type {
	tuple, ok := t.(*types.Tuple)
	if !ok {
		return []types.Type{t}
	}
	var all []types.Type
	for v := range tuple.Variables() {
		all = append(all, v.Type())
	}
	return all
}

func TestPlantedDiscardsAreFound(t *testing.T) {
	const planted = `package planted
func one() error { return nil }
func two() (int, error) { return 0, nil }
func three() (int, bool) { return 0, true }
func f() {
	_ = one() // typed untyped
	n, _ := two() // typed
	_, _ = two() // typed untyped
	_ = one() /* the reason */
	// the reason
	_ = one()
	n, _ = three()
	_ = n
}
`
	text := planted
	for _, mark := range []string{" // typed untyped", " // typed"} {
		text = strings.ReplaceAll(text, mark, "")
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "planted.go", text, parser.ParseComments)
	require.NoError(t, err)
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	_, err = new(types.Config).Check("planted", set, []*ast.File{file}, info)
	require.NoError(t, err)
	typed, untyped := strings.Join(discarded(set, file, info), "\n"), strings.Join(discarded(set, file, nil), "\n")
	for i, line := range strings.Split(planted, "\n") {
		where := fmt.Sprintf("planted.go:%d:", i+1)
		require.Equal(t, strings.Contains(line, "// typed"), strings.Contains(typed, where), "%s %s\n%s", where, line, typed)
		require.Equal(t, strings.Contains(line, " untyped"), strings.Contains(untyped, where), "%s %s\n%s", where, line, untyped)
	}
}
