package scenarios

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/internal/problem"
)

// FuzzParse: whatever the text and the override, the answer is a scenario that resolves and can be restored, or
// problems that have a message each. The files that ship, and the bad ones, are where it begins.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"*.metasim.yaml", "testdata/bad/*.yaml", "testdata/good/*.yaml"} {
		files, err := filepath.Glob(pattern)
		require.NoError(f, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(f, err)
			f.Add(text, "clients[0].name=x")
		}
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte, set string) {
		s, warnings, err := Parse(filepath.Join(dir, "fuzz.yaml"), text, Overrides{Set: []string{set}})
		var invalid *problem.Invalid
		switch {
		case errors.As(err, &invalid):
			require.NotEmpty(t, invalid.Problems)
			warnings = append(warnings, invalid.Problems...)
		case err != nil:
			t.Fatalf("metasim is at fault: %v", err)
		default:
			resolved, err := s.Resolved(true)
			require.NoError(t, err)
			_, err = Restore(resolved, dir)
			require.NoError(t, err)
		}
		for _, p := range warnings {
			require.NotEmpty(t, p.Message)
			require.NotEmpty(t, p.File)
		}
	})
}

// Files that are made to cost much. Each is answered in a fraction of a second; without the bounds on depth, keys and
// effort some take minutes, or the whole stack.
func TestHostileFilesAreCheap(t *testing.T) {
	const size = maxBytes / 4 // what grows with the square shows all the same
	fill := func(head, body string) string { return head + strings.Repeat(body, (size-len(head))/len(body)) }
	keys := func(prefix string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			b.WriteString(prefix + "k" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + ": v\n")
		}
		return b.String()
	}
	clients := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("  - {name: a" + strconv.Itoa(i) + ", external: true}\n")
		}
		return b.String()
	}
	names := "name: x\nclients:\n"
	const deep, nothing = "nests deeper than 32 levels", ""
	for name, hostile := range map[string]struct{ text, says string }{
		"brackets":  {fill("", "["), deep},
		"braces":    {fill("", "{a: "), deep},
		"tab":       {fill("\ta: 1\n", "["), "is indented with a tab"},
		"tag":       {fill("!a\n", "["), deep},
		"dashes":    {fill("", "- "), deep},
		"questions": {fill("", "? "), deep},
		"keys":      {keys(""), "is the key number 1001 of one mapping"},
		"deep keys": {keys("  "), "is the key number 1001 of one mapping"},
		"clients":   {fill(names, "  - {name: a, external: true}\n"), "more problems; mend these first"},
		"list":      {fill("name: x\nclients: [", "1,"), "is no YAML here"},
		"numbers":   {fill("name: x\nclients: [", "1,") + "1]", "more problems; mend these first"},
		"words":     {fill("a: ", "b\n  "), `"a" is unknown here`},
		"links": {fill(names+"  - {name: a, external: true, count: 100000}\nlinks:\n", "  - {from: '*b'}\n"),
			nothing},
		"unknown links": {fill(names+clients(3_000)+"links:\n", "  - {from: zzzzzzzz}\n"), nothing},
	} {
		_, warnings, err := Parse(name, []byte(hostile.text), Overrides{})
		if hostile.says == nothing {
			require.NoError(t, err, name)
			require.NotEmpty(t, warnings, name)
			assert.Contains(t, warnings[len(warnings)-1].Message+warnings[0].Message, "too large to look for", name)
			continue
		}
		var invalid *problem.Invalid
		require.ErrorAs(t, err, &invalid, name)
		assert.LessOrEqual(t, len(invalid.Problems), 1001, name)
		assert.ErrorContains(t, err, hostile.says, name)
	}
}
