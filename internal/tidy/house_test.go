package tidy

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// A room is a folder with a Go package, checked by the type checker: what a rule is about is found by what it is, not by
// how it is spelt.
type room struct {
	name string // its path below the module's
	*packages.Package
}

// house loads all rooms, without their tests. It is loaded once for all rules.
var house = sync.OnceValues(func() ([]room, error) {
	const all = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedTypes | packages.NeedTypesInfo |
		packages.NeedSyntax | packages.NeedExportFile
	loaded, err := packages.Load(&packages.Config{Mode: all, Dir: root}, "./...")
	if err != nil {
		return nil, err
	}
	var rooms []room
	for _, p := range loaded {
		for _, e := range p.Errors {
			return nil, e
		}
		rooms = append(rooms, room{strings.TrimPrefix(p.PkgPath, module+"/"), p})
	}
	slices.SortFunc(rooms, func(a, b room) int { return strings.Compare(a.name, b.name) })
	return rooms, nil
})

func rooms(t *testing.T) []room {
	t.Helper()
	all, err := house()
	require.NoError(t, err)
	require.Greater(t, len(all), 20, "where is the house?")
	return all
}

// fileOf is the name of the file in which an object is declared.
func (r *room) fileOf(o types.Object) string {
	return filepath.Base(r.Fset.Position(o.Pos()).Filename)
}

func (r *room) fileName(f *ast.File) string { return filepath.Base(r.Fset.Position(f.Pos()).Filename) }

// generated reports whether nobody wrote the room: its names are a generator's.
func (r *room) generated() bool { return strings.HasSuffix(r.name, "pb") }
