package tidy

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The rooms that are tested without the race detector start no goroutine: it would find nothing there.
func TestRoomsAlone(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	list := regexp.MustCompile(`(?m)^ALONE = ((?:.*\\\n)*.*)$`).FindStringSubmatch(string(text))
	require.Len(t, list, 2, "the Makefile has no list ALONE; mend this test")
	rooms := strings.Fields(strings.ReplaceAll(list[1], "\\\n", " "))
	require.Greater(t, len(rooms), 5)
	for _, s := range sources(t) {
		if s.test() || !slices.Contains(rooms, "./"+s.room) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if at, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s starts a goroutine at %v; take %s off ALONE in the Makefile, so that the race detector sees it",
					s.path, s.set.Position(at.Pos()), s.room)
			}
			if call, ok := n.(*ast.SelectorExpr); ok && call.Sel.Name == "Go" {
				t.Errorf("%s calls Go at %v; take %s off ALONE in the Makefile, so that the race detector sees it",
					s.path, s.set.Position(call.Pos()), s.room)
			}
			return true
		})
	}
}
