package tidy

import (
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// racedElsewhere are rooms that start goroutines, and whose own tests run with the race detector: a room that only calls them may be tested
// without it.
var racedElsewhere = map[string]string{
	"record/journal":   "whoever reads a recorded run",
	"client":           "the models that are clients themselves",
	"federates/camera": "the systems of worlds",
	"federates/levels": "the clients of worlds",
}

// A room is tested without the race detector, which would find nothing there, slowly, if neither it nor what it imports starts a goroutine.
func TestRoomsAlone(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	list := regexp.MustCompile(`(?m)^ALONE = ((?:.*\\\n)*.*)$`).FindStringSubmatch(string(text))
	require.Len(t, list, 2, "the Makefile has no list ALONE; mend this test")
	alone := strings.Fields(strings.ReplaceAll(list[1], "\\\n", " "))
	starts, startsInTests := map[string]string{}, map[string]string{} // where a room starts a goroutine
	imports, forTests := map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, s := range sources(t) {
		arrows, found := imports, starts
		if s.test() {
			arrows, found = forTests, startsInTests
		}
		if at := goroutine(s); at != "" {
			found[s.room] = at
		}
		if arrows[s.room] == nil {
			arrows[s.room] = map[string]bool{}
		}
		for _, i := range s.file.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			require.NoError(t, err)
			if room, ok := strings.CutPrefix(path, module+"/"); ok {
				arrows[s.room][room] = true
			}
		}
	}
	for room := range forTests {
		at := reached(room, imports, starts, racedElsewhere)
		if slices.Contains(alone, "./"+room) {
			require.Empty(t, at, "%s starts a goroutine, or imports what does; take it off ALONE in the Makefile, so that the race detector sees it", room)
			continue
		}
		at = startsInTests[room] + reached(room, imports, starts, nil)
		for used := range forTests[room] {
			at += reached(used, imports, starts, nil)
		}
		if at == "" {
			t.Logf("nothing that %s and its tests import starts a goroutine: on ALONE in the Makefile it would be tested sooner", room) // libraries may start some
		}
	}
}

// goroutine returns where a file starts a goroutine; empty if it starts none.
func goroutine(s source) (at string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, calls := n.(*ast.SelectorExpr)
		if _, starts := n.(*ast.GoStmt); starts || calls && call.Sel.Name == "Go" {
			at = s.set.Position(n.Pos()).String()
		}
		return at == ""
	})
	return at
}

// reached returns where a room, or one that it leads to, starts a goroutine. It does not look behind the rooms of excused.
func reached(room string, imports map[string]map[string]bool, starts, excused map[string]string) string {
	seen := map[string]bool{}
	var look func(room string) string
	look = func(room string) string {
		if seen[room] || excused[room] != "" {
			return ""
		}
		seen[room] = true
		if starts[room] != "" {
			return starts[room] + " "
		}
		for _, next := range slices.Sorted(maps.Keys(imports[room])) {
			if at := look(next); at != "" {
				return at
			}
		}
		return ""
	}
	return look(room)
}
