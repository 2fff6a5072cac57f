package tidy

import (
	"bytes"
	_ "embed"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// module is what go.mod calls the house; `make module` changes both.
const module = "metasim"

// A source is one Go file of the house.
type source struct {
	room string // its folder, relative to the root
	path string
	text []byte
	set  *token.FileSet
	file *ast.File
}

func (s source) test() bool      { return strings.HasSuffix(s.path, "_test.go") }
func (s source) generated() bool { return strings.HasSuffix(s.path, ".pb.go") }

func sources(t *testing.T) []source {
	all, err := parsed()
	require.NoError(t, err)
	require.Greater(t, len(all), 20, "where is the house?")
	return all
}

// parsed reads the house once for all tests; nobody changes what it returns.
var parsed = sync.OnceValues(func() ([]source, error) {
	var all []source
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || d.Name() == "runs" || d.Name() == "bin") {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil && p != root {
			return fs.SkipDir // a module of its own, which go.mod puts in the place of one of others
		}
		if d.IsDir() || filepath.Ext(p) != ".go" {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		s := source{path: filepath.ToSlash(rel), text: text, set: token.NewFileSet()}
		s.room = path.Dir(s.path)
		s.file, err = parser.ParseFile(s.set, s.path, text, parser.ParseComments)
		all = append(all, s)
		return err
	})
	return all, err
})

//go:embed plan.txt
var plan string

// mayImport is the plan of the house: a room, and what it may import beside the standard library, in plan.txt. An entry
// ending in "/..." is for all rooms below. Tests may import more.
var mayImport = readPlan(plan)

// Rooms are allowed one by one: "metasim/..." would allow the rooms that are still to come.
func TestPlanNamesRooms(t *testing.T) {
	for room, list := range mayImport {
		for _, name := range list {
			if strings.HasPrefix(name, module+"/") && strings.HasSuffix(name, "...") {
				t.Errorf("plan.txt lets %s import %s; name the rooms one by one", room, name)
			}
		}
	}
}

// heavy are libraries that cost a program megabytes or many packages, each with the one room that may see it: who wants
// what it does asks that room.
var heavy = map[string][]string{
	"github.com/quic-go/quic-go":          {"wire/transport/quic", "bench"}, // bench measures it alone
	"github.com/foxglove/mcap":            {"record/export"},
	"gonum.org/v1/plot":                   {"analysis/show"},
	"github.com/klauspost/compress":       {"analysis/show", "federates/follower/packing"},
	"github.com/prometheus/client_golang": {"monitor"},
	"charm.land/bubbletea":                {"monitor/tui"},
	"github.com/spf13/viper":              {"cmd/metasim"},
	"github.com/spf13/cobra":              {"cmd/metasim"},
	"github.com/chromedp":                 {"internal/browser"},
	"go.etcd.io/bbolt":                    {"federates/authority/store/bolt"},
	"go.etcd.io/etcd":                     {"federates/authority/store/etcd"},
	"google.golang.org/grpc":              {"federates/authority/store/etcd"},
	"github.com/go-jose/go-jose":          {"federates/authority/seal"},
}

func TestHeavyLibrariesAreSeenOnce(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		for _, spec := range s.file.Imports {
			name := strings.Trim(spec.Path.Value, `"`)
			for library, rooms := range heavy {
				if (name == library || strings.HasPrefix(name, library+"/")) && !slices.Contains(rooms, s.room) {
					t.Errorf("%s imports %s: only %s may; ask that room for what it does", s.path, name, rooms[0])
				}
			}
		}
	}
}

// readPlan reads lines that name a room, and below each, indented, what it may import. "#" begins a comment.
func readPlan(text string) map[string][]string {
	rooms := map[string][]string{}
	room := ""
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		switch name := strings.TrimSpace(line); {
		case name == "":
		case name == strings.TrimRight(line, " \n"):
			room = name
			rooms[room] = []string{}
		default:
			rooms[room] = append(rooms[room], name)
		}
	}
	return rooms
}

func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		allowed, planned := mayImport[s.room]
		if !planned {
			t.Errorf("%s: the room %s is not in the plan; add it to docs/design.md section 2 and to internal/tidy", s.path, s.room)
			continue
		}
		for _, spec := range s.file.Imports {
			name := strings.Trim(spec.Path.Value, `"`)
			if ours(name) && !under(allowed, name) {
				t.Errorf("%s imports %s: %s may not; the plan is docs/design.md section 2 and internal/tidy", s.path, name, s.room)
			}
		}
	}
}

// ours tells what the plan is about from the standard library.
func ours(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return first == module || strings.Contains(first, ".")
}

// under reports whether a package is in a list of packages and of "trees/...".
func under(list []string, name string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		tree, all := strings.CutSuffix(entry, "/...")
		return name == tree || all && strings.HasPrefix(name, tree+"/")
	})
}

func TestSizes(t *testing.T) {
	const maxLines, maxFunc = 400, 70
	for _, s := range sources(t) {
		if s.generated() {
			continue
		}
		if n := bytes.Count(s.text, []byte("\n")); n > maxLines {
			t.Errorf("%s has %d lines, %d is the limit; about 100 is right: which two things does it hold?", s.path, n, maxLines)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := s.set.Position(f.End()).Line - s.set.Position(f.Pos()).Line + 1; n > maxFunc {
				t.Errorf("%s: %s has %d lines, %d is a screen; split it where the control flow forks", s.path, f.Name.Name, n, maxFunc)
			}
		}
	}
}

// banned are tokens with the reason why they are not in the house.
var banned = []struct{ token, where, reason string }{
	{"math/rand\"", "", "use math/rand/v2 with a source that is keyed by what the draw is for"},
	{"func init()", "", "packages do nothing when they are imported"},
	{"time.Sleep(", "_test.go", "a test that sleeps to be right is wrong on a slow machine; wait for what happens, or use synctest"},
	{"//nolint", "", "mend it, or change the rule"},
	{"../shared", "", "the project speaks of itself alone"},
}

func TestBanned(t *testing.T) {
	for _, s := range sources(t) {
		if s.generated() || s.room == "internal/tidy" {
			continue
		}
		for _, b := range banned {
			if strings.HasSuffix(s.path, b.where) && bytes.Contains(s.text, []byte(b.token)) {
				t.Errorf("%s has %q: %s", s.path, b.token, b.reason)
			}
		}
	}
}

var skip, loudly = regexp.MustCompile(`\b[a-z]+\.Skipf?\([^)0-9]`), []byte(`"SKIPPED LOUDLY: `)

// A skipped test is one that nobody has run: a list of what is missing can be made of these words alone.
func TestSkipsAreLoud(t *testing.T) {
	for _, s := range sources(t) {
		for _, at := range skip.FindAllIndex(s.text, -1) {
			if s.test() && !bytes.HasPrefix(s.text[at[1]-1:], loudly) {
				t.Errorf("%s:%d: a skipped test says %s...\", and what is missing", s.path, 1+bytes.Count(s.text[:at[0]], []byte("\n")), loudly)
			}
		}
	}
}

// Every room says what it is: a package comment is where a reader begins.
func TestRoomsAreDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test() {
			documented[s.room] = documented[s.room] || s.file.Doc != nil
		}
	}
	for room, ok := range documented {
		if !ok && !strings.HasSuffix(room, "pb") {
			t.Errorf("%s has no package comment; write doc.go: what it is, and the caller's duties", room)
		}
	}
}

// A template calls methods by name, so the linker keeps every method of every library: 6 MB of the program. Nor may cobra be given one.
func TestNoTemplates(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		for _, spec := range s.file.Imports {
			if name := strings.Trim(spec.Path.Value, `"`); name == "html/template" || name == "text/template" {
				t.Errorf("%s imports %s, which makes the program 6 MB larger; see markup in analysis/show/html.go", s.path, name)
			}
		}
		if m := cobraTemplate.Find(s.text); m != nil {
			t.Errorf("%s calls cobra's %s, which makes the program 6 MB larger; use the function of that name", s.path, m)
		}
	}
}

var cobraTemplate = regexp.MustCompile(`\.Set(Usage|Help|Version)Template\b`)
