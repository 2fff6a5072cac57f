package tidy

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// Code that compiles here may not compile on another system, where a constant or a file may be missing. This test checks the types of everything, of tests and libraries too,
// from their sources. That finds what compiling would, in a tenth of the time.
func TestOtherSystems(t *testing.T) {
	const deep = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedTypesSizes |
		packages.NeedSyntax
	for _, at := range [][2]string{{"linux", "arm64"}, {"darwin", "arm64"}, {"windows", "amd64"}} {
		t.Run(at[0]+"/"+at[1], func(t *testing.T) {
			env := append(os.Environ(), "CGO_ENABLED=0", "GOOS="+at[0], "GOARCH="+at[1])
			all, err := packages.Load(&packages.Config{Mode: deep, Dir: root, Env: env, Tests: true}, "./...")
			require.NoError(t, err)
			require.Greater(t, len(all), 100, "where is the house?")
			packages.Visit(all, nil, func(p *packages.Package) {
				for _, e := range p.Errors {
					t.Error(e)
				}
			})
		})
	}
}
