package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"
)

// The figures by which the house is compared with others: go test ./internal/tidy -run Figures -v
func TestFigures(t *testing.T) {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "room\tfloor\tfiles\tlines\tmedian\tmax\tfunctions\t>50\t>70\tcomments\ttests\tarrows up\tunused\t")
	var all figures
	floors := map[string]int{}
	house := rooms(t)
	spare := unused(t)
	for _, r := range house {
		f := r.measure(t)
		f.spare = len(spare[r.name])
		f.floor = floorOf(house, r, floors)
		f.print(w, r.name)
		all.add(f)
	}
	all.print(w, "the house")
	require.NoError(t, w.Flush())
	t.Logf("rooms %d, floors %d, arrows up between rooms 0 (Go allows none)\n%s", len(house), all.floor, out.String())
	for _, r := range house {
		for _, a := range r.circles() {
			t.Logf("arrow in a circle: %s/%s -> %s (%s)", r.name, a.from, a.to, a.use)
		}
		for _, name := range spare[r.name] {
			t.Logf("exported and not used by another room: %s.%s", r.name, name)
		}
	}
}

// figures are those of one room, or of all.
type figures struct {
	floor                            int
	files                            []int // lines of each
	functions, over50, over70        int
	comments, code, tests, up, spare int // lines, arrows in circles, exported names that nobody else uses
}

func (r *room) measure(t *testing.T) figures {
	f := figures{up: len(r.circles())}
	for _, s := range sources(t) {
		if s.room != r.name || s.generated() {
			continue
		}
		lines := bytes.Count(s.text, []byte("\n"))
		if s.test() {
			f.tests += lines
			continue
		}
		f.files = append(f.files, lines)
		f.code += lines
		for line := range strings.Lines(string(s.text)) {
			if strings.HasPrefix(strings.TrimSpace(line), "//") {
				f.comments++
			}
		}
		for _, n := range functionLengths(s.set, s.file) {
			f.functions++
			if n > 50 {
				f.over50++
			}
			if n > 70 {
				f.over70++
			}
		}
	}
	return f
}

func functionLengths(set *token.FileSet, f *ast.File) (lengths []int) {
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			lengths = append(lengths, set.Position(d.End()).Line-set.Position(d.Pos()).Line+1)
		}
	}
	return lengths
}

func (f *figures) add(g figures) {
	f.floor = max(f.floor, g.floor)
	f.files = append(f.files, g.files...)
	f.functions += g.functions
	f.over50 += g.over50
	f.over70 += g.over70
	f.comments += g.comments
	f.code += g.code
	f.tests += g.tests
	f.up += g.up
	f.spare += g.spare
}

func (f *figures) print(w *tabwriter.Writer, name string) {
	slices.Sort(f.files)
	median, longest := 0, 0
	if n := len(f.files); n > 0 {
		median, longest = f.files[n/2], f.files[n-1]
	}
	share := 0.0
	if f.code > 0 {
		share = float64(f.comments) / float64(f.code)
	}
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.0f %%\t%d\t%d\t%d\t\n", name, f.floor, len(f.files), f.code, median, longest,
		f.functions, f.over50, f.over70, 100*share, f.tests, f.up, f.spare)
}

// floorOf is on how many rooms of ours a room stands, one upon the other.
func floorOf(house []room, r room, known map[string]int) int {
	if f, ok := known[r.name]; ok {
		return f
	}
	floor := 1
	for _, below := range house {
		if _, ok := r.Imports[below.PkgPath]; ok {
			floor = max(floor, floorOf(house, below, known)+1)
		}
	}
	known[r.name] = floor
	return floor
}
