package tidy

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pages are the documents, by their path below docs/.
func pages(t *testing.T) map[string]string {
	all := map[string]string{}
	for _, pattern := range []string{"docs/*.md", "docs/adr/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			rel, err := filepath.Rel(root, file)
			require.NoError(t, err)
			all[filepath.ToSlash(rel)] = string(text)
		}
	}
	require.Greater(t, len(all), 20, "where are the documents?")
	return all
}

// The index lists every page, and every page leads to the glossary: a reader who comes from a search is not lost.
func TestPagesLeadOn(t *testing.T) {
	all := pages(t)
	for file, text := range all {
		if path.Dir(file) != "docs" {
			continue
		}
		if base := path.Base(file); base != "README.md" && !strings.Contains(all["docs/README.md"], "("+base+")") {
			t.Errorf("docs/README.md does not list %s; add it where a reader needs it", base)
		}
		if path.Base(file) != "glossary.md" && !strings.Contains(text, "(glossary.md)") {
			t.Errorf("%s does not link to glossary.md; add the line that the other pages have below their title", file)
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)

// A link to a file of the project leads there.
func TestLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	for _, file := range []string{"README.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		all[file] = string(text)
	}
	for file, text := range all {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, path.Dir(file), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", file, m[1])
			}
		}
	}
}

// paths are what the documents name as files of the project: in backquotes, with a folder and an ending.
var paths = regexp.MustCompile("`([a-z][a-z0-9_/]*/[a-zA-Z0-9_.-]+\\.(?:go|md|proto|py|txt|json|hex))`")

func TestDocumentsNameFilesThatAreThere(t *testing.T) {
	for file, text := range pages(t) {
		for _, m := range paths.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s names %s, which is not there; say where it is now", file, m[1])
			}
		}
	}
}

// Errors that a page quotes are what the program says: who looks for a text has to find it.
func TestQuotedErrorsExist(t *testing.T) {
	var said strings.Builder
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				text, err := strconv.Unquote(l.Value)
				require.NoError(t, err)
				said.WriteString(text + "\n")
			}
			return true
		})
	}
	// Texts that are written as a sum of two are one again, and what is filled in is "..." as in the page.
	all := regexp.MustCompile(`%\[?\d*\]?[+#]?[a-z]|%\.\d+f`).ReplaceAllString(strings.ReplaceAll(said.String(), " \n", " "), "...")
	quoted := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")
	found := quoted.FindAllStringSubmatch(pages(t)["docs/troubleshooting.md"], -1)
	require.Greater(t, len(found), 15, "where are the errors?")
	for _, m := range found {
		for part := range strings.SplitSeq(m[1], "...") {
			if part = strings.TrimSpace(part); len(part) > 3 && !strings.Contains(all, part) {
				t.Errorf("docs/troubleshooting.md quotes %q, and nobody says %q", m[1], part)
			}
		}
	}
}
